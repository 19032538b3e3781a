"""The statistics: each is a p-value that is uniform, or larger, where every token follows p given what came before.

Whether an event happens as often as p says is judged by the law of a sum of tosses of coins, each with a chance of its
own, which is computed. Other sums of terms with mean 0 given the past are compared with the normal law of the variance
sum(Var); their terms are bounded and number in the thousands. Where they do not, the law is simulated.
Sources: Ville 1939 for the e-value; the conditional probability integral transform is Rosenblatt's, 1952. What several
of them say together: family.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from truedraw.protocol import Floats, Ints
from truedraw.stats.check.drawing import Drawn
from truedraw.stats.check.replay import Table, copied
from truedraw.stats.evalue import RunningEvidence
from truedraw.stats.leaning import instead

SIMULATIONS, SIMULATION_SEED = 20_000, 1
LEAST_VARIANCE = 5.0  # below which a normal law is no description of a sum; in squared steps
MOST_VARIANCE = 1e4  # of a sum of tosses, above which it is a good one
ROUNDING = 1e-12  # of a tail that is 1 less another one
LEAST_STEP = 0.1  # nats; below that rounding has a say


@dataclass(frozen=True, slots=True)
class Sample:
    """The texts of one call: places [texts, length], and p of the first token [vocab], empty where they share none."""

    drawn: Drawn
    places: Table
    first: Floats


@dataclass(frozen=True, slots=True)
class Test:
    """One hypothesis and what the data say."""

    name: str
    p_value: float
    score: float  # standard deviations from what was expected, or the statistic named in `of`
    count: int  # terms that could vary
    joint: bool = False  # about several samples together


def run_tests(samples: Sequence[Sample]) -> list[Test]:
    """All statistics of some calls, in the order of the report."""
    places = all_places(samples)
    drafted = places[places["drafted"]]
    pits = [sample.places["pit"] for sample in samples]
    return [
        uniformity(places["pit"]),
        neighbours(
            "tokens that follow each other", [(s.places["pit"][:, :-1], s.places["pit"][:, 1:]) for s in samples]
        ),
        toward("text follows the draft", drafted["leant"], drafted["lean_chance"]),
        toward("text follows a later sibling", places["beside"], places["beside_chance"]),
        toward("likeliest token", places["top"], places["top_chance"]),
        surprise(places),
        running("running e-value", evidence(places)),
        coincidences(samples),
        copies(samples),
        neighbours("samples side by side", [(pit[:-1], pit[1:]) for pit in pits], joint=True),
    ]


def all_places(samples: Sequence[Sample]) -> Table:
    """Of all texts of some calls, one after the other [places]."""
    return np.concatenate([sample.places.ravel() for sample in samples])


def uniformity(pit: Floats) -> Test:
    """Kolmogorov-Smirnov distance of the conditional probability integral transform from uniformity."""
    from scipy import stats

    found = stats.kstest(pit, "uniform")
    return Test("uniformity (KS)", float(found.pvalue), float(found.statistic), len(pit))


def toward(name: str, happened: Floats, chance: Floats) -> Test:
    """Does an event happen as often as p says? chance is P(event) given the past."""
    count, excess = int(happened.sum()), float(happened.sum() - chance.sum())
    found = z_test(name, excess, variance := float((chance * (1 - chance)).sum()), len(chance))
    if not LEAST_VARIANCE <= variance <= MOST_VARIANCE:  # a place at the edge of a law is not to decide
        return found
    return replace(found, p_value=min(1.0, 2 * min(tails(count, np.asarray(chance, np.float64)))))


def tails(count: int, chance: Floats) -> tuple[float, float]:
    """P(S <= count) and P(S >= count) of the number S of heads of so many coins; of each no less than it is."""
    if 2 * count > len(chance):
        above, below = tails(len(chance) - count, 1 - chance)
        return below, above
    law = np.zeros(count + 1)  # P(S = 0), ..., P(S = count)
    law[0] = 1.0
    for each in chance.tolist():
        heads = law[:-1] * each
        law *= 1 - each
        law[1:] += heads
    return float(law.sum()), 1 - float(law[:-1].sum()) + ROUNDING


def surprise(places: Table) -> Test:
    """Are tokens as likely as p has them in the mean? Rare ones make few large steps, which no normal law describes."""
    total, variance = float(places["surprise"].sum()), float(places["surprise_variance"].sum())
    step = float(places["surprise_third"].sum()) / max(variance, LEAST_STEP)
    return z_test("log p + entropy", total, variance, len(places), step=max(step, LEAST_STEP))


def z_test(name: str, total: float, variance: float, count: int, joint: bool = False, step: float = 1.0) -> Test:
    """Two-sided; where there is too little chance for a verdict the p-value is 1. step: what it comes in."""
    if not variance >= LEAST_VARIANCE * step**2:
        return Test(name, 1.0, 0.0, count, joint)
    score = float(total / math.sqrt(variance))
    return Test(name, math.erfc(abs(score) / math.sqrt(2)), score, count, joint)


def neighbours(name: str, pairs: Sequence[tuple[Floats, Floats]], joint: bool = False) -> Test:
    """Correlation of uniform variables; products of centred neighbours are uncorrelated, each of variance 1/144."""
    products = np.concatenate([((one - 0.5) * (other - 0.5)).ravel() for one, other in pairs])
    return z_test(name, 12 * float(products.sum()), float(products.size), products.size, joint)


def coincidences(samples: Sequence[Sample]) -> Test:
    """Pairs of samples with the same first token, against sum(p^2) for each pair.

    So few draws have no normal law: where three samples agree, three pairs do. The law is drawn instead.
    """
    parts = [_coincidence(np.bincount([text[0] for text in sample.drawn.texts]), sample.first) for sample in samples]
    excess, variance, pairs = (sum(column) for column in zip(*parts, strict=True))
    found = z_test("equal first tokens", excess, variance, int(pairs), joint=True)
    if found.p_value == 1.0:
        return found
    chance = np.random.default_rng(SIMULATION_SEED)
    others = sum(_simulated(len(sample.drawn.texts), sample.first, chance) for sample in samples if sample.first.size)
    above, below = int((others >= excess).sum()), int((others <= excess).sum())
    return replace(found, p_value=min(1.0, 2 * (1 + min(above, below)) / (1 + SIMULATIONS)))


def copies(samples: Sequence[Sample]) -> Test:
    """Pairs of equal texts, each weighed by 1 / the chance of its text: the mean over all pairs is an e-value."""
    shared = [sample for sample in samples if sample.first.size]
    pairs = sum(len(sample.places) * (len(sample.places) - 1) // 2 for sample in shared)
    weights = [weight for sample in shared for weight in copied(sample.drawn.texts, sample.places)]
    mean = float(np.sum(weights)) / pairs if pairs else 0.0
    return Test("equal texts", 1 / max(mean, 1.0), len(weights), pairs, joint=True)


def _simulated(n: int, p: Floats, chance: np.random.Generator) -> Floats:
    """[SIMULATIONS] excesses of n samples that follow p."""
    whole = np.cumsum(p)
    drawn = np.sort(np.searchsorted(whole, chance.random((SIMULATIONS, n)) * whole[-1], side="right"), axis=1)
    equal, run = np.zeros(SIMULATIONS), np.zeros(SIMULATIONS)
    for same in (drawn[:, 1:] == drawn[:, :-1]).T:
        run = np.where(same, run + 1, 0)  # pairs of this sample with equal ones before it
        equal += run
    return np.asarray(equal - n * (n - 1) / 2 * float((p**2).sum()))


def _coincidence(counts: Ints, p: Floats) -> tuple[float, float, float]:
    """(excess, variance, pairs). Two pairs that share a sample are both equal with probability sum(p^3)."""
    if not p.size:
        return 0.0, 0.0, 0.0
    n, squares, cubes = float(counts.sum()), float((p**2).sum()), float((p**3).sum())
    pairs = n * (n - 1) / 2
    variance = pairs * (squares - squares**2) + pairs * 2 * (n - 2) * (cubes - squares**2)
    return float((counts * (counts - 1)).sum()) / 2 - pairs * squares, max(variance, 0.0), pairs


def evidence(places: Table) -> RunningEvidence:
    """The running e-value over places [places], one after the other."""
    found = RunningEvidence()
    for happened, chance in bets(places):
        found.add(happened, chance)
    return found


def bets(places: Table) -> Iterator[tuple[bool, float]]:
    """What leaning.observed would have seen there, and what each event's probability was."""
    for leant, chance, beside, others in places[["leant", "lean_chance", "beside", "beside_chance"]].tolist():
        yield leant, chance
        if others and not leant:
            yield beside, instead(others, chance)


def running(name: str, found: RunningEvidence) -> Test:
    """Its largest value is an e-value at all times: 1 / it is a p-value."""
    return Test(name, found.p_value, found.largest, found.count)


def impossible(samples: Sequence[Sample]) -> int:
    """Emitted tokens to which p gives no chance at all: one of them is enough."""
    return sum(int((sample.places["chance"] <= 0).sum()) for sample in samples)
