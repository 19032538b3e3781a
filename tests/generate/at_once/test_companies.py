"""Which texts have their chains drawn together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from truedraw.generate.at_once.companies import Companies
from truedraw.generate.at_once.drafted import Desk, Drafted, Drawn, times_of
from truedraw.generate.at_once.hearing import Hearers
from truedraw.generate.at_once.machine import Drafting
from truedraw.protocol.slate import COUNT, POSITION, Slate


class Job:
    """One that can be drawn alone, or with those of its kin."""

    def __init__(self, number: int, kin: Any = None) -> None:
        self.job = SimpleNamespace(addresses=(number, 0))
        if kin is not None:
            self.kin, self.abreast = kin, self._abreast

    @staticmethod
    def _abreast(jobs: list[Job]) -> Any:
        return SimpleNamespace(addresses=(1000 + sum(job.job.addresses[0] for job in jobs), len(jobs)))


class Guard:
    """Whose drafter may have failed."""

    def __init__(self, fails: bool = False) -> None:
        self.guard, self._fails = self, fails

    def attempt(self, what: str, act: Any) -> Any:
        return None if self._fails else act()

    def awake(self) -> None:
        """See GuardedState."""


def drafting(job: Job | None, fails: bool = False) -> Drafting:
    guard: Any = Guard(fails)
    return Drafting(job, None if job is None else guard, Hearers((), ()))


def test_those_of_one_kin_are_one_job() -> None:
    one = Companies.of(
        [drafting(job) for job in (Job(1, "a"), None, Job(2), Job(3, "b"), Job(4, "a"), Job(5), Job(6, "a"))]
    )
    assert one is not None
    assert one.members == [[0, 4, 6], [2], [3], [5]]
    assert one.addresses.tolist() == [[1011, 3], [2, 0], [1003, 1], [5, 0]]
    times = times_of([9.0, 12.0, 0.0, 3.0, 4.0, 6.0, 8.5], one.members, 7)
    assert [*times.drafts] == [1.0, 0.0, 1.0, 2.0, 1.0, 2.5, 1.0]
    assert [*times.calls] == [3.0, 0.0, 1.0, 2.0, 3.0, 2.5, 3.0]
    assert (times.engine, times.whole) == (0.5, 12.0)


def test_nobody_drafts() -> None:
    one = Companies.of([drafting(None)] * 3)
    assert one is not None
    assert (one.addresses.shape, one.members) == ((0, 2), [])
    times = times_of([1.0, 2.0, 0.5], one.members, 3)
    assert ([*times.drafts], [*times.calls]) == ([0.0] * 3, [0.0] * 3)


def test_where_a_drafter_has_failed_there_is_none() -> None:
    assert Companies.of([drafting(Job(1)), drafting(Job(2), fails=True)]) is None


class Beginning(Job):
    """One that can draw so many rounds, and remembers for what it was asked."""

    def __init__(self, most: int) -> None:
        super().__init__(1)
        self.most, self.asked = most, list[tuple[int, int, int]]()

    def begin(self, position: int, rounds: int, texts: int) -> int:
        self.asked.append((position, rounds, texts))
        return min(self.most, rounds)


@pytest.mark.parametrize(("most", "rounds"), [((6, 9), 6), ((6, 2), 2), ((0, 9), 0)])
def test_as_many_rounds_begin_as_all_who_draft_can_draw(most: tuple[int, int], rounds: int) -> None:
    """Each is told how many texts draft in them, and nobody is asked for none."""
    jobs = [Beginning(each) for each in most]
    way, drawn = Drafted.__new__(Drafted), list[Drawn]()
    for length, job in zip((3, 4, 5), (jobs[0], None, jobs[1]), strict=True):
        guess: Any = SimpleNamespace(sample=SimpleNamespace(sequence=SimpleNamespace(tokens=[*range(length)])))
        drawn.append(Drawn(guess, "it" if job else "", 2, late=False))
    slates = [Slate.of(2) for _ in drawn]
    drafters = [drafting(job) for job in (jobs[0], None, jobs[1])]
    way.desks = [Desk(slate, each, [], None, None) for slate, each in zip(slates, drafters, strict=True)]
    assert way.begin(drawn, 8) == rounds
    assert jobs[0].asked == [(3, 8, 2)]
    assert jobs[1].asked == ([(5, 6, 2)] if rounds else [])
    assert (slates[1].numbers[POSITION], slates[1].numbers[COUNT], slates[1].last[0]) == (
        (4, 1, 3) if rounds else (0, 0, 0)
    )
