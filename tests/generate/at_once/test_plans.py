"""What rounds at once are begun for: texts whose rounds are a pass under one law, and what was decided as it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from truedraw.generate.at_once.machine import MOST
from truedraw.generate.at_once.machines import Machines
from truedraw.generate.at_once.plan import is_simple, most_tokens, source_of, stands_behind, stands_of
from truedraw.protocol import Choice, Stand
from truedraw.sampling.counts import RECENT_TOKENS
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

NOBODY = {"observer": None, "top_logprobs": 0, "most_drafted": 4}
COUNTED = SimpleNamespace(fused=object(), is_counted=True)


def sample(parts: dict[str, Any] | None = None, **more: Any) -> Any:
    known = {"number": 3, "proposal": None, "trail": None, "law": COUNTED}
    return SimpleNamespace(parts=SimpleNamespace(**NOBODY | (parts or {})), **known | more)


@pytest.mark.parametrize(("odd", "simple"), [
    ({}, True),
    ({"parts": {"observer": object()}}, False),
    ({"parts": {"top_logprobs": 1}}, False),
    ({"trail": object()}, False),  # it would stay where it is, and know rows of another text by that place
    ({"proposal": object()}, False),
    ({"law": SimpleNamespace(fused=None, is_counted=True)}, False),
    ({"law": SimpleNamespace(fused=object(), is_counted=False)}, False),
])  # fmt: skip
def test_rounds_of_a_text_that_nobody_looks_at_are_simple(odd: dict[str, Any], simple: bool) -> None:
    assert is_simple(sample(**odd)) == simple


class Judge:
    """protocol.Stands: the same for all."""

    def __init__(self, stand: Stand | None) -> None:
        self._stand = stand

    def stands(self, samples: list[int]) -> list[Stand] | None:
        return None if self._stand is None else [self._stand] * len(samples)


def guess(**more: Any) -> Any:
    return SimpleNamespace(**{"sample": sample(), "certain": (), "asker": SimpleNamespace(sources=("a", "b"))} | more)


def test_no_more_is_drafted_than_a_round_may_have() -> None:
    judge: Any = Judge(Stand(5, "a", 4))
    assert stands_of(judge, [sample()] * 2) == [Stand(5, "a", 4)] * 2
    assert stands_of(judge, [sample(), sample({"most_drafted": 3})]) is None


def test_what_was_decided_stands_for_the_round_it_was_decided_in() -> None:
    judge: Any = Judge(Stand(5, "a", 2))
    decided = Choice("a", tokens=2)
    assert stands_behind(judge, [guess()], [decided]) == [Stand(6, "a", 2)]
    for other in (Choice("b", tokens=2), Choice("a", tokens=1), Choice("a", tokens=2, then=("b",))):
        assert stands_behind(judge, [guess(), guess()], [decided, other]) is None
    assert stands_behind(judge, [guess(certain=(7,))], [decided]) is None
    nobody: Any = Judge(None)
    assert stands_behind(nobody, [guess()], [decided]) is None


@pytest.mark.parametrize(("source", "sources", "found"), [
    ("b", ("a", "b"), "b"), ("c", ("a", "b"), None), ("", ("a",), "a"), ("", ("a", "b"), None), ("", (), None),
])  # fmt: skip
def test_who_drafts_is_named_or_the_only_one(source: str, sources: tuple[str, ...], found: str | None) -> None:
    own = guess(asker=SimpleNamespace(sources=sources))
    assert source_of(own, Stand(5, source, 2)) == found
    assert source_of(own, Stand(5, source, 0)) == ""


@pytest.mark.parametrize(("rounds", "drafts", "room", "most"), [(4, 2, 100, 12), (4, 0, 100, 4), (4, 2, 11, 11)])
def test_a_text_gets_room_for_all_that_rounds_can_bring_it(rounds: int, drafts: int, room: int, most: int) -> None:
    own = sample(ending=SimpleNamespace(room=room))
    assert most_tokens(own, rounds, drafts) == most


def test_what_a_law_counts_has_room_for_the_tokens_of_all_rounds() -> None:
    """Also where more are drafted than when it was made."""
    nobody: Any = None
    edits = SamplingLaw(sampling_params({"repetition_penalty": 1.2}), Opening((1, 2), 9)).edits()
    law: Any = SimpleNamespace(edits=lambda: edits)
    machines, rooms = Machines(nobody), list[int]()
    for drafts in (0, 4, 2, 7):
        found = machines._tallies_for(law, drafts)
        assert found is not None
        rooms.append(found.room)
        assert found.room >= RECENT_TOKENS + MOST * (1 + drafts)
    assert rooms[2] == rooms[1]
