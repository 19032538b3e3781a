"""Thousands of texts at once through a model of transformers: to write much text, and to see what the model knew of it.

Not an Engine: no drafts, no pages, nothing that is shared. All texts of a batch grow together, a column a step, and the
sampling law is temperature and top_p alone. Made for graphics cards, right on any device.
"""

from truedraw.engine.pytorch.wide.drawing import Drawing, Wanted
from truedraw.engine.pytorch.wide.seeing import Seen, seen

__all__ = ["Drawing", "Seen", "Wanted", "seen"]
