"""Whether draws follow the laws they are said to follow: Pearson's statistic, with p-values that hold at any size.

Draws of one law [vocab] are a group. Its cells are its tokens, likeliest first; tokens of which too few are expected
are put together with the next ones. The statistic sum (observed - expected)^2 / expected over all cells of all groups
is compared with chi-square. Where that leaves a doubt the p-value is counted out instead: the statistic of as many
draws from the same laws, simulated n times, is at least as large k times, and (1 + k) / (1 + n) is a p-value whatever
the cells are.

Draws of laws that hardly ever come twice are judged by where in its law each falls (`placed`): that is uniform.

Power: a law at total variation d of the stated one has sum (p - q)^2 / q >= 4 d^2 over the cells (Cauchy and Schwarz),
so n draws move the statistic by a noncentrality of at least 4 n d^2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Floats, Ints

FEWEST = 10.0  # draws expected in a cell
LEVEL = 1e-5  # of a test: false alarms
POWER = 0.99
SUSPICIOUS, CERTAIN = 1e-3, 1e-7  # p-values by chi-square between these are counted out
ENOUGH = 50  # simulations above what was found, after which the p-value is known well enough
ROUNDING = 1e-12
BINS = 20  # of where draws fall in their laws
SIMULATED, AT_ONCE = 1_000_000, 10_000  # the smallest p-value that is counted is a tenth of LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Draws that are said to come from one law."""

    law: Floats  # [vocab]
    counts: Ints  # [vocab]

    @classmethod
    def of(cls, law: Floats, tokens: Iterable[int]) -> Drawn:
        """Of the tokens as they came."""
        return cls(law, np.bincount(np.fromiter(tokens, np.int64), minlength=len(law)))

    def entropy(self) -> float:
        """Of the law, in nats."""
        p = self.law[self.law > 0]
        return float(-(p * np.log(p)).sum())

    def cells(self) -> tuple[Floats, Floats]:
        """(chances, counts) of the cells; one cell says nothing."""
        order = np.argsort(-self.law, kind="stable")
        expected = self.law[order] * self.counts.sum()
        starts, held = [0], 0.0
        for place, weight in enumerate(expected.tolist()):
            if held >= FEWEST and expected[place:].sum() >= FEWEST:
                starts.append(place)
                held = 0.0
            held += weight
        return np.add.reduceat(self.law[order], starts), np.add.reduceat(self.counts[order].astype(float), starts)


def p_value(groups: Sequence[Drawn], seed: int = 0) -> float:
    """That draws from the laws lie as far from them as these; 0 where one was drawn that its law excludes."""
    from scipy.stats import chi2

    if any(each.counts[each.law <= 0].any() for each in groups):
        return 0.0
    cells = [each for each in (group.cells() for group in groups) if len(each[0]) > 1]
    freedom = sum(len(chances) - 1 for chances, _ in cells)
    if not freedom:
        return 1.0
    found = sum(float(_pearson(chances, counts[None])[0]) for chances, counts in cells)
    by_chi_square = float(chi2.sf(found, freedom))
    if not CERTAIN < by_chi_square < SUSPICIOUS:
        return by_chi_square
    return _counted_out(cells, found, np.random.default_rng(seed))


def placed(groups: Sequence[Drawn], seed: int = 0) -> Drawn:
    """Where in [0, 1] draws fall if each law is laid out there, likeliest first: one group, whatever the laws are.

    Within the width of its token a draw falls anywhere (the randomised probability integral transform).
    """
    rng = np.random.default_rng(seed)
    falls = np.concatenate([np.zeros(0), *(_falls(each, rng) for each in groups)])
    return Drawn.of(np.full(BINS, 1 / BINS), np.minimum(falls * BINS, BINS - 1).astype(int).tolist())


def visible(draws: int, cells: int, level: float = LEVEL, power: float = POWER) -> float:
    """Total variation, between laws over that many cells, that so many draws of one law show with this power."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    if cells < 2:
        return 1.0
    edge = chi2.isf(level, cells - 1)
    moved = brentq(lambda by: ncx2.sf(edge, cells - 1, by) - power, 1e-6, 1e5)
    return float(np.sqrt(moved / (4 * draws)))


def _falls(drawn: Drawn, rng: np.random.Generator) -> Floats:
    order = np.argsort(-drawn.law, kind="stable")
    widths = drawn.law[order] / drawn.law.sum()
    tokens = np.repeat(np.arange(len(order)), drawn.counts[order])
    return np.asarray((np.cumsum(widths) - widths)[tokens] + rng.random(len(tokens)) * widths[tokens])


def _pearson(chances: Floats, counts: Floats) -> Floats:
    """[rows] from counts [rows, cells]."""
    expected = counts.sum(1, keepdims=True) * chances / chances.sum()
    return np.asarray(((counts - expected) ** 2 / expected).sum(1))


def _counted_out(cells: Sequence[tuple[Floats, Floats]], found: float, rng: np.random.Generator) -> float:
    larger = 0
    for number in range(1, 1 + SIMULATED // AT_ONCE):
        total = np.zeros(AT_ONCE)
        for chances, counts in cells:
            drawn = rng.multinomial(int(counts.sum()), chances / chances.sum(), AT_ONCE)
            total += _pearson(chances, drawn.astype(float))
        larger += int((total >= found * (1 - ROUNDING)).sum())
        if larger >= ENOUGH:
            return larger / (number * AT_ONCE)
    return (1 + larger) / (1 + SIMULATED)
