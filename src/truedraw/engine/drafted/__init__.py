"""One engine for two readers: who scores texts, and who drafts behind them.

engine.py   both engines, and why
texts.py    the texts that are scored
reading.py  the texts that drafts read
behind.py   what drafts have computed behind one text
passes.py   what one pass has to compute
"""

from truedraw.engine.drafted.engine import DraftingEngine, ScoringEngine

__all__ = ["DraftingEngine", "ScoringEngine"]
