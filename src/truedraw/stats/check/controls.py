"""(f) Negative controls: the statistics of this very run against planted bugs. What never rejects proves nothing.

So they are a gate. A bug that the stated power should see and that is not caught fails; so does a run that could not
have seen a large one, or that has caught none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Drafter, Engine
from truedraw.stats.check.drawing import Recipe
from truedraw.stats.check.enumerated import ROUNDING, SMALL, distance_of
from truedraw.stats.check.family import holm, smallest_visible
from truedraw.stats.check.hypotheses import Sample, Test, impossible, run_tests
from truedraw.stats.check.planted import BUGS, Bug, PlantedVerifier
from truedraw.stats.check.real_text import RAISE, sampled, seen
from truedraw.stats.check.records import Finding
from truedraw.stats.check.self_draft import SelfDrafter, SiblingsDrafter
from truedraw.stats.check.settings import LARGE, POWER, Settings, spread
from truedraw.stats.check.subject import Subject
from truedraw.testing.scenarios import TableDrafter

SUFFIXES = (1, 4)  # tokens that prompt lookup compares: short ones give many drafts
DRAFT_TOKENS = 2  # short drafts give many rounds, and with them many corrections and bonus tokens


def negative_controls(subject: Subject, settings: Settings) -> list[Finding]:
    """One finding a bug, which fails where the bug is large enough to be seen and is not; and one on all of them."""
    found = [control(bug, subject, settings) for bug in BUGS[: settings.control_bugs]]
    return [*found, gate([finding.figures for finding in found])]


def gate(controls: Sequence[Mapping[str, Any]]) -> Finding:
    """Whether these controls show that the statistics can tell right from wrong.

    Where no bug changes anything p is a point mass at every place, shared noise included; then one token that
    differs would have been seen.
    """
    caught, visible = (
        sum(found["caught"] for found in controls),
        max(found["smallest_visible_tv"] for found in controls),
    )
    figures = {"caught": caught, "planted": len(controls), "smallest_visible_tv": visible, "large_tv": LARGE}
    settled = all(found["tv"] < ROUNDING for found in controls)
    says = f"{caught} of {len(controls)} planted bugs caught; a bias is seen from TV {visible:.3f} a token on"
    if visible > LARGE:
        says = f"nothing was proven: the controls show a bias {seen(visible)}; {RAISE}"
    elif settled:
        says = "no bug changes these texts: their law leaves no choice, and a token outside it is seen for certain"
    elif not caught:
        says = f"nothing was proven: none of {len(controls)} planted bugs was caught; raise --samples or --max-tokens"
    fails = visible > LARGE or not (caught or settled)
    return Finding("what the controls prove", not fails, says, figures, too_little=fails)


def control(bug: Bug, subject: Subject, settings: Settings) -> Finding:
    """Draw with the bug, look with the same statistics."""
    recipe = Recipe(subject.law, lambda: _drafter(bug, subject.model.engine), PlantedVerifier(bug), DRAFT_TOKENS,
                    settings.length, bug.chance)  # fmt: skip
    prompts = spread(subject.prompts, settings.control_prompts)
    samples = [
        sampled(subject.model.engine, recipe, prompt, settings.seed_of(index), settings.control_samples, bug.distance)
        for index, prompt in enumerate(prompts)
    ]
    return judged(bug, samples, run_tests(samples), settings.alpha)


def judged(bug: Bug, samples: Sequence[Sample], tests: Sequence[Test], alpha: float) -> Finding:
    """Caught, too small to be seen in so many tokens, or missed."""
    tokens = sum(sample.places.size for sample in samples)
    distance = float(np.concatenate([sample.places["distance"].ravel() for sample in samples]).mean())
    visible = smallest_visible(tokens, len(tests), alpha, POWER)
    needed = _for_copies(samples, len(tests), alpha) if bug.shared else visible
    best = min(range(len(tests)), key=lambda i: tests[i].p_value)
    outside = impossible(samples)
    p_value = 0.0 if outside else holm([test.p_value for test in tests])[best]
    caught = p_value <= alpha
    figures = {
        "caught": caught,
        "tv": distance,
        "smallest_visible_tv": visible,
        "seen_from_tv": needed,
        "p_value": p_value,
        "by": f"{outside} tokens outside the law" if outside else tests[best].name,
        "p_values": {test.name: test.p_value for test in tests},
        "tokens": tokens,
        "enumerated_tv": None if bug.shared else distance_of(PlantedVerifier(bug), partial(toy_drafter, bug), SMALL),
    }
    return Finding(bug.name, True if caught else None if distance < needed else False, _says(figures), figures)


def _for_copies(samples: Sequence[Sample], tests: int, alpha: float) -> float:
    """The same where all texts of a prompt are one text: its places alone count, and neighbours are products."""
    return 2 * smallest_visible(sum(sample.places.shape[1] for sample in samples), tests, alpha, POWER)


def _says(found: dict[str, object]) -> str:
    size = f"TV {found['tv']:.3f} a token"
    if found["caught"]:
        return f"caught by {found['by']}, p = {found['p_value']:.1g} ({size})"
    if found["tv"] < found["seen_from_tv"]:  # type: ignore[operator]
        seen = found["enumerated_tv"]
        besides = "" if seen is None else f"; enumeration sees it (TV {seen:.2g} on a toy)"
        return f"too small for {found['tokens']} tokens ({size}, from {found['seen_from_tv']:.3f} on){besides}"
    return f"NOT caught, p = {found['p_value']:.2g} ({size})"


def _drafter(bug: Bug, engine: Engine) -> Drafter:
    if bug.siblings:
        return SiblingsDrafter(engine)
    return NgramDrafter(*SUFFIXES) if bug.certain else SelfDrafter(engine)


def toy_drafter(bug: Bug) -> Drafter:
    """A drafter of the kind that the bug concerns, over the tables of SMALL."""
    if bug.siblings:
        return SiblingsDrafter(TabularEngine(SMALL.draft))
    return NgramDrafter(1, 2) if bug.certain else TableDrafter(SMALL.draft)
