"""Runs of the production loop over a scenario, for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from truedraw.control.fixed import FixedController
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.ending import Ending
from truedraw.generate.loop import Parts, Sample, rounds
from truedraw.protocol import Drafter, Engine, Observer, Randomness, Verifier
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening
from truedraw.testing.scenarios import Scenario, TableDrafter

PROMPT = (0, 1)


class Chance(Protocol):
    """Where samples get their randomness from: a Walker, or seeds."""

    def sample(self, index: int) -> Randomness:
        """The chance of sample number `index`."""
        ...


def run(
    scenario: Scenario,
    walker: Chance,
    verifier: Verifier,
    drafter: Drafter | None = None,
    engine: Engine | None = None,
    n: int = 1,
    prompt: Sequence[int] = PROMPT,
    ending: type[Ending] = Ending,
) -> tuple[tuple[int, ...], ...]:
    """The texts of n samples, as the production loop emits them on one branch."""
    parts = parts_of(scenario, verifier, drafter, engine)
    samples = [started(parts, scenario, walker, i, prompt, ending) for i in range(n)]
    texts: list[list[int]] = [[] for _ in samples]
    for step in rounds(parts, samples):
        for done in step:
            texts[done.sample].extend(done.tokens)
    return tuple(tuple(text) for text in texts)


def first_round(
    scenario: Scenario, walker: Chance, verifier: Verifier, drafter: Drafter, observer: Observer | None = None
) -> tuple[int, ...]:
    """The tokens of the first round of one sample."""
    parts = parts_of(scenario, verifier, drafter, observer=observer)
    return next(rounds(parts, [started(parts, scenario, walker, 0, PROMPT, Ending)]))[0].tokens


def parts_of(
    scenario: Scenario,
    verifier: Verifier,
    drafter: Drafter | None = None,
    engine: Engine | None = None,
    observer: Observer | None = None,
) -> Parts:
    """The stages of a run; without a drafter one that samples from the scenario's draft table."""
    return Parts(
        engine or TabularEngine(scenario.target),
        drafter or TableDrafter(scenario.draft),
        verifier,
        FixedController(scenario.draft_tokens),
        observer,
    )


def started(parts: Parts, scenario: Scenario, walker: Chance, index: int, prompt: Sequence[int], ending: Any) -> Sample:
    """One sample, before its first round."""
    chance = walker.sample(index)
    opening = Opening(tuple(prompt), parts.engine.vocab_size, scenario.end_ids, chance, masks=scenario.masks)
    law = SamplingLaw(sampling_params(scenario.params), opening)
    return Sample(
        index=index,
        law=law,
        randomness=chance,
        ending=ending(scenario.end_ids, scenario.max_tokens),
        sequence=parts.engine.open(prompt),
        draft=parts.drafter.open(prompt, law),
    )
