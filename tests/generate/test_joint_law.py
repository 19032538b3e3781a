"""The samples of a scheduler are independent, and each has the target's law: by enumeration, with everything in use."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from enumeration import Walker, law_of, total_variation
from generate.paged_table import PagedTable
from known_laws import Scenario, TableDrafter, random_table, text_law
from truedraw.control.fixed import FixedController
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import OutOfPages
from truedraw.generate.ending import Ending
from truedraw.generate.job import Job, Start
from truedraw.generate.jobs import Jobs
from truedraw.generate.planning import Limits
from truedraw.generate.sample import Parts, Sample
from truedraw.generate.scheduler import Scheduler
from truedraw.protocol import ROOT, Proposal, Purpose
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw

ROUNDING = 1e-12
PROMPT = (0, 1, 0)
CASE = Scenario("two tokens", random_table(2, 1, 70), random_table(2, 1, 71), draft_tokens=2, max_tokens=3)
ENDING = Scenario("an end", random_table(3, 1, 72), random_table(3, 1, 73), end_ids=(1,), draft_tokens=1, max_tokens=2)


def job_of(case: Scenario, walker: Walker, names, verifier: str, drafter) -> Job:
    """One sample for each of the walker's `names`."""
    starts = []
    for name in names:
        ending = Ending(case.end_ids, case.max_tokens)
        starts.append(Start(SamplingLaw(case.sampling), walker.sample(name), ending))
    return Job(PROMPT, Parts(drafter, find("verifiers", verifier)()), starts)


def texts(job: Job) -> tuple[tuple[int, ...], ...]:
    by_sample: list[list[int]] = [[] for _ in job.starts]
    for each in job.rounds:
        by_sample[each.sample - job.first] += each.tokens
    return tuple(map(tuple, by_sample))


def finished(scheduler: Scheduler, *jobs: Job):
    for job in jobs:
        scheduler.add(job)
    while scheduler.step():
        pass
    for job in jobs:
        if job.error is not None:
            raise job.error.__cause__ or job.error
    return tuple(text for job in jobs for text in texts(job))


def independent(case: Scenario, count: int):
    one = text_law(case, PROMPT)
    law = {}
    for joint in product(one.items(), repeat=count):
        weight = 1.0
        for _, chance in joint:
            weight *= chance
        law[tuple(text for text, _ in joint)] = weight
    return law


SETTINGS = {
    "side by side": {},
    "one after the other": {"limits": Limits(max_running=1)},
    "prompts in pieces": {"limits": Limits(max_rows=1, fill_rows=1)},
    "with the cache of logits": {"cache": 1 << 20},
    "one after the other, with the cache": {"limits": Limits(max_running=1), "cache": 1 << 20},
    "with evictions": {"pages": 5},
    "with evictions and the cache": {"pages": 5, "cache": 1 << 20},
}


@pytest.mark.parametrize("drafts", ["sampled", "certain", "of siblings"])
@pytest.mark.parametrize("verifier", ["traversal", "coupled"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("case", [CASE, ENDING], ids=str)
def test_two_samples_of_a_prompt(case: Scenario, setting: str, verifier: str, drafts: str) -> None:
    kinds = {
        "sampled": lambda: TableDrafter(case.draft),
        "certain": lambda: NgramDrafter(1, 1),
        "of siblings": lambda: SuffixDrafter(suffix_decoding_min_token_prob=0.0),
    }
    given = SETTINGS[setting]
    evictions = []

    def one(walker: Walker):
        engine = PagedTable(case.target, pages=given.get("pages", 1000) + case.max_tokens, rows=1)
        cache = LogitsCache(given["cache"]) if "cache" in given else None
        scheduler = Scheduler(engine, FixedController(case.draft_tokens), given.get("limits", Limits()), cache)
        found = finished(scheduler, job_of(case, walker, (0, 1), verifier, kinds[drafts]()))
        evictions.append(engine.evictions)
        assert engine.open_texts == []
        return found

    law = law_of(one)
    assert total_variation(law, independent(case, 2)) < ROUNDING
    assert any(evictions) == ("pages" in given)


@pytest.mark.parametrize("setting", ["side by side", "with the cache of logits", "one after the other, with the cache"])
def test_samples_of_two_jobs(setting: str) -> None:
    """Of one prompt, by rules of different kinds."""
    given = SETTINGS[setting]

    def one(walker: Walker):
        cache = LogitsCache(given["cache"]) if "cache" in given else None
        scheduler = Scheduler(PagedTable(CASE.target), FixedController(1), given.get("limits", Limits()), cache)
        first = job_of(CASE, walker, (0,), "token", TableDrafter(CASE.draft))
        return finished(scheduler, first, job_of(CASE, walker, (1,), "coupled", NgramDrafter(1, 1)))

    assert total_variation(law_of(one), independent(CASE, 2)) < ROUNDING


def test_the_cache_is_hit_in_this() -> None:
    def one(walker: Walker):
        cache = LogitsCache(1 << 20)
        scheduler = Scheduler(PagedTable(CASE.target), FixedController(0), Limits(max_running=1), cache)
        finished(scheduler, job_of(CASE, walker, (0, 1), "coupled", NgramDrafter(1, 1)))
        return cache.use.hits

    assert sum(hits * weight for hits, weight in law_of(one).items()) > 1


def test_shared_noise_would_be_seen() -> None:
    """The enumeration sees a scheduler whose samples draw the same numbers."""

    def one(walker: Walker):
        engine, drafter = PagedTable(CASE.target), NgramDrafter(1, 1)
        first = finished(Scheduler(engine, FixedController(0)), job_of(CASE, walker, (0,), "coupled", drafter))
        return first * 2

    assert total_variation(law_of(one), independent(CASE, 2)) > 0.1


class Branching(TableDrafter):
    """A second draft beside the first where that is token 1: how much room the two need is chance."""

    def chain(self, state, budget, randomness):
        position, q = len(state.text), self.law_after(state, state.text)
        first = randomness.choose(q, Purpose.DRAFT, position, 0)
        if budget < 2 or first != 1:
            return Proposal.chain([first], [q])
        others = np.where(np.arange(len(q)) == first, 0.0, q)
        others /= others.sum()
        second = randomness.choose(others, Purpose.DRAFT, position, 1)
        return Proposal(np.array([first, second]), np.array([ROOT, ROOT]), (q, others))


CROWDED = Scenario("little room", random_table(3, 1, 74), random_table(3, 1, 75), draft_tokens=2, max_tokens=4)
LONGEST = len(PROMPT) + CROWDED.max_tokens - 1  # the last token is never computed
ROOMY = LONGEST + 2  # the first drafts, whatever they are, have room, and later ones might not


def crowded_law(verifier: str, drafter, pages: int, case: Scenario = CROWDED, names=(0,)):
    """And how many drafts there were at most."""
    drafted = []

    def one(walker: Walker):
        scheduler = Scheduler(PagedTable(case.target, pages=pages, rows=1), FixedController(case.draft_tokens))
        job = job_of(case, walker, names, verifier, drafter())
        found = finished(scheduler, job)
        drafted.append(sum(each.drafted for each in job.rounds))
        return found

    return law_of(one), max(drafted)


@pytest.mark.parametrize("pages", range(LONGEST, ROOMY + 1))
@pytest.mark.parametrize("verifier", ["traversal", "coupled"])
def test_drafts_that_may_have_no_room(verifier: str, pages: int) -> None:
    """Nothing fails for want of room that only drafts need, and what goes for it is chosen without a look at them."""
    law, most = crowded_law(verifier, lambda: Branching(CROWDED.draft), pages)
    assert total_variation(law, independent(CROWDED, 1)) < ROUNDING
    assert most > (pages == ROOMY)


@pytest.mark.parametrize("pages", [ROOMY, ROOMY + 2])
@pytest.mark.parametrize("verifier", ["traversal", "coupled"])
def test_drafts_of_two_samples_that_may_have_no_room(verifier: str, pages: int) -> None:
    """One gives its pages up with drafts that are drawn, and has room for them when it goes on."""
    law, most = crowded_law(verifier, lambda: Branching(CASE.draft), pages, CASE, (0, 1))
    assert total_variation(law, independent(CASE, 2)) < ROUNDING
    assert most >= 2


@pytest.mark.parametrize("verifier", ["traversal", "coupled"])
def test_certain_drafts_without_room(verifier: str) -> None:
    law, most = crowded_law(verifier, lambda: SuffixDrafter(suffix_decoding_min_token_prob=0.0), LONGEST)
    assert total_variation(law, independent(CROWDED, 1)) < ROUNDING
    assert most > 0


def test_drafts_that_were_drawn_are_never_dropped_for_want_of_room(monkeypatch) -> None:
    """An engine may need more room for them than any of ours: then the text ends there."""
    monkeypatch.setattr(Jobs, "has_room", lambda self, work: True)
    with pytest.raises(OutOfPages):
        crowded_law("traversal", lambda: Branching(CROWDED.draft), LONGEST)
    law, most = crowded_law("coupled", lambda: Branching(CROWDED.draft), LONGEST)  # where no draft changes a text
    assert total_variation(law, independent(CROWDED, 1)) < ROUNDING
    assert most > 0


def test_drafts_dropped_for_the_room_they_need_would_be_seen(monkeypatch) -> None:
    def drop(sample: Sample) -> bool:
        sample.proposal = sample.proposal.only(np.arange(sample.forced))
        return True

    monkeypatch.setattr(Jobs, "has_room", lambda self, work: True)
    monkeypatch.setattr(Sample, "drop_drafts", drop)
    law, _ = crowded_law("traversal", lambda: Branching(CROWDED.draft), LONGEST)
    assert total_variation(law, independent(CROWDED, 1)) > 1e-3
