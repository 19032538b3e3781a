"""What a conformance suite is made of."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import Drafter, DraftLaw, SparseLaw, Verifier
from truedraw.testing.enumeration import Walker, law_of, total_variation
from truedraw.testing.runs import PROMPT, first_round, run
from truedraw.testing.scenarios import Scenario, text_law

ROUNDING = 1e-12

Made = TypeVar("Made", bound=Drafter | None)
TextLaw = Mapping[tuple[int, ...], float]


@dataclass(frozen=True, slots=True)
class Check:
    """One check, by name; calling it raises AssertionError with what was expected and what was found."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Check it; an error says which check it was."""
        try:
            self.run()
        except Exception as error:
            error.add_note(f"in the check {self.name!r}")
            raise

    def __str__(self) -> str:
        return self.name


def require(condition: bool, otherwise: str) -> None:
    """Raises AssertionError; unlike a bare assert it is never switched off."""
    if not condition:
        raise AssertionError(otherwise)


@contextmanager
def fresh(make: Callable[[], Made]) -> Iterator[Made]:
    """A drafter that is closed when it is done with."""
    drafter = make()
    try:
        yield drafter
    finally:
        close(drafter)


def require_exact(scenario: Scenario, prompt: tuple[int, ...], verifier: Verifier, drafter: Drafter) -> None:
    """The production loop with these parts emits the target's law: every branch, no tolerance but rounding."""
    law = law_of(lambda walker: run(scenario, walker, verifier, drafter, prompt=prompt)[0])
    require_law(scenario, law, text_law(scenario, prompt))


def require_independent(
    scenario: Scenario, verifier: Verifier, make: Callable[[], Drafter | None], prompt: tuple[int, ...] = PROMPT
) -> None:
    """Two samples of one run have the law of two texts that know nothing of each other; a drafter is made a branch."""

    def pair(walker: Walker) -> tuple[tuple[int, ...], ...]:
        with fresh(make) as drafter:
            return run(scenario, walker, verifier, drafter, n=2, prompt=prompt)

    joint = law_of(pair)
    one = text_law(scenario, prompt)
    apart: dict[tuple[tuple[int, ...], ...], float] = {
        (a, b): one[a] * one[b] for a, b in itertools.product(one, repeat=2)
    }
    wrong = total_variation(joint, apart)
    require(wrong < ROUNDING, f"two samples of one prompt are {wrong:.3g} away from independence in total variation")


def require_exact_round(
    scenario: Scenario, verifier: Verifier, drafter: Drafter, prompt: tuple[int, ...] = PROMPT
) -> None:
    """One round followed by fresh samples of the target has the target's law; such rounds compose."""
    require_law(scenario, *completed_round(scenario, verifier, drafter, prompt))


def completed_round(
    scenario: Scenario, verifier: Verifier, drafter: Drafter, prompt: tuple[int, ...] = PROMPT
) -> tuple[TextLaw, TextLaw]:
    """(the law of one round followed by fresh samples of the target, the target's over texts of that length)."""
    law = law_of(lambda walker: first_round(scenario, walker, verifier, drafter, prompt=prompt))
    length = max(map(len, law))
    filled: dict[tuple[int, ...], float] = defaultdict(float)
    for tokens, weight in law.items():
        rest = replace(scenario, max_tokens=length - len(tokens))
        for more, chance in text_law(rest, (*prompt, *tokens)).items():
            filled[tokens + more] += weight * chance
    return filled, text_law(replace(scenario, max_tokens=length), prompt)


def same_law(one: DraftLaw | None, other: DraftLaw | None) -> bool:
    """Whether two laws of drafts are of one form, and equal bit for bit."""
    if isinstance(one, SparseLaw) and isinstance(other, SparseLaw):
        same = np.array_equal(one.tokens, other.tokens) and np.array_equal(one.weights, other.weights)
        return same and one.vocab_size == other.vocab_size
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is None and other is None


def require_law(scenario: Scenario, law: TextLaw, expected: TextLaw) -> None:
    """Raises AssertionError where the laws differ by more than rounding."""
    wrong = total_variation(law, expected)
    require(wrong < ROUNDING, f"{scenario}: the emitted law is {wrong:.3g} away from the target's in total variation")
