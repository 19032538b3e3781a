"""(c) and (d) The statistics on texts of the model itself, drawn with the drafter and the rule that are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from truedraw.protocol import Engine
from truedraw.stats.check.drawing import Recipe, draw
from truedraw.stats.check.family import holm, smallest_visible
from truedraw.stats.check.hypotheses import Sample, Test, all_places, bets, evidence, impossible, run_tests
from truedraw.stats.check.records import Finding
from truedraw.stats.check.replay import Distance, replay
from truedraw.stats.check.settings import LARGE, POWER

BINS = 20  # of the histogram of the transform
CURVE = 120  # points of the plotted curves
RAISE = f"{LARGE} must be visible: raise --samples, --max-tokens or --alpha, or give more prompts"


def no_bug(*_place: object) -> float:
    """Nothing is planted: every token is drawn from p."""
    return 0.0


def sampled(
    engine: Engine, recipe: Recipe, prompt: Sequence[int], seed: int, count: int, distance: Distance = no_bug
) -> Sample:
    """`count` texts of one prompt, drawn and seen again."""
    drawn = draw(engine, recipe, prompt, seed, count)
    places, first = replay(engine, drawn, seed, distance)
    drawn.notes.clear()  # laws over the whole vocabulary, no longer needed
    return Sample(drawn, places, first)


def findings(samples: Sequence[Sample], alpha: float, equal_bits: bool = True) -> tuple[list[Finding], list[Finding]]:
    """(on each text, on several samples together); one family of hypotheses."""
    tests = run_tests(samples)
    adjusted = holm([test.p_value for test in tests])
    judged = [_finding(test, p, alpha) for test, p in zip(tests, adjusted, strict=True)]
    single = [each for each, test in zip(judged, tests, strict=True) if not test.joint]
    joint = [each for each, test in zip(judged, tests, strict=True) if test.joint]
    return [_power(samples, len(tests), alpha), *_faults(samples), _possible(samples, equal_bits), *single], joint


def plots(samples: Sequence[Sample]) -> dict[str, Any]:
    """Series for the report: the transform's histogram, its distance from uniformity, the running e-value."""
    places = all_places(samples)
    counts, _ = np.histogram(places["pit"], bins=BINS, range=(0, 1))
    grid = np.linspace(0, 1, CURVE + 1)
    gap = np.searchsorted(np.sort(places["pit"]), grid, side="right") / len(places) - grid
    return {
        "pit_counts": counts.tolist(),
        "pit_gap": gap.round(6).tolist(),
        "log10_e": _path(places),
        "tokens": len(places),
    }


def _path(places: Any) -> list[float]:
    steps = np.linspace(0, len(places), CURVE + 1).astype(int)
    found = evidence(places[:0])
    path = [0.0]
    for start, end in pairwise(steps):
        for happened, chance in bets(places[start:end]):
            found.add(happened, chance)
        path.append(round(float(np.log10(found.value)), 4))
    return path


def _power(samples: Sequence[Sample], tests: int, alpha: float) -> Finding:
    tokens = sum(sample.places.size for sample in samples)
    drafted = sum(int(sample.places["drafted"].sum()) for sample in samples)
    visible = smallest_visible(tokens, tests, alpha, POWER)
    of_drafted = smallest_visible(drafted, tests, alpha, POWER)
    says = (
        f"{tokens} tokens, of which {drafted} had a draft that may be looked at; found with probability {POWER} are "
        f"{_seen_of_drafts(of_drafted)}, and one along the likeliest token of TV {visible:.3f} a token"
    )
    figures = {"tokens": tokens, "drafted": drafted, "smallest_visible_tv": visible, "power": POWER, "tests": tests,
               "smallest_visible_tv_drafted": of_drafted if drafted else None}  # fmt: skip
    if visible > LARGE:
        says = f"nothing was proven: {tokens} tokens show a bias {seen(visible)}; {RAISE}"
    return Finding("what can be seen", False if visible > LARGE else None, says, figures, too_little=visible > LARGE)


def _seen_of_drafts(visible: float) -> str:
    """What a bias along the drafts, a token that had one, must be to be found."""
    if visible >= 1:
        return "no bias along the drafts, which are too few"
    return f"a bias along the first draft at a place of TV {visible:.3f} a drafted token"


def seen(visible: float) -> str:
    """From which size on a bias is seen, in words."""
    return f"only from TV {visible:.2f} on" + (", and none is above 1" if visible >= 1 else "")


def inside_grammar(samples: Sequence[Sample], ends: Sequence[int]) -> Finding:
    """How much of the texts the grammar ruled; behind its end they go on freely."""
    texts = [text for sample in samples for text in sample.drawn.texts]
    lengths = [next((i + 1 for i, token in enumerate(text) if token in ends), len(text)) for text in texts]
    inside, tokens = sum(lengths), sum(map(len, texts))
    ended = sum(length < len(text) for length, text in zip(lengths, texts, strict=True))
    says = f"{inside} of {tokens} tokens; {ended} of {len(texts)} texts reach its end, and go on freely behind it"
    return Finding("inside the grammar", None, says, {"inside": inside, "tokens": tokens, "ended": ended})


def _faults(samples: Sequence[Sample]) -> list[Finding]:
    """A drafter that was given up: the texts are exact, and say little of it."""
    found = [sample.drawn.fault for sample in samples if sample.drawn.fault is not None]
    says = f"given up on {len(found)} of {len(samples)} prompts, the first time for: {found[0] if found else ''}"
    return [Finding("the drafter", False, says, {"given_up": len(found)})] if found else []


def _possible(samples: Sequence[Sample], equal_bits: bool) -> Finding:
    """Without equal bits a token at the edge of a truncation may fall on its other side in the second pass."""
    count = impossible(samples)
    return Finding(
        "no token outside the law",
        None if count and not equal_bits else count == 0,
        f"{count} tokens had probability 0",
        {"impossible": count},
    )


def _finding(test: Test, adjusted: float, alpha: float) -> Finding:
    says = f"p = {test.p_value:.3g}, adjusted {adjusted:.3g} (statistic {test.score:.3g} over {test.count})"
    figures = {"p_value": test.p_value, "adjusted": adjusted, "statistic": test.score, "count": test.count}
    return Finding(test.name, adjusted > alpha, says, figures, by_chance=True)
