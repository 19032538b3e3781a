"""What an attack is, and what it is measured on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from truedraw.protocol import Drafter, Engine, Verifier
from truedraw.testing import Scenario, TableDrafter, law_of, random_table, run, text_law, total_variation
from truedraw.verify.traversal import TraversalVerifier

SETTING = Scenario("three tokens", random_table(3, 2, 36), random_table(3, 1, 136), draft_tokens=2, max_tokens=3)
"""A target that remembers two tokens and a draft that remembers one; rounds of two drafts, texts of three tokens."""
TRUNCATED = replace(SETTING, name="top_k 2 of three tokens", params={"top_k": 2})
PROMPT = (0, 1)


@dataclass(frozen=True)
class Attack:
    """`tv` enumerates the total variation between the law of the text and the target's."""

    what: str
    tv: Callable[[], float]
    seen: str = ""  # reports and pull requests, in Markdown


def enumerated(
    verifier: Verifier | None = None,
    drafter: type[TableDrafter] | Drafter | None = None,
    engine: type[Engine] | None = None,
    scenario: Scenario = SETTING,
    prompt: Sequence[int] = PROMPT,
) -> Callable[[], float]:
    """The distance of the production loop with the given parts; each part that is left out is the production one.

    A drafter's class is made over the scenario's draft table, an engine's over its target.
    """
    drafts: Any = drafter(scenario.draft) if isinstance(drafter, type) else drafter
    return partial(_distance, verifier or TraversalVerifier(), drafts, engine, scenario, prompt)


def _distance(
    verifier: Verifier, drafter: Drafter | None, engine: Any, scenario: Scenario, prompt: Sequence[int]
) -> float:
    def text(walker: Any) -> tuple[int, ...]:
        runs_on = engine(scenario.target) if engine else None
        with np.errstate(divide="ignore"):  # log 0, where an attack emits what the target excludes
            return run(scenario, walker, verifier, drafter, runs_on, prompt=prompt)[0]

    return total_variation(law_of(text), text_law(scenario, prompt))
