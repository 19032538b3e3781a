"""Acceptance of the flat rules by formula, written from the papers and apart from production code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from enumeration import Walker, law_of
from sibling_drafts import Drawing, Shape, Tables
from verify.one_round import TEXT

Law = Sequence[float]
NOTHING = 1e-15  # a mass that is rounding only


def overlap(p: Law, q: Law) -> float:
    """1 - TV."""
    return sum(map(min, p, q))


def recursive(p: Law, laws: Sequence[Law]) -> float:
    """Siblings tried in turn; each law must not depend on the siblings before it."""
    missed = 1.0
    for q in laws:
        left = beyond(p, q)
        missed *= sum(left)
        if missed < NOTHING:
            return 1.0
        p = normalised(left)
    return 1.0 - missed


def without_replacement(p: Law, q: Law, k: int) -> float:
    """The same where each sibling's law is q without the ones before it: the mean over which were drawn."""
    if k == 0 or sum(q) == 0:
        return 0.0
    left, total = beyond(p, q), overlap(p, q)
    for x, refused in enumerate(beyond(q, p)):
        if refused > NOTHING:
            others = [0.0 if y == x else w for y, w in enumerate(q)]
            total += refused * without_replacement(normalised(left), normalised(others), k - 1)
    return total


def beyond(p: Law, q: Law) -> list[float]:
    return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]


def normalised(weights: Law) -> list[float]:
    """Sums, not differences from 1: these cancel."""
    return [w / (sum(weights) or 1.0) for w in weights]


def k_seq(p: Law, q: Law, k: int) -> float:
    """SpecTr: 1 - (1 - beta)^k where that equals rho beta."""
    low, high = 1.0, float(k)
    for _ in range(200):
        rho = (low + high) / 2
        beta = sum(min(b, a / rho) for a, b in zip(p, q, strict=True))
        low, high = (low, rho) if 1 - (1 - beta) ** k <= rho * beta else (rho, high)
    return 1 - (1 - sum(min(b, a / high) for a, b in zip(p, q, strict=True))) ** k


def greedy_drafts(p: Law, q: Law, count: int) -> float:
    """Hu et al., 2502.18779: the likeliest `count` tokens under q, and one sample outside them."""
    top = sorted(range(len(q)), key=lambda x: (-q[x], x))[:count]
    others = normalised([0.0 if x in top else w for x, w in enumerate(q)])
    return sum(p[x] for x in top) + sum(min(p[x], w) for x, w in enumerate(others) if x not in top)


def ceiling(p: Law, drafts: Mapping[Sequence[int], float]) -> float:
    """The best acceptance of any rule: min over sets H of tokens, 1 - P(all drafts in H) + p(H)."""
    sets = (set(h) for size in range(len(p) + 1) for h in combinations(range(len(p)), size))
    return min(1.0 - sum(w for drawn, w in drafts.items() if h.issuperset(drawn)) + sum(p[x] for x in h) for h in sets)


def ceiling_of_independent_drafts(p: Law, q: Law, k: int) -> float:
    """The same for k draws from q: only the sets of tokens with the least p / q need a look."""
    ranked = sorted((x for x in range(len(p)) if q[x] > 0), key=lambda x: p[x] / q[x])
    prefixes = (ranked[:size] for size in range(len(ranked) + 1))
    return min(1.0 - sum(q[x] for x in h) ** k + sum(p[x] for x in h) for h in prefixes)


def drafts_of(tables: Tables, shape: Shape) -> dict[tuple[int, ...], float]:
    """The law of a shape's draft tokens."""

    def run(walker: Walker) -> tuple[int, ...]:
        return tuple(Drawing(tables, shape, TEXT, walker.sample(0)).proposal().tokens.tolist())

    return law_of(run)
