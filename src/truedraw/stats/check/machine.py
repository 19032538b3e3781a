"""(e) The numbers on this machine: does a row depend on its neighbours, how far is it from float32 throughout, and does
code that was compiled here decide as the rules do?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from truedraw.engine.numerics import SAME_BITS
from truedraw.generate.means import Means
from truedraw.generate.model import Model
from truedraw.generate.rows import LawRows
from truedraw.protocol import Engine, Floats, Proposal, Scores, Work
from truedraw.sampling.law import softmax
from truedraw.stats.check.drawing import Drawn, forks
from truedraw.stats.check.records import Finding
from truedraw.testing.rounds import LAWS, RULES, any_round

ROUNDS = 400  # a second


def invariance(engine: Engine) -> Finding:
    """The engine's own test, run now: rows alone, in chains, trees, ragged batches and chunks."""
    if not hasattr(engine, "invariance"):
        return Finding("invariance", None, "skipped: this engine has no self-test of its own")
    from truedraw.engine.cpu.selftest import check_invariance

    report = check_invariance(engine)  # type: ignore[arg-type]
    if report is None:
        return Finding("invariance", None, "skipped: the cache has no room for this test; give more cache_bytes")
    promised = getattr(engine, "numerics", "") in SAME_BITS
    says = f"{report.rows} rows computed in other ways are bit for bit the same"
    if not report.holds:
        says = f"rows change by TV up to {report.largest_tv:.2g} in: {', '.join(report.differing)}"
    return Finding("invariance", True if report.holds else False if promised else None, says, asdict(report))


def compiled_rounds(rounds: int = ROUNDS) -> Finding:
    """Rounds of all kinds decided by code compiled for this processor, and by the rules that (a) enumerates."""
    rng, means, other = np.random.default_rng(0), Means(), 0
    for number in range(rounds):
        one = any_round(rng, LAWS[number % len(LAWS)])
        bare = one.without_drafts()
        other += any(one.at_once(rule, means) != one.step_by_step(rule) for rule in RULES)
        other += any(bare.plainly(rule, means) != bare.step_by_step(rule) for rule in RULES)
    says = f"{rounds} rounds decided in one compiled call are token by token, and bit by bit, those of the rules"
    if other:
        says = f"{other} of {rounds} rounds decided in one compiled call are other ones than those of the rules"
    return Finding("compiled rounds", not other, says, {"rounds": rounds, "other": other})


def distance(model: Model, reference: Callable[[], Model] | None, drawn: Sequence[Drawn]) -> Finding:
    """Total variation between the laws of the model and of the same file in reference numerics, on the drawn texts."""
    name = "distance from reference numerics"
    if getattr(model.engine, "numerics", None) not in SAME_BITS:
        return Finding(name, None, "skipped: this engine has no other numerics to compare with")
    if reference is None:
        return Finding(name, None, "skipped in a quick check")
    with reference() as exact:
        pairs = [_distances(model.engine, exact.engine, each) for each in drawn]
    plain, sampled = (np.concatenate(column) for column in zip(*pairs, strict=True))
    figures = {
        "places": len(plain),
        "mean_tv": float(plain.mean()),
        "largest_tv": float(plain.max()),
        "mean_tv_of_the_law": float(sampled.mean()),
    }
    says = (
        f"mean TV {figures['mean_tv']:.4f}, largest {figures['largest_tv']:.3f} over {len(plain)} places at "
        f"temperature 1; {figures['mean_tv_of_the_law']:.4f} under the sampled law"
    )
    return Finding(name, None, says, figures)


def _distances(one: Engine, other: Engine, drawn: Drawn) -> tuple[Floats, Floats]:
    """TV at every place of the first text [length]: of the softmax, and under the law."""
    proposal = Proposal.chain(drawn.texts[0][:-1])
    a, b = (_scores(engine, drawn.prompt, proposal) for engine in (one, other))
    rows_a, rows_b = (LawRows(drawn.laws[0], proposal, scores) for scores in (a, b))
    plain = [_tv(softmax(x, 1.0), softmax(y, 1.0)) for x, y in zip(a.logits, b.logits, strict=True)]
    sampled = [_tv(rows_a[place], rows_b[place]) for place in range(len(plain))]
    return np.asarray(plain), np.asarray(sampled)


def _scores(engine: Engine, prompt: Sequence[int], proposal: Proposal) -> Scores:
    with forks(engine, prompt, 1) as sequences:
        return Scores(engine.forward([Work(sequences[0], proposal)])[0].logits.copy())


def _tv(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).sum()) / 2
