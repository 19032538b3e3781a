"""The certificate of exactness on a model, drafter and parameters of the user's own.

(a) enumeration of the code as installed, (b) equal texts for equal seeds, (c) statistics on real text, (d) independence
of samples, (e) the numbers of the engine on this machine, (f) the same statistics against planted bugs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from time import perf_counter

from truedraw.draft.knobs import Knobs
from truedraw.draft.site import close
from truedraw.generate.model import Model
from truedraw.stats.check.at_once import rounds_at_once
from truedraw.stats.check.controls import negative_controls
from truedraw.stats.check.defined import defined_law
from truedraw.stats.check.drawing import Recipe
from truedraw.stats.check.enumerated import enumeration, refuse_stuck
from truedraw.stats.check.hypotheses import Sample
from truedraw.stats.check.machine import compiled_rounds, distance, invariance
from truedraw.stats.check.real_text import findings, inside_grammar, plots, sampled
from truedraw.stats.check.records import Certificate, Finding, Section
from truedraw.stats.check.seeds import seed_equality
from truedraw.stats.check.settings import Settings, quick, spread
from truedraw.stats.check.subject import Subject

__all__ = ["UNCERTAIN", "Certificate", "Finding", "Section", "Settings", "Subject", "check", "quick", "spread"]

Reference = Callable[[], Model]
Tell = Callable[[str], object]

UNCERTAIN = "there is nothing to certify"  # of a lossy rule
TITLES = {
    "a": "enumeration of the code as installed",
    "b": "one seed, one text: speculative against plain",
    "c": "statistics on real text",
    "d": "independence of samples",
    "e": "the engine's numbers on this machine",
    "f": "planted bugs that the statistics must catch",
}
DISTANCE_TEXTS = 8  # texts on which numerics are compared


def check(subject: Subject, settings: Settings, reference: Reference | None = None, tell: Tell = str) -> Certificate:
    """All of it. `reference` opens the same model in reference numerics; `tell` hears what is being done.

    Raises BadParameter for a rule that is not exact, and for a rule or drafter of another package that never returns.
    """
    subject.speculation.check_exact(UNCERTAIN)
    run, engine = _Run(tell), subject.model.engine
    subject = replace(subject, prompts=spread(subject.prompts, settings.prompts))
    subject.check_room(settings.length)
    close(subject.drafter(subject.speculation.verifier(None)))  # a bad draft model is said before the work
    exact = run.section("a", lambda: _exact(subject, settings))
    equal = run.section("b", lambda: seed_equality(subject, settings))
    samples = cache(lambda: draw_all(subject, settings))
    found = cache(lambda: findings(samples(), settings.alpha, subject.equal_bits))  # of two sections: one family
    text = run.section("c", lambda: [*found()[0], *_inside(subject, samples())])
    joint = run.section("d", lambda: found()[1])
    drawn = [sample.drawn for sample in samples()[:DISTANCE_TEXTS]]
    opened = reference if settings.reference else None
    numbers = run.section(
        "e",
        lambda: [
            invariance(engine),
            compiled_rounds(),
            rounds_at_once(subject, settings),
            distance(subject.model, opened, drawn),
        ],
    )
    planted = run.section("f", lambda: negative_controls(subject, settings))
    sections = (exact, equal, text, joint, numbers, planted)
    return Certificate(
        sections, {"model": subject.model.name, "alpha": settings.alpha}, plots(samples()), run.seconds()
    )


def _exact(subject: Subject, settings: Settings) -> list[Finding]:
    """Raises BadParameter for a part that never returns before anything else may ask it."""
    found = enumeration(settings.full_enumeration, drafting(subject))
    refuse_stuck(subject.speculation, found)
    return [*found, defined_law(subject, settings)]


def _inside(subject: Subject, samples: Sequence[Sample]) -> list[Finding]:
    """What of the texts a grammar ruled, if there is one."""
    return [inside_grammar(samples, subject.grammar_ends)] if subject.guided else []


def drafting(subject: Subject) -> Knobs | None:
    """How a draft model drafts, None where there is none."""
    return subject.speculation.knobs() if subject.speculation.model is not None else None


def draw_all(subject: Subject, settings: Settings) -> list[Sample]:
    """The texts that (c) and (d) look at: the rule that runs without a seed, with drafts in every round."""
    tokens, rule = subject.speculation.num_speculative_tokens, subject.speculation.verifier(None)
    recipe = Recipe(subject.law, lambda: subject.drafter(rule), rule, tokens, settings.length)
    return [
        sampled(subject.model.engine, recipe, prompt, settings.seed_of(index), settings.samples)
        for index, prompt in enumerate(subject.prompts)
    ]


class _Run:
    """Times the sections."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._start = tell, perf_counter()

    def section(self, key: str, look: Callable[[], Sequence[Finding]]) -> Section:
        self._tell(TITLES[key])
        start = perf_counter()
        return Section(key, TITLES[key], tuple(look()), perf_counter() - start)

    def seconds(self) -> float:
        return perf_counter() - self._start
