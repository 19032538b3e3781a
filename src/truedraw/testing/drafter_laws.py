"""Exact laws that one free sample does not show: of two samples of a prompt, and behind tokens that had to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from truedraw.protocol import Drafter
from truedraw.testing.checks import Check, fresh, require_independent, require_law
from truedraw.testing.enumeration import Walker, law_of
from truedraw.testing.forcing import forcing
from truedraw.testing.runs import run
from truedraw.testing.scenarios import Scenario, text_law
from truedraw.testing.tables import random_table
from truedraw.verify.traversal import TraversalVerifier

FOLLOWED = (0, 1, 0, 0, 2, 0, 0)  # several tokens followed the last one, and not equally often
FORCED = (1, 0)  # behind which the same is true
LARGEST_WHOLE = 3  # vocabulary, above which two samples have too many branches unless the target leaves some out


def law_checks(make: Callable[[], Drafter], vocab_size: int) -> list[Check]:
    """Both checks."""
    return [
        Check("exact law, two samples", partial(_pairs, make, vocab_size)),
        Check("exact law, behind forced tokens", partial(_behind_forced, make, vocab_size)),
    ]


def _pairs(make: Callable[[], Drafter], vocab_size: int) -> None:
    """A draft that one text hands on to another is no draw of its own there."""
    fewer = {} if vocab_size <= LARGEST_WHOLE else {"top_k": 2}
    scenario = Scenario("pair", random_table(vocab_size, 1, 71), {}, fewer, draft_tokens=1, max_tokens=2)
    require_independent(scenario, TraversalVerifier(), make, _prompt(vocab_size))


def _behind_forced(make: Callable[[], Drafter], vocab_size: int) -> None:
    free = Scenario("forced", random_table(vocab_size, 1, 71), {}, draft_tokens=1, max_tokens=2)
    most = len(FORCED) + free.max_tokens
    forced = replace(free, masks=(forcing(FORCED, vocab_size),), max_tokens=most)
    prompt = _prompt(vocab_size)

    def behind_forced(walker: Walker) -> tuple[int, ...]:
        with fresh(make) as drafter:
            return run(forced, walker, TraversalVerifier(), drafter, prompt=prompt)[0]

    law = law_of(behind_forced)
    behind = text_law(free, (*prompt, *FORCED))
    require_law(forced, law, {(*FORCED, *text): weight for text, weight in behind.items()})


def _prompt(vocab_size: int) -> tuple[int, ...]:
    return tuple(token % vocab_size for token in FOLLOWED)
