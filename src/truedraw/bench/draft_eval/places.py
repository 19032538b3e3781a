"""How a draft's law q meets the target's law p at one place of a text.

Under the p/q rules a candidate drawn from q is kept with probability sum_x min(p(x), q(x)) (Leviathan et al.,
2211.17192). Under the coupled rule both are drawn with the same noise, and meet with probability
sum_j 1 / sum_i max(p_i / p_j, q_i / q_j) (Daliri, Musco, Suresh, 2408.07978).

Only the tokens that q knows matter one by one; of the others p's mass is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from truedraw.draft.growing import without
from truedraw.protocol import DraftLaw, Floats, SparseLaw

NOT_DRAWN = -1
"""The rank of a token that no candidate was."""
LEAST_MASS = 1e-12
"""Of what is left of a law; below it only rounding is."""


class Place(NamedTuple):
    """Both laws on the tokens that q knows, and which of them the text has there."""

    p: Floats  # [known]
    q: Floats  # [known], sum 1
    outside: float  # of p, on all other tokens
    token: int | None  # index into p and q; None: one of the others


class Kept(NamedTuple):
    """Of the first, second, ... candidate at a place, drawn from q without replacement and tried in this order."""

    chances: Floats  # [candidates] of being the one that is kept
    shares: Floats  # [candidates] of the text's own token that come in this way: chance to be it and kept, over p


def place(p: Floats, law: DraftLaw, token: int) -> Place:
    """From p [vocab], the draft's law and the text's token."""
    known = law.tokens if isinstance(law, SparseLaw) else np.flatnonzero(law)
    q = law.weights if isinstance(law, SparseLaw) else law[known]
    here = int(known.searchsorted(token))
    is_known = here < len(known) and known[here] == token
    mine = p[known]
    return Place(mine, q, max(0.0, 1.0 - float(mine.sum())), here if is_known else None)


def overlap(at: Place) -> float:
    """sum(min(p, q))."""
    return float(np.minimum(at.p, at.q).sum())


def matched(at: Place) -> tuple[float, float]:
    """Chance that both draw the same token, and that this is the text's own one, over p of it.

    With r = p / q, max(p_i / p_j, q_i / q_j) is the first where r_i > r_j, so sorted sums do.
    """
    possible = np.flatnonzero((at.p > 0) & (at.q > 0))
    if not len(possible):
        return 0.0, 0.0
    p, q = at.p[possible], at.q[possible]
    order = np.argsort(-(p / q), kind="stable")
    above = at.outside + at.p[at.q <= 0].sum() + np.cumsum(p[order]) - p[order]
    below = 1.0 - (np.cumsum(q[order]) - q[order])
    same = np.empty(len(p))
    same[order] = 1.0 / (above / p[order] + below / q[order])
    own = np.flatnonzero(possible == (NOT_DRAWN if at.token is None else at.token))
    return float(same.sum()), float((same[own] / p[own]).sum())


def kept(at: Place, candidates: int, chance: np.random.Generator) -> Kept:
    """Under recursive rejection (verify/recursive.py); a floor for traversal verification.

    The first chance is exact. Those behind it depend on which candidates failed, of which one series is drawn: their
    means over many places are right.
    """
    found = Kept(np.zeros(candidates), np.zeros(candidates))
    p, q, reach = at.p, at.q, 1.0
    for number in range(candidates):
        both = np.minimum(p, q)
        here = float(both.sum())
        found.chances[number] = reach * here
        if at.token is not None and at.p[at.token] > 0:
            found.shares[number] = reach * both[at.token] / at.p[at.token]
        failing, left = q - both, 1.0 - here
        if number + 1 == candidates or min(left, failing.sum()) < LEAST_MASS:
            break
        failed = drawn(failing, chance)
        p, q, reach = (p - both) / left, q.copy(), reach * left
        q[failed] = 0.0
        if q.sum() < LEAST_MASS:
            break
        q /= q.sum()
    return found


def drawn(weights: Floats, chance: np.random.Generator) -> int:
    """An index by weights [n] that need no sum of 1; never one of weight 0."""
    ends = np.cumsum(weights)
    found = int(np.searchsorted(ends, chance.random() * ends[-1], side="right"))
    return min(found, int(np.flatnonzero(weights)[-1]))


def rank(law: DraftLaw, token: int, candidates: int, draw: Callable[[DraftLaw], int]) -> int:
    """Which candidate the text's token is, `draw` having the noise that it was drawn with; NOT_DRAWN: none of them."""
    for number in range(candidates):
        if not (law.weights if isinstance(law, SparseLaw) else law).any():
            break
        found = draw(law)
        if found == token:
            return number
        law = without(law, found)
    return NOT_DRAWN
