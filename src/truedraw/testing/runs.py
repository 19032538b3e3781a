"""Runs of the production loop over a scenario, for the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from truedraw.control.fixed import FixedController
from truedraw.generate.ending import Ending
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Parts, Sample, Together
from truedraw.protocol import Drafter, Engine, Observer, Randomness, Round, Verifier
from truedraw.sampling.law import SamplingLaw
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
    runs_on = engine or scenario.engine
    parts = parts_of(scenario, verifier, drafter)
    samples = [started(parts, scenario, walker, i, runs_on, prompt, ending) for i in range(n)]
    texts: list[list[int]] = [[] for _ in samples]
    for step in rounds(runs_on, FixedController(scenario.draft_tokens), Together(samples)):
        for done in step:
            texts[done.sample].extend(done.tokens)
    return tuple(tuple(text) for text in texts)


def first_round(
    scenario: Scenario, walker: Chance, verifier: Verifier, drafter: Drafter, observer: Observer | None = None,
    *, prompt: Sequence[int] = PROMPT,
) -> tuple[int, ...]:  # fmt: skip
    """The tokens of the first round of one sample."""
    return next(rounds_of_one(scenario, walker, verifier, drafter, observer, prompt=prompt))[0].tokens


def rounds_of_one(
    scenario: Scenario, walker: Chance, verifier: Verifier, drafter: Drafter | None = None,
    observer: Observer | None = None, *, prompt: Sequence[int] = PROMPT,
) -> Iterator[list[Round]]:  # fmt: skip
    """The rounds of one sample."""
    engine = scenario.engine
    sample = started(parts_of(scenario, verifier, drafter, observer), scenario, walker, 0, engine, prompt)
    return rounds(engine, FixedController(scenario.draft_tokens), Together([sample]))


def parts_of(
    scenario: Scenario, verifier: Verifier, drafter: Drafter | None = None, observer: Observer | None = None
) -> Parts:
    """The stages of a run; without a drafter one that samples from the scenario's draft table."""
    return Parts(drafter or TableDrafter(scenario.draft), verifier, observer)


def started(
    parts: Parts, scenario: Scenario, walker: Chance, index: int, engine: Engine, prompt: Sequence[int] = PROMPT,
    ending: type[Ending] = Ending,
) -> Sample:  # fmt: skip
    """One sample, before its first round."""
    chance = walker.sample(index)
    opening = Opening(tuple(prompt), engine.vocab_size, scenario.end_ids, chance, masks=scenario.masks)
    law = SamplingLaw(scenario.sampling, opening)
    return Sample(
        number=index,
        parts=parts,
        law=law,
        randomness=chance,
        ending=ending(scenario.end_ids, scenario.max_tokens),
        sequence=engine.open(prompt),
        draft=parts.drafter.open(prompt, law),
    )
