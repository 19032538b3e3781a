"""What drafts are said to be worth before they are drawn (protocol.Shapes), of states that say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from truedraw.draft.site import worths_of
from truedraw.protocol import Drafter
from truedraw.testing.checks import require
from truedraw.testing.drafter_texts import BUDGET, Texts, legal, unharmed

ROUNDS = 3


def worths(make: Callable[[], Drafter], vocab_size: int) -> None:
    """As they begin and behind some rounds; raises AssertionError where nobody would hear it, or it cannot be meant."""
    drafter, rng = make(), np.random.default_rng(16)
    texts = Texts(drafter, vocab_size)
    heard = any(worths_of(state) is not None for state in texts.states)
    require(heard or worths_of(drafter) is None, "worths(nodes) is asked of what open() returns, not of the drafter")
    with unharmed("asked what drafts are worth"):
        for _ in range(ROUNDS):
            for state in texts.states:
                told = worths_of(state)
                _require_possible((told(BUDGET) if told is not None else None) or ())
            for state, proposal in zip(texts.states, legal(texts), strict=True):
                texts.commit(state, proposal, rng)


def _require_possible(found: Sequence[tuple[float, int]]) -> None:
    shares, depths = [float(share) for share, _ in found], [int(level) for _, level in found]
    require(len(found) <= BUDGET, f"asked about {BUDGET} nodes, it told of {len(found)}")
    falls = all(later <= before for before, later in pairwise(shares))
    require(
        falls and all(0.0 < each <= 1.0 for each in shares), f"nodes are worth {shares}; give falling shares of a token"
    )
    below = all(1 <= level <= 1 + max(depths[:place], default=0) for place, level in enumerate(depths))
    require(below, f"levels are {depths}; they begin with 1, and none comes before the one above it")
