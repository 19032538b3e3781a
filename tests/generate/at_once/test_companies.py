"""Which texts have their chains drawn together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from truedraw.generate.at_once.companies import Companies
from truedraw.generate.at_once.drafted import times_of
from truedraw.generate.at_once.hearing import Hearers
from truedraw.generate.at_once.machine import Drafting


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
