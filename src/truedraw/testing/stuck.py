"""Runs of the production loop that may end with an error of the target's law, which is then part of the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.control.fixed import FixedController
from truedraw.errors import BadParameter, EngineError
from truedraw.generate.ending import Ending
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Together
from truedraw.protocol import Drafter, Verifier
from truedraw.testing.runs import PROMPT, Chance, parts_of, started
from truedraw.testing.scenarios import Scenario

STUCK = -1
"""Stands behind a text that no token may follow."""


def run_or_error(
    scenario: Scenario, walker: Chance, verifier: Verifier, drafter: Drafter | None = None,
    prompt: Sequence[int] = PROMPT, ending: type[Ending] = Ending,
) -> tuple[int, ...]:  # fmt: skip
    """The text of one sample, with STUCK behind it where it ended with an error."""
    engine, text = scenario.engine, list[int]()
    sample = started(parts_of(scenario, verifier, drafter), scenario, walker, 0, engine, prompt, ending)
    try:
        for (done,) in rounds(engine, FixedController(scenario.draft_tokens), Together([sample])):
            text.extend(done.tokens)
    except (BadParameter, EngineError):
        text.append(STUCK)
    return tuple(text)
