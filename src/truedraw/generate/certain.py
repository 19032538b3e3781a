"""Tokens that must come, put in front of a proposal: they ride in the pass that scores what follows them.

A grammar often leaves one token only. Such tokens are drafted as certain ones, are always accepted, and cost a row
each instead of a pass each. The drafter goes on behind them where it can. They are the law's doing, not the drafter's:
its statistics leave them out.
"""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import Law

MOST = 64  # in one pass over all samples: further rows cost about what further passes do, and logits take memory

Tokens = tuple[int, ...]


def forced_tokens(laws: Sequence[Law], rooms: Sequence[int]) -> list[Tokens]:
    """What must come next in each text, at most `room` tokens and its share of a pass."""
    if len(laws) == 1:
        return [tuple(laws[0].forced(min(rooms[0], MOST)))]
    share = max(1, MOST // len(laws))
    return [tuple(law.forced(min(room, share))) for law, room in zip(laws, rooms, strict=True)]
