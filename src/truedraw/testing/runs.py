"""Runs of the production loop over a scenario, for the oracle."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.control.fixed import FixedController
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.ending import Ending
from truedraw.generate.loop import Parts, Sample, rounds
from truedraw.protocol import Drafter, Engine, Verifier
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening
from truedraw.testing.enumeration import Walker
from truedraw.testing.scenarios import Scenario, TableDrafter

PROMPT = (0, 1)


def run(
    scenario: Scenario,
    walker: Walker,
    verifier: Verifier,
    drafter: Drafter | None = None,
    engine: Engine | None = None,
    n: int = 1,
    prompt: Sequence[int] = PROMPT,
    ending: type[Ending] = Ending,
) -> tuple[tuple[int, ...], ...]:
    """The texts of n samples, as the production loop emits them on one branch."""
    parts = Parts(
        engine or TabularEngine(scenario.target),
        drafter or TableDrafter(scenario.draft),
        verifier,
        FixedController(scenario.draft_tokens),
    )
    params, vocab = sampling_params(scenario.params), parts.engine.vocab_size
    chances = [walker.sample(i) for i in range(n)]
    laws = [SamplingLaw(params, Opening(tuple(prompt), vocab, scenario.end_ids, chance)) for chance in chances]
    samples = [
        Sample(
            index=i,
            law=laws[i],
            randomness=chances[i],
            ending=ending(scenario.end_ids, scenario.max_tokens),
            sequence=parts.engine.open(prompt),
            draft=parts.drafter.open(prompt, laws[i]),
        )
        for i in range(n)
    ]
    texts: list[list[int]] = [[] for _ in samples]
    for step in rounds(parts, samples):
        for done in step:
            texts[done.sample].extend(done.tokens)
    return tuple(tuple(text) for text in texts)
