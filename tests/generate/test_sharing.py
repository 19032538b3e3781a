"""Drafters that requests share, the guard of each, and prompts and pages that they wait for."""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from types import SimpleNamespace

import pytest

from truedraw import load
from truedraw.draft.ngram import NgramDrafter
from truedraw.errors import BadInput
from truedraw.generate import shared_drafters
from truedraw.generate.calls import Calls
from truedraw.generate.crowd import AHEAD, Crowd
from truedraw.generate.guarded_drafter import GuardedDrafter, GuardedState
from truedraw.generate.job import Job, Start, moved
from truedraw.generate.jobs import Jobs
from truedraw.generate.known_rows import IN_A_ROW, KnownRows
from truedraw.generate.planning import LIMITS, NEAR, plan
from truedraw.generate.sample import Turn
from truedraw.generate.shared_drafters import SharedDrafter, SharedDrafters
from truedraw.generate.speculation import Speculation, speculation
from truedraw.protocol import NOTHING, Proposal
from truedraw.registry import BUILT_IN


def test_the_first_fault_is_the_one_that_is_told():
    guard = GuardedDrafter(None, 9, Calls(1.0))
    guard.fault = "the first"
    guard.took("propose", 5.0)
    assert guard.fault == "the first"


def test_after_a_late_call_texts_are_asked_for_apart_once(monkeypatch):
    sizes = []

    class Own:
        def open(self, tokens, law):
            return object()

        def propose(self, states, budgets, chances):
            sizes.append(len(states))
            return [NOTHING for _ in states]

    calls = Calls(1.0)

    def timed(act):
        before = len(sizes)
        return act(), 9.0 if before == 0 < len(sizes) else 0.0

    calls.timed = timed
    shared = SharedDrafter(Own(), calls)
    states = [shared.guard(9).open([1], None) for _ in range(2)]
    for _ in range(3):
        shared.propose(states, [1, 1], [None, None])
    assert sizes == [2, 1, 1, 2]


def test_nobody_is_asked_for_a_request_whose_drafting_has_ended():
    asked = []

    class Own:
        def open(self, tokens, law):
            return tuple(tokens)

        def propose(self, states, budgets, chances):
            asked.append(list(states))
            return [NOTHING for _ in states]

    shared = SharedDrafter(Own())
    guards = [shared.guard(9) for _ in range(2)]
    states = [guard.open([number], None) for number, guard in enumerate(guards)]
    guards[0].fault = "a fault"
    shared.propose(states, [1, 1], [None, None])
    assert asked == [[(1,)]]
    guards[1].fault = "another"
    assert len(shared.propose(states, [1, 1], [None, None])) == 2
    assert len(asked) == 1


class Telling:
    """Drafts as many tokens as it is asked for, and tells what it was asked."""

    def __init__(self):
        self.asked = []

    def open(self, tokens, law):
        return tuple(tokens)

    def propose(self, states, budgets, chances):
        self.asked.append([*zip(states, budgets, chances, strict=True)])
        return [Proposal.chain([1] * budget) for budget in budgets]


def test_each_text_is_asked_for_by_its_own_budget_and_noise_whoever_else_is_left_out():
    own = Telling()
    shared = SharedDrafter(own)
    guards = [shared.guard(9) for _ in range(4)]
    states = [guard.open([number], None) for number, guard in enumerate(guards)]
    guards[0].fault = guards[2].fault = "a fault"
    found = shared.propose(states, [1, 2, 3, 4], [*"abcd"])
    assert own.asked == [[((1,), 2, "b"), ((3,), 4, "d")]]
    assert [len(each) for each in found] == [0, 2, 0, 4]
    assert guards[1].fault is guards[3].fault is None


def test_so_it_is_request_by_request():
    own = Telling()
    shared = SharedDrafter(own)
    guards = [shared.guard(9) for _ in range(2)]
    states = [guards[number % 2].open([number], None) for number in range(4)]
    found = shared_drafters.one_by_one(states, [1, 2, 3, 4], [*"abcd"])
    assert own.asked == [[((0,), 1, "a"), ((2,), 3, "c")], [((1,), 2, "b"), ((3,), 4, "d")]]
    assert [len(each) for each in found] == [1, 2, 3, 4]


def test_so_it_is_where_a_text_has_no_state():
    own = Telling()
    guard = GuardedDrafter(own, 9)
    states = [GuardedState(guard, None), *(guard.open([number], None) for number in (1, 2))]
    found = guard.propose(states, [1, 2, 3], [*"abc"])
    assert own.asked == [[((1,), 2, "b"), ((2,), 3, "c")]]
    assert [len(each) for each in found] == [0, 2, 3]


class Made:
    def __init__(self):
        self.closed = 0

    def open(self, tokens, law):
        return None

    def propose(self, states, budgets, chances):
        return [NOTHING for _ in states]

    def close(self):
        self.closed += 1


def test_what_is_shared_is_held_for_requests_to_come():
    own = Made()
    shared = SharedDrafter(own)
    shared.guard(9).close()
    assert own.closed == 0
    last = shared.guard(9)
    shared.retire()
    assert own.closed == 0
    last.close()
    assert own.closed == 1


def shared_of(monkeypatch, fails=()):

    made = []

    def drafter(spec, verifier=None, drafts=None):
        if drafts is None:
            return Made()
        if spec.method in fails:
            raise ValueError(spec.method)
        made.append(Made())
        return made[-1]

    monkeypatch.setattr(Speculation, "drafter", drafter)
    return SharedDrafters(), speculation, made


def test_a_request_that_is_closed_twice_takes_nothing_from_others():
    own = Made()
    shared = SharedDrafter(own)
    first, second = shared.guard(9), shared.guard(9)
    shared.retire()
    first.close()
    first.close()
    assert own.closed == 0
    second.close()
    assert own.closed == 1


@pytest.mark.parametrize("kinds", [(True, False), (True, True)])
def test_rules_of_two_kinds_share_no_drafter(monkeypatch, kinds):
    shared, speculation, made = shared_of(monkeypatch)
    drafts = SimpleNamespace(vocab_size=9, auto_sources=())
    asked = [shared.drafters(speculation("ngram"), SimpleNamespace(coupled=kind), drafts)[1] for kind in kinds]
    assert (asked[0] is asked[1]) == (kinds[0] == kinds[1])
    assert len(made) == len(set(kinds))


def test_where_one_of_several_cannot_be_had_the_others_are_given_back(monkeypatch):
    shared, speculation, made = shared_of(monkeypatch, ["ngram-lm"])
    drafts = SimpleNamespace(vocab_size=9, auto_sources=("ngram", "ngram-lm"))
    with pytest.raises(ValueError, match="ngram-lm"):
        shared.drafters(speculation("auto"), SimpleNamespace(coupled=True), drafts)
    shared.close()
    assert [each.closed for each in made] == [1]


def test_the_oldest_settings_are_pushed_out(monkeypatch):

    monkeypatch.setattr(shared_drafters, "MOST_KINDS", 2)
    shared, speculation, made = shared_of(monkeypatch)
    drafts = SimpleNamespace(vocab_size=9, auto_sources=())
    for method in ("ngram", "suffix", "ngram-lm"):
        shared.drafters(speculation(method), SimpleNamespace(coupled=True), drafts)[0].close()
    assert [each.closed for each in made] == [1, 0, 0]


@pytest.mark.parametrize(("holds", "count"), [(True, 3), (False, 1)])
def test_what_holds_texts_is_made_anew_after_so_many_requests(monkeypatch, holds, count):

    monkeypatch.setattr(shared_drafters, "MOST_REQUESTS", 2)
    monkeypatch.setattr(shared_drafters, "holds_texts", lambda spec: holds)
    shared, speculation, made = shared_of(monkeypatch)
    drafts = SimpleNamespace(vocab_size=9, auto_sources=())
    for _ in range(6):
        shared.drafters(speculation("ngram"), SimpleNamespace(coupled=True), drafts)[0].close()
    assert len(made) == count
    assert [each.closed for each in made] == [1] * (count - 1) + [0]  # the last one waits for more


@pytest.mark.parametrize(("beside", "checked"), [(True, 0), (False, 9)])
def test_what_foreign_code_may_still_write_into_is_read_again_by_the_rule(beside, checked):
    from truedraw.generate.guarded_drafter import GuardedDrafter

    proposal = Proposal.chain([1, 2])
    found = GuardedDrafter(None, 9, Calls(5.0, beside)).checked(proposal, 2)
    assert (found is proposal) != beside
    assert found.checked == checked


def test_the_youngest_prompt_gives_its_pages_up():
    from truedraw.generate.sample import Turn

    evicted = []

    def job(number):
        root = SimpleNamespace(num_uncached=5, tokens=(), evict=lambda: evicted.append(number))
        return SimpleNamespace(root=root, prompt=(1,) * 9, first=number, remaining=1)

    crowd = Crowd(None, LIMITS, None, None)
    crowd.opened = [job(0), job(1)]
    turn = Turn([], [SimpleNamespace(sequence=each.root, count=4) for each in crowd.opened])
    assert crowd.make_room(turn)
    assert evicted == [1]
    assert [fill.sequence for fill in turn.fills] == [crowd.opened[0].root]


def test_a_prompt_that_has_pages_and_no_row_of_the_pass_gives_them_up_before_a_text_fails():
    given = []
    root = SimpleNamespace(num_uncached=5, tokens=(), evict=lambda: given.append("prompt"))
    crowd = Crowd(None, LIMITS, None, None)
    crowd.opened = [SimpleNamespace(root=root, prompt=(1,) * 9, first=1, remaining=2)]
    crowd.running = [SimpleNamespace(number=0)]
    turn = Turn([*crowd.running])
    assert crowd.make_room(turn)
    assert (given, turn.samples) == (["prompt"], crowd.running)
    root.num_uncached = 9  # nothing of it is computed
    assert not crowd.make_room(turn)


def test_while_pages_are_short_no_prompt_is_computed_beside_texts():

    crowd = Crowd(None, LIMITS, None, None)
    crowd.opened = [SimpleNamespace(root="root", first=3)]
    crowd._full = True
    assert crowd.prompts() == [(3, "root")]
    crowd.running = [object()]
    assert crowd.prompts() == []
    crowd._full = False
    assert crowd.prompts() == [(3, "root")]


def test_while_who_gave_up_its_pages_has_no_room_no_prompt_takes_any():
    """Somebody has left, and that was not enough."""
    crowd = Crowd(SimpleNamespace(fits=lambda *_: False), LIMITS, None, None)
    crowd.running, crowd.evicted = ([SimpleNamespace(number=n, sequence="text")] for n in range(2))
    crowd.opened = [SimpleNamespace(root=SimpleNamespace(num_uncached=1), first=3)]
    crowd.admit()
    assert crowd.prompts() == []


def test_a_pass_over_prompts_is_paid_by_their_shares():

    every = Jobs(None, LIMITS, None)
    jobs = [SimpleNamespace(root=SimpleNamespace(), first=n, fill_seconds=0.0) for n in range(2)]
    every._crowd.opened = jobs
    fills = [SimpleNamespace(sequence=job.root, count=count) for job, count in zip(jobs, (30, 10), strict=True)]
    every._charge(Turn([], fills, rows=40, engine_seconds=8.0))
    assert [job.fill_seconds for job in jobs] == [6.0, 2.0]


def test_a_pass_that_has_brought_rounds_is_paid_by_those_alone():
    every = Jobs(None, LIMITS, None)
    job = SimpleNamespace(root=SimpleNamespace(), first=0, fill_seconds=0.0, rounds=[])
    every._crowd.opened, every._crowd.jobs = [job], {0: job}
    every._turn = Turn([], [SimpleNamespace(sequence=job.root, count=4)], rows=8, engine_seconds=8.0)
    every.collect([SimpleNamespace(sample=0, tokens=(1,))])
    assert job.fill_seconds == 0.0


@pytest.mark.parametrize("line", range(2))
def test_an_interruption_while_rounds_are_entered_loses_none_and_repeats_none(line):
    """Several of a text may have come at once; it comes before one is entered, or right behind that."""

    class Interrupted(list):
        def append(self, done):
            stops = len(self) == 1 and not interruptions
            if not (stops and line == 0):
                super().append(done)
            if stops:
                interruptions.append(done)
                raise KeyboardInterrupt

    every, interruptions = Jobs(None, LIMITS, None), []
    jobs = [SimpleNamespace(rounds=Interrupted() if not number else []) for number in range(2)]
    every._crowd.jobs = dict(enumerate(jobs))
    done = [SimpleNamespace(sample=number % 2, tokens=(1, 2)) for number in range(6)]
    with pytest.raises(KeyboardInterrupt):
        every.rescue(done)
    every.enter_held()
    assert [job.rounds for job in jobs] == [done[::2], done[1::2]]


def test_what_was_drawn_waits_for_its_pass_whatever_rows_are_known():
    trail = SimpleNamespace(cold=False, scores=lambda: "known")
    drawn, other = (SimpleNamespace(number=n, trail=trail, proposal=each) for n, each in enumerate((NOTHING, None)))
    assert KnownRows().turn([drawn], prompts_wait=False) is None
    assert KnownRows().turn([drawn, other], prompts_wait=False).samples == [other]


def test_a_text_that_was_begun_before_pays_for_the_passes_that_compute_it_alone():
    every = Jobs(None, LIMITS, None)
    job, text = SimpleNamespace(fill_seconds=0.0), SimpleNamespace()
    every._crowd.running, every._crowd.jobs = [SimpleNamespace(number=4, sequence=text)], {4: job}
    for _ in range(2):
        every._charge(Turn([], [SimpleNamespace(sequence=text, count=30)], rows=40, engine_seconds=8.0))
    assert job.fill_seconds == 12.0


def test_the_longest_text_of_a_job_is_one_that_runs_or_one_to_come():
    start = Start(None, None, SimpleNamespace(room=5))
    job, text = Job((1, 2, 3), None, [start] * 2), SimpleNamespace(tokens=[0] * 6)
    assert job.most_tokens == 8
    job.begun, job.live = 1, [SimpleNamespace(sequence=text, ending=SimpleNamespace(room=1))]
    assert job.most_tokens == 8
    job.live[0].ending.room = 4
    assert job.most_tokens == 10
    job.begun, job.live = 2, []
    assert job.most_tokens == 0


def test_a_job_that_has_to_wait_after_all_has_not_begun():
    closed = []
    job = Job((1, 2, 3), SimpleNamespace(drafter=None), [])
    job.open(SimpleNamespace(open=lambda prompt: SimpleNamespace(close=lambda: closed.append(prompt))), None)
    assert job.opened_at is not None
    job.postpone()
    assert (closed, job.root, job.seconds) == ([(1, 2, 3)], None, 0.0)
    job.root, job.fresh = (SimpleNamespace(close=partial(closed.append, name)) for name in "ab")
    job.drop()
    assert (closed[1:], job.root, job.fresh) == (["a", "b"], None, None)


def test_who_takes_a_job_out_again_leaves_nothing_of_it():
    class TakenOut(deque):
        def remove(self, job):
            if job == "out":
                self.clear()
            super().remove(job)

    queue, place = TakenOut(["in", "out"]), {}
    assert (moved(queue, place), place) == (["in"], {"in": None})


class Waits:
    """A job whose prompt is not computed."""

    def __init__(self, first, prompt=(1,) * 20):
        self.first, self.prompt, self.remaining = first, prompt, 2
        self.root = SimpleNamespace(num_uncached=20, tokens=[*prompt])

    def open(self, engine, computed):
        return self.root

    def is_ready(self, shared):
        return False


def test_who_lets_others_pass_keeps_a_place_before_them():
    crowd, jobs = Crowd(SimpleNamespace(fits=lambda *_: True), LIMITS, None, None), [Waits(n) for n in range(3)]
    for job in jobs:
        crowd.join(job)
    for number in (1, 2, 0):
        assert crowd._open(jobs[number])
    assert crowd.opened == jobs


def test_nobody_waits_for_a_prompt_that_is_not_the_own():
    crowd, other, twin, job = Crowd(None, LIMITS, None, None), Waits(0, (2,) * 20), Waits(1), Waits(2)
    crowd.join(twin)
    crowd.join(job)
    crowd.opened = [other]
    assert not crowd._is_begun(job)
    crowd.opened = [other, twin]
    assert crowd._is_begun(job)


def test_as_many_begin_at_once_as_may_run():
    with load("tabular") as model, model.batch(max_running=12) as batch:
        runs = [batch.add("the cat", max_tokens=5, seed=seed, ignore_eos=True) for seed in range(14)]
        batch.step()
        assert [run.result().stats.tokens for run in runs] == [1] * 12 + [0] * 2


def test_room_is_looked_for_beside_what_the_others_need_next():
    seen = []
    crowd, opened = Crowd(SimpleNamespace(fits=lambda *all_: seen.append(all_) or True), LIMITS, None, None), Waits(1)
    crowd.running, crowd.opened = [SimpleNamespace(sequence="a")], [opened]
    assert crowd._fits("b")
    ((works, fills),) = seen
    assert [work.sequence for work in works] == ["a", "b"]
    assert [(fill.sequence, fill.count) for fill in fills] == [(opened.root, 19)]


@pytest.mark.parametrize("place", [0, 9])
def test_a_text_that_gave_up_its_pages_is_computed_in_the_order_of_arrival(place):
    text, prompt = (SimpleNamespace(num_uncached=50) for _ in range(2))
    turn = plan([SimpleNamespace(number=place, sequence=text)], [(5, prompt)], LIMITS._replace(max_rows=1))
    assert [fill.sequence is text for fill in turn.fills] == [place < 5]


def test_a_late_call_for_texts_of_one_request_ends_its_drafting():
    calls = Calls(1.0)
    shared = SharedDrafter(Telling(), calls)
    guard = shared.guard(9)
    states = [guard.open([number], None) for number in range(2)]
    seconds = iter([9.0, 0.0, 0.0])  # of the call, and of looking at what it gave
    calls.timed = lambda act: (act(), next(seconds))
    assert [len(each) for each in shared.propose(states, [1, 1], [*"ab"])] == [1, 1]
    assert guard.fault is not None


def test_what_no_call_may_reach_any_more_is_shared_no_more(monkeypatch):
    shared, speculation, made = shared_of(monkeypatch)
    drafts = SimpleNamespace(vocab_size=9, auto_sources=())
    asked = []
    for _ in range(3):
        guard, each = shared.drafters(speculation("ngram"), SimpleNamespace(coupled=True), drafts)
        guard.close()
        asked.append(each)
        each.calls = SimpleNamespace(is_usable=len(asked) != 2, timed=lambda act: (act(), 0.0))
    assert asked[0] is asked[1] is not asked[2]
    assert [each.closed for each in made] == [1, 0]


@pytest.mark.parametrize("place", ["added", "waiting", "opened"])
def test_whoever_waits_is_counted_where_more_may_be_taken_in(place):
    every = Jobs(None, LIMITS._replace(max_running=AHEAD + 2), None)
    queue = every.added if place == "added" else getattr(every._crowd, place)
    for number in range(AHEAD):
        assert (every.num_unfinished, every.is_hungry) == (2 * number, True)
        queue.append(SimpleNamespace(remaining=2))
    assert (every.num_unfinished, every.is_hungry) == (2 * AHEAD, False)
    queue[0].remaining = queue[1].remaining = queue[2].remaining = 1
    assert every.is_hungry  # fewer samples than may run
    every._crowd.evicted.append(object())
    assert (every.num_unfinished, every.is_hungry) == (AHEAD + 2, False)


def known_to(*served):
    """Samples, whose rows are known or not."""
    trails = [SimpleNamespace(cold=False, scores=lambda found=found: "known" if found else None) for found in served]
    return [SimpleNamespace(number=number, trail=trail, proposal=None) for number, trail in enumerate(trails)]


@pytest.mark.parametrize(("others", "prompts"), [((False,), False), ((), True)])
def test_who_has_no_row_waits_for_so_many_turns_and_then_anew(others, prompts):
    rows, samples = KnownRows(), known_to(True, *others)
    for _ in range(2):
        assert all(rows.turn(samples, prompts).samples == samples[:1] for _ in range(IN_A_ROW))
        assert rows.turn(samples, prompts) is None


def test_where_nobody_waits_rows_that_are_known_need_no_pass():
    rows, samples = KnownRows(), known_to(True)
    assert all(rows.turn(samples, prompts_wait=False).samples == samples for _ in range(2 * IN_A_ROW))


def test_who_had_no_row_is_asked_again_behind_a_pass_and_not_before():
    rows, (known, other) = KnownRows(), known_to(True, False)
    rows.turn([known, other], prompts_wait=False)
    other.trail.scores = lambda: "known"
    assert rows.turn([known, other], prompts_wait=False).samples == [known]
    assert rows.turn([], prompts_wait=False) is None
    assert rows.turn([known, other], prompts_wait=False).samples == [known, other]


@pytest.mark.parametrize(("rows", "rides"), [(NEAR, True), (NEAR + 1, False)])
def test_a_text_that_lacks_few_rows_is_in_any_pass(rows, rides):
    older = SimpleNamespace(number=0, sequence=SimpleNamespace(num_uncached=50))
    sample = SimpleNamespace(number=1, sequence=SimpleNamespace(num_uncached=rows))
    turn = plan([older, sample], [], LIMITS._replace(max_rows=10, fill_rows=10))
    assert (turn.samples == [sample]) is rides
    assert [(fill.sequence, fill.count) for fill in turn.fills][:1] == [(older.sequence, 10 if rides else 5)]


def test_a_job_waits_in_vain_for_nobody():
    """Those before it in the queue could not begin, more of them than are looked at in one step."""
    with load("tabular") as model, model.batch(max_running=1) as batch:
        runs = [batch.add("the cat sat", max_tokens=5, seed=i, ignore_eos=True) for i in range(14)]
        opened, calls = model.engine.open, []
        model.engine.open = lambda prompt: calls.append(1) or (opened(prompt) if len(calls) > 12 else 1 / 0)
        assert sum(len(done.tokens) for each in runs[-1] for done in each) == 5
        assert [run.error is None for run in runs] == [False] * 12 + [True] * 2


def test_a_batch_closed_while_a_request_is_prepared_holds_nothing(monkeypatch):
    made = []

    class Notes(NgramDrafter):
        def __init__(self):
            super().__init__()
            self.closed = 0
            made.append(self)

        def close(self):
            self.closed += 1

    monkeypatch.setitem(BUILT_IN["drafters"], "notes", "notes_here:Notes")
    monkeypatch.setitem(sys.modules, "notes_here", SimpleNamespace(Notes=Notes))
    with load("tabular") as model:
        batch, wish = model.batch(), model.wish
        model.wish = lambda *given, **named: (wish(*given, **named), batch.close())[0]
        with pytest.raises(BadInput, match="closed"):
            batch.add("the cat", speculative="notes", max_tokens=3)
    assert made[-1].closed == 1  # the one before was made to check the settings


@pytest.mark.parametrize(("remaining", "opens"), [(15, True), (16, False)])
def test_no_prompt_is_computed_where_all_places_are_claimed(remaining, opens):
    """By samples that run, and by all samples of jobs whose prompts are computed."""
    crowd = Crowd(None, LIMITS._replace(max_running=AHEAD * 15 + 2), None, None)
    crowd.running = [SimpleNamespace(number=0)]
    crowd.opened = [SimpleNamespace(remaining=remaining)] * AHEAD
    assert crowd._may_open() == opens


def test_who_had_to_wait_for_its_prompt_runs_in_its_place():
    """Or it would be the one that gives its pages up."""
    crowd, sample = Crowd(None, LIMITS, None, None), SimpleNamespace(number=1)
    crowd.shared = SimpleNamespace(keep=lambda job: None, is_wanted=lambda job: False)
    crowd.running = [SimpleNamespace(number=number) for number in (0, 5)]
    job = SimpleNamespace(remaining=1, is_ready=lambda shared: True)

    def begin(engine, cache):
        job.remaining = 0
        return sample

    job.begin = begin
    crowd._begin(job)
    assert [each.number for each in crowd.running] == [0, 1, 5]


def test_a_job_that_a_signal_handler_ends_while_it_ends_has_ended_once():
    every, calls = Jobs(None, LIMITS, None), []
    job = SimpleNamespace(ended_at=None)

    def drop(job):
        calls.append(job)
        if len(calls) == 1:
            every._finish(job)
            calls.append(job.ended_at)

    every._crowd.drop = drop
    every._finish(job)
    assert list(every.ended) == [job]
    assert calls == [job, job, job.ended_at]


def test_when_all_ends_each_does_in_order_and_what_is_kept_of_prompts_is_let_go():
    """Whatever goes wrong with one of them."""
    every, ended = Jobs(None, LIMITS, None), []
    jobs = [Job((1, 2), None, (), first=number) for number in range(3)]

    def drop(job):
        ended.append(job.first)
        if job.first == 1:
            raise BadInput("it is stuck")

    every._open, every._crowd.drop = dict.fromkeys(jobs), drop
    every._crowd.shared = SimpleNamespace(clear=lambda: ended.append("prompts"))
    with pytest.raises(BadInput, match="stuck"):
        every.end_all()
    assert ended == [0, 1, 2, "prompts"]
