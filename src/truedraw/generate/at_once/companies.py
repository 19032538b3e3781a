"""Who draws the chains of several texts: one job for all that one drafter can draw together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from truedraw import protocol as p
from truedraw.generate.at_once.machine import Drafting


class Companies(NamedTuple):
    """Jobs, to be held as long as they run, their addresses [jobs, 2], and whose chains each draws."""

    jobs: list[Any]
    addresses: p.Ints
    members: list[list[int]]

    @classmethod
    def of(cls, drafting: Sequence[Drafting]) -> Self | None:
        """None where a drafter has failed."""
        members = [*companies(drafting).values()]
        found = [_job_of([drafting[text] for text in own]) for own in members]
        jobs = [job for job in found if job is not None]
        if len(jobs) < len(found):
            return None
        addresses = np.array([job.addresses for job in jobs], np.int64).reshape(-1, 2)
        return cls(jobs, addresses, members)


def companies(drafting: Sequence[Drafting]) -> dict[Hashable, list[int]]:
    """Which of the texts that draft are drawn together."""
    found: dict[Hashable, list[int]] = {}
    for text, each in enumerate(drafting):
        if each.job is not None:
            found.setdefault(getattr(each.job, "kin", ("alone", text)), []).append(text)
    return found


def _job_of(company: Sequence[Drafting]) -> Any | None:
    """threads.kept.Kept; see protocol.DraftsAbreast."""
    first, guard, jobs = company[0].job, company[0].guard, [each.job for each in company]
    assert first is not None
    assert guard is not None
    make: Any = getattr(first, "abreast", None)
    return guard.guard.attempt("propose", lambda: first.job if make is None else make(jobs))
