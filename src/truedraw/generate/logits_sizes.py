"""What logits an engine has to give, whoever asks it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truedraw import protocol as p
from truedraw.errors import EngineError
from truedraw.sampling.values import shown

TYPES = np.float32, np.float64  # of logits


def check_sizes(engine: p.Engine, proposals: Sequence[p.Proposal], scores: Sequence[p.Scores]) -> None:
    """Of what an engine says: compiled code goes by them, and a token that nobody has must not be drawn.

    Raises EngineError.
    """
    if not isinstance(scores, Sequence) or not all(hasattr(each, "logits") for each in scores):
        raise EngineError(f"the engine gave {shown(scores)}; give a list with a protocol.Scores for each text")
    found = [(getattr(each.logits, "shape", None), getattr(each.logits, "dtype", None) in TYPES) for each in scores]
    wanted = [((1 + len(proposal), engine.vocab_size), True) for proposal in proposals]
    if found != wanted:
        got = [(shape, str(getattr(each.logits, "dtype", type(each.logits).__name__)))
               for (shape, _), each in zip(found, scores, strict=True)]  # fmt: skip
        raise EngineError(
            f"the engine gave logits of these shapes and types: {shown(got)}; for these texts they have to be "
            f"{shown([shape for shape, _ in wanted])} of float32 or float64, a row for each node and one more"
        )
