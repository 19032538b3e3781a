"""What every engine asks of the works and fills of a pass."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import TypeVar

from truedraw.engine.texts import Limits, check_fill
from truedraw.engine.trees import check_proposal
from truedraw.errors import EngineError
from truedraw.protocol import Fill, Sequence, Work

Own = TypeVar("Own", bound=Sequence)


def checked(works: Seq[Work], fills: Seq[Fill], own: Callable[[Sequence], Own], limits: Limits) -> list[Own]:
    """Their sequences, works' first, as the engine knows its `own`; raises EngineError for anything but room."""
    sequences = [own(work.sequence) for work in works] + [own(fill.sequence) for fill in fills]
    if len(sequences) > 1 and len(set(sequences)) < len(sequences):
        raise EngineError("a sequence can stand in a pass only once; fork it")
    for work in works:
        check_proposal(work.proposal, len(work.sequence.tokens), limits)
    for fill in fills:
        check_fill(fill)
    return sequences
