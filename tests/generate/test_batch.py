"""Requests in a batch: errors stay with their own request, many requests stream through, the best of some are kept."""

from __future__ import annotations

import gc
import threading
from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import pytest

from generate.interruptions import between_once, interrupted
from generate.paged_table import toy
from truedraw import Model, SamplingParams
from truedraw.control.fixed import FixedController
from truedraw.draft.none import NoDrafter, NoState
from truedraw.engine.logits_cache import LogitsCacheUse
from truedraw.errors import BadInput, BadParameter, BadPrompt, BadProposal, TruedrawError
from truedraw.generate.generation import INTERRUPTED, Generation, best_first
from truedraw.generate.request import Request
from truedraw.generate.sample import Parts
from truedraw.generate.shared_drafters import SharedDrafter
from truedraw.protocol import Proposal
from truedraw.stats.check.planted import BUGS, PlantedVerifier
from truedraw.stats.evalue import ExactnessWatch
from truedraw.verify.coupled import CoupledVerifier

LONG = {"max_tokens": 30, "ignore_eos": True, "speculative": False}


@pytest.fixture
def model() -> Model:
    return toy()


def with_parts(run: Generation, **changes) -> Generation:
    """The same run with parts of somebody else's."""
    run._job.parts = replace(run._job.parts, **changes)
    return run


class Raising:
    """A drafter that does something wrong in its third round."""

    def __init__(self, where: str) -> None:
        self.where, self.calls = where, 0

    def open(self, tokens, law):
        if self.where == "open":
            raise RuntimeError("open")
        return self

    def propose(self, states, budgets, randomness):
        self.calls += 1
        if self.calls > 2 and self.where == "propose":
            raise RuntimeError("propose")
        if self.calls > 2 and self.where == "law":
            raise BadProposal("law")
        if self.calls > 2 and self.where == "count":
            return []
        return [Proposal.chain([1]) for _ in states]

    def commit(self, tokens, scores):
        if self.calls > 2 and self.where == "commit":
            raise RuntimeError("commit")


class RaisingVerifier(CoupledVerifier):
    def __call__(self, proposal, rows, randomness, position):
        if position > 4:
            raise ZeroDivisionError("verify")
        return super().__call__(proposal, rows, randomness, position)


def raising_observer(sample, proposal, rows, verdict):
    raise KeyError("observe")


@pytest.mark.parametrize("where", ["open", "propose", "law", "count", "commit"])
def test_a_drafter_that_raises_ends_its_own_job_only(model: Model, where: str) -> None:
    with model.batch() as batch:
        before = batch.add("the cat", seed=1, n=2, **LONG)
        steady = Parts(Raising(where), CoupledVerifier(), controller=FixedController(2))
        bad = batch.add("the dog", seed=1, n=2, **LONG)
        bad._job.parts = steady
        after = batch.add("the cat", seed=2, **LONG)
        assert set(batch.completed()) == {before, bad, after}
    assert isinstance(bad.error, TruedrawError)
    whole = toy().generate("the dog", seed=1, n=2, **LONG)
    for choice, expected in zip(bad.result().choices, whole.choices, strict=True):
        assert expected.text.startswith(choice.text)
        assert choice.finish_reason == "interrupted"
    for run, settings in ((before, {"seed": 1, "n": 2}), (after, {"seed": 2})):
        assert run.error is None
        assert run.result().choices[0].text == toy().generate("the cat", **settings, **LONG).choices[0].text
    assert model.engine.open_texts == []


@pytest.mark.parametrize("parts", [{"verifier": RaisingVerifier()}, {"observer": raising_observer}])
def test_a_verifier_or_observer_that_raises_ends_its_own_job_only(model: Model, parts) -> None:
    with model.batch() as batch:
        bad = with_parts(batch.add("the cat", seed=1, n=2, **LONG), **parts)
        good = batch.add("the cat", seed=1, n=2, **LONG)
        assert set(batch.completed()) == {bad, good}
    assert good.error is None
    assert good.result().stats.tokens == 60
    assert bad.error is not None
    assert bad.error.__cause__ is not None
    with pytest.raises(TruedrawError, match=r"verify|observe"):
        for _ in bad:
            pass


def test_what_the_law_leaves_nothing_of_ends_its_own_job_only(model: Model) -> None:
    with model.batch() as batch:
        bad = batch.add("the", seed=1, bad_words=[(1,), (2,)], **LONG)
        good = batch.add("the", seed=1, **LONG)
        assert set(batch.completed()) == {bad, good}
    assert isinstance(bad.error, BadParameter)
    assert good.result().stats.tokens == 30
    with pytest.raises(BadParameter, match="bad_words"):
        model.generate("the", seed=1, bad_words=[(1,), (2,)], **LONG)


def test_an_engine_that_breaks_ends_those_in_the_pass_and_hangs_nobody(model: Model) -> None:
    works = model.engine.forward

    def breaks(*args):
        model.engine.forward = works
        raise RuntimeError("the machine is on fire")

    with model.batch(max_running=2) as batch:
        runs = [batch.add("the cat", seed=i, **LONG) for i in range(7)]
        batch.step()
        model.engine.forward = breaks
        assert list(batch.completed()) == runs
    assert [run.error is None for run in runs] == [False] * 6 + [True]  # two run, four are computed ahead
    assert "on fire" in str(runs[0].error)
    assert runs[6].result().stats.tokens == 30
    assert model.engine.open_texts == []


def test_what_drafts_a_text_is_closed_with_it_though_its_request_goes_on(model: Model) -> None:
    states = []

    class Held(NoState):
        def __init__(self) -> None:
            self.closed = 0
            states.append(self)

        def close(self) -> None:
            self.closed += 1

    drafter = NoDrafter()
    drafter.open = lambda *_: Held()  # type: ignore[method-assign]
    with model.batch(max_running=1) as batch:
        run = batch.add("the cat", n=2, seed=1, ignore_eos=True, max_tokens=3)
        run._job.parts = Parts(drafter, CoupledVerifier(), controller=FixedController(2))
        while len(states) < 2:
            batch.step()
        assert [each.closed for each in states] == [1, 0]
        assert list(batch.completed()) == [run]
    assert [each.closed for each in states] == [1, 1]


def test_an_engine_that_breaks_is_no_error_of_those_who_have_ended(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model.batch() as batch:
        short, long = (batch.add("the cat", seed=1, ignore_eos=True, max_tokens=tokens) for tokens in (2, 9))
        while not short.ended:
            batch.step()
        monkeypatch.setattr(model.engine, "forward", lambda *_: 1 / 0)
        assert set(batch.completed()) == {short, long}
        assert not batch._scheduler.jobs._crowd.jobs
        assert not batch._scheduler.jobs._open
    assert (short.error is None, long.error is None) == (True, False)


def test_an_interruption_from_the_keyboard_frees_everything(model: Model) -> None:
    batch = model.batch()
    run = batch.add("the cat", seed=1, **LONG)
    batch.step()

    def interrupted(*args):
        raise KeyboardInterrupt

    model.engine.forward = interrupted
    with pytest.raises(KeyboardInterrupt):
        batch.step()
    assert run.ended
    assert run.result().stats.tokens == 1
    assert model.engine.open_texts == []


def test_an_interruption_behind_a_pass_loses_none_of_its_rounds(model: Model, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    batch = model.batch()
    run = batch.add("the cat", seed=1, **LONG)
    monkeypatch.setattr(batch._scheduler.jobs, "collect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.step()
    assert run.ended
    assert run.result().stats.tokens == len(run.result().choices[0].tokens) == 1
    assert run.result().text


def test_others_may_add_and_cancel_from_their_threads(model: Model) -> None:
    runs: list[Generation] = []
    with model.batch(max_running=5) as batch:
        first = batch.add("the cat", seed=0, max_tokens=300, ignore_eos=True)

        def talk() -> None:
            for seed in range(40):
                runs.append(batch.add("the dog", seed=seed, n=2, **LONG))
                if seed % 4 == 0:
                    runs[-1].cancel()

        thread = threading.Thread(target=talk)
        thread.start()
        seen = []
        while thread.is_alive() or batch.num_unfinished or not seen:
            seen += list(batch.completed())
        thread.join()
        seen += list(batch.completed())
    assert {id(run) for run in seen} == {id(run) for run in (first, *runs)}
    for seed, run in enumerate(runs):
        if seed % 4:
            assert run.result().choices[0].tokens == toy().generate("the dog", seed=seed, n=2, **LONG).choices[0].tokens


def test_many_requests_are_pulled_as_room_becomes_free(model: Model) -> None:
    pulled, open_at_most = [], 0

    def requests():
        for number in range(400):
            pulled.append(number)
            yield Request("the cat", {"seed": number, "max_tokens": 3, "n": 1 + number % 2}, False, key=number)

    done = {}
    for request, result in model.generate_many(requests(), max_running=8):
        done[request.key] = result
        open_at_most = max(open_at_most, len(pulled) - len(done))
    assert sorted(done) == list(range(400))
    assert open_at_most <= 8 + 8 + 4  # those that run, those that ended in the same pass, those that come next
    for number in (0, 7, 399):
        expected = model.generate("the cat", seed=number, max_tokens=3, n=1 + number % 2, speculative=False)
        assert [c.tokens for c in done[number].choices] == [c.tokens for c in expected.choices]


def test_a_bad_request_has_its_error_beside_it(model: Model) -> None:
    requests = [
        Request("the cat", {"seed": 1}, key="good"),
        Request("", key="empty"),
        Request("the", {"temperature": -1}, key="cold"),
        Request("the", {"tempreature": 1}, key="unknown"),
        Request("the", {"n": 3, "best_of": 2}, key="best"),
        Request("the", {"bad_words": [(1,), (2,)], "seed": 1}, key="nothing left"),
        Request("the", {}, {"method": "psychic"}, key="method"),
        Request("the dog", {"seed": 2}, key="good too"),
    ]
    found = {request.key: result for request, result in model.generate_many(requests)}
    assert len(found) == len(requests)
    assert isinstance(found["empty"], BadPrompt)
    for key in ("cold", "unknown", "best", "nothing left", "method"):
        assert isinstance(found[key], TruedrawError)
    assert found["good"].text == model.generate("the cat", seed=1).text
    assert found["good too"].text == model.generate("the dog", seed=2).text


def test_a_request_whose_prompt_was_an_iterator_can_be_given_again(model: Model) -> None:
    request = Request(iter([0, 1]), {"max_tokens": 2, "seed": 1})
    assert request == Request([0, 1], {"max_tokens": 2, "seed": 1})
    assert [result.prompt_tokens for _, result in model.generate_many([request, request])] == [(0, 1)] * 2


def test_leaving_early_frees_everything(model: Model) -> None:
    stream = model.generate_many(Request("the cat", {"seed": i}) for i in range(10**9))
    next(stream)
    stream.close()
    assert model.engine.open_texts == []


@pytest.mark.parametrize("speculative", [False, None])
def test_the_best_of_some(model: Model, speculative) -> None:
    settings = {"seed": 5, "max_tokens": 12, "ignore_eos": True, "speculative": speculative}
    every = model.generate("the cat", n=7, **settings)
    best = model.generate("the cat", n=3, best_of=7, **settings)
    score = {choice.index: sum(choice.logprobs) / len(choice.logprobs) for choice in every.choices}
    order = sorted(score, key=lambda index: -score[index])
    assert [choice.index for choice in best.choices] == order[:3]
    assert [choice.text for choice in best.choices] == [every.choices[index].text for index in order[:3]]
    assert best.stats.tokens == every.stats.tokens
    run = model.start("the cat", n=3, best_of=7, **settings)
    streamed: dict[int, str] = {}
    for piece in run.pieces():
        streamed[piece.sample] = streamed.get(piece.sample, "") + piece.text
    assert list(streamed.items()) == [(choice.index, choice.text) for choice in best.choices]


def test_a_sample_that_was_interrupted_is_never_the_best(model: Model) -> None:
    ended = model.generate("the cat", seed=1, max_tokens=3).choices[0]
    likelier = replace(ended, logprobs=(0.0,), finish_reason=INTERRUPTED)
    assert best_first([likelier, ended]) == [ended, likelier]


def test_best_of_is_checked(model: Model) -> None:
    for bad in (2, 0, -1, 1.5, "4", True):
        with pytest.raises(BadParameter, match="best_of"):
            SamplingParams(n=3, best_of=bad)
    assert SamplingParams(n=3, best_of=3).num_drawn == 3
    assert [c.index for c in model.generate("the", n=3, best_of=3, seed=1).choices] == [0, 1, 2]


def test_a_cache_that_is_off_was_never_used(model: Model) -> None:
    with model.batch(logits_cache_bytes=0) as batch:
        batch.add("the cat", n=4, seed=1)
        assert len(list(batch.completed())) == 1
        assert batch.logits_cache_use == LogitsCacheUse(0, 0, 0, 0, 0, 0)


DRAFTED = {"adaptive": False, "num_speculative_tokens": 2, "prompt_lookup_min": 1}


def test_a_watch_sees_a_normal_run_and_stays_calm(model: Model) -> None:
    """It bets on every drafted place but those whose token could be no other."""
    watch, drafted, uncertain = ExactnessWatch(), 0, 0

    def observer(sample, proposal, rows, verdict):
        nonlocal drafted, uncertain
        watch(sample, proposal, rows, verdict)
        places = range(min(len(proposal.tokens), len(verdict.tokens)))
        drafted += len(places)
        uncertain += sum(rows[place].max() < 1.0 for place in places)

    run = model.start(
        "the cat sat", n=4, seed=3, max_tokens=200, ignore_eos=True, speculative=DRAFTED, observer=observer
    )
    stats = [r for step in run for r in step]
    assert drafted >= sum(min(r.drafted, r.accepted + 1) for r in stats) > 400
    assert watch.evidence.count == uncertain > drafted / 2
    assert not watch.evidence.alarm(0.001)


def test_a_watch_raises_the_alarm_over_a_biased_rule(model: Model) -> None:
    bug = next(bug for bug in BUGS if bug.name == "draft kept where it is the argmax")
    watch = ExactnessWatch()
    with model.batch() as batch:
        run = batch.add(
            "the cat sat", n=4, seed=3, max_tokens=300, ignore_eos=True, speculative=DRAFTED, observer=watch
        )
        with_parts(run, verifier=PlantedVerifier(bug))
        assert list(batch.completed()) == [run]
    assert run.error is None
    assert watch.evidence.alarm(1e-6)


def test_requests_that_draft_alike_are_asked_in_one_call(model: Model) -> None:
    """And one whose drafts cannot be believed loses its drafter alone."""
    calls = []

    class Grumpy:
        def open(self, tokens, law):
            return type("State", (), {"commit": lambda self, tokens, scores: None, "text": tuple(tokens)})()

        def propose(self, states, budgets, randomness):
            calls.append(len(states))
            if any(state.text[-1] == 2 for state in states) and len(calls) > 2:
                raise RuntimeError("no dogs")
            return [Proposal.chain([1]) for _ in states]

    shared = SharedDrafter(Grumpy())
    with model.batch() as batch:
        runs = [batch.add(f"the {word}", seed=1, **LONG) for word in ("cat", "dog", "cat")]
        for run in runs:
            parts = Parts(shared.guard(6), CoupledVerifier(), asked=shared, controller=FixedController(1))
            run._job.parts = parts
        assert set(batch.completed()) == set(runs)
    assert calls[:2] == [3, 3]
    assert calls[2:6] == [3, 1, 1, 1]
    assert set(calls[6:]) == {2}
    assert [run.result().fallback is None for run in runs] == [True, False, True]
    assert "no dogs" in runs[1].result().fallback
    for run, word in zip(runs, ("cat", "dog", "cat"), strict=True):
        assert run.result().text == toy().generate(f"the {word}", seed=1, **LONG).text


def test_a_shared_drafter_is_closed_after_its_last_request() -> None:
    closed = []

    class Drafter:
        def close(self):
            closed.append(self)

    drafter = Drafter()
    shared = SharedDrafter(drafter)
    guards = [shared.guard(6), shared.guard(6)]
    guards[0].close()
    guards[0].close()
    shared.retire()
    assert not closed
    guards[1].close()
    assert closed == [drafter]


def test_requests_of_a_batch_share_what_they_write(model: Model) -> None:
    """A suffix index; requests with other settings have one of their own."""
    with model.batch(max_running=1) as batch:
        specs = ["suffix", "suffix", {"method": "suffix", "num_speculative_tokens": 3}, False, False]
        runs = [batch.add("the cat", seed=i, max_tokens=5, speculative=spec) for i, spec in enumerate(specs)]
        asked = [run._job.parts.asked for run in runs]
        assert asked[0] is asked[1]
        assert asked[0] is not asked[2]
        assert asked[3] is not asked[4]
        assert len({id(run._job.parts.drafter) for run in runs}) == len(runs)


@pytest.mark.parametrize("params", [{"n": 1 << 17}, {"max_tokens": "2"}, {"temperature": 10**5000}, {"prompts": 1}])
def test_a_request_of_an_unexpected_kind_has_its_error_beside_it(params) -> None:
    bad, good = Request("the", params, key="bad"), Request("the", {"max_tokens": 2}, key="good")
    found = {request.key: what for request, what in toy().generate_many([bad, good])}
    assert isinstance(found["bad"], BadInput)
    assert found["good"].choices[0].tokens


@pytest.mark.parametrize(
    ("params", "words"),
    [({"speculative": False}, "speculative: "), ({"prompt": "b"}, "prompt: "), ({"observer": 3}, "observer: "),
     ({1: 2}, "the key 1"), ([("n", 2)], "params: got")],
)  # fmt: skip
def test_a_request_whose_params_are_none_cannot_be_made(params, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        Request("the", params)


def test_an_error_before_anybody_runs_ends_those_who_wait(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("nobody can be let in")

    with model.batch() as batch:
        monkeypatch.setattr(batch._scheduler.jobs._crowd, "admit", broken)
        runs = [batch.add("the cat"), batch.add("the dog")]
        assert set(batch.completed()) == set(runs)
        assert all("nobody can be let in" in str(run.error) for run in runs)


def test_a_closed_batch_takes_nothing_more(model: Model) -> None:
    with model.batch() as batch:
        before = batch.add("the", max_tokens=3)
        assert list(batch.completed()) == [before]
    with pytest.raises(BadInput, match="batch is closed"):
        batch.add("the", max_tokens=3)
    assert not batch.step()
    assert batch.num_unfinished == 0
    batch.close()  # once more does no harm


def test_an_interruption_closes_the_batch(model: Model) -> None:
    batch = model.batch()
    batch.add("the cat", seed=1, **LONG)

    def interrupted(*args):
        raise KeyboardInterrupt

    model.engine.forward = interrupted
    with pytest.raises(KeyboardInterrupt):
        batch.step()
    with pytest.raises(BadInput, match="batch is closed"):
        batch.add("the", max_tokens=3)


WHERE_TEXTS_END = (
    "batch.py", "scheduler.py", "jobs.py", "crowd.py", "job.py", "ending.py", "reader.py", "taking_turns.py",
)  # fmt: skip


@pytest.mark.parametrize("act", ["close", "complete"])
def test_what_an_interruption_leaves_closing_once_more_frees(act: str) -> None:
    """Wherever it comes while texts end, by themselves or because the batch is closed."""
    for place in count():
        model = toy()
        batch = model.batch(max_running=3)
        runs = [batch.add("the cat", seed=seed, n=2, max_tokens=2, ignore_eos=True, speculative=False)
                for seed in range(3)]  # fmt: skip
        batch.step()
        do = batch.close if act == "close" else partial(list, batch.completed())
        more = interrupted(do, place, *WHERE_TEXTS_END)
        batch.close()
        assert model.engine.open_texts == [], place
        assert all(run.ended for run in runs), place
        assert batch.num_unfinished == 0
        assert len(set(batch._scheduler.jobs.ended)) == len(batch._scheduler.jobs.ended)
        if not more:
            break
    assert place > 30


def test_a_part_that_cannot_be_closed_keeps_nothing_from_being_freed(model: Model) -> None:
    class Stuck(Raising):
        def close(self) -> None:
            raise RuntimeError("it is stuck")

    batch = model.batch()
    runs = [batch.add("the cat", seed=seed, **LONG) for seed in range(3)]
    runs[1]._job.parts = Parts(Stuck(""), CoupledVerifier(), controller=FixedController(1))
    batch.step()
    batch.close()
    assert model.engine.open_texts == []
    assert [run.ended for run in runs] == [True] * 3
    assert [run.error is None for run in runs] == [True, False, True]
    assert "it is stuck" in str(runs[1].error)


@pytest.mark.parametrize("held", [0, 1, 2])
def test_a_batch_that_nobody_holds_gives_everything_back(model: Model, held: int) -> None:
    batch = model.batch()
    runs = [batch.add("the cat", seed=seed, n=2, **LONG) for seed in range(2)]
    for _ in range(4):
        batch.step()
    seen, runs = [run.result().choices[0].tokens for run in runs], runs[:held]
    assert model.engine.open_texts != []
    del batch
    gc.collect()
    assert model.engine.open_texts == []
    for run, tokens in zip(runs, seen, strict=False):
        assert run.ended
        assert run.result().choices[0].tokens == tokens != ()
        assert [done for step in run for done in step if done.sample == 0]


def test_the_drafter_of_a_run_that_never_began_is_closed(model: Model) -> None:
    closed = []
    drafter = NoDrafter()
    drafter.close = lambda: closed.append(0)  # type: ignore[attr-defined]
    run = with_parts(model.start("the cat", **LONG), drafter=drafter)
    assert not closed
    del run
    gc.collect()
    assert closed == [0]


def test_the_drafters_of_a_batch_that_nobody_holds_are_closed(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    retired: list[SharedDrafter] = []
    monkeypatch.setattr(SharedDrafter, "retire", lambda shared: retired.append(shared))  # noqa: PLW0108 # a method
    batch = model.batch()
    batch.add("the cat", seed=1, max_tokens=30, speculative="suffix")
    batch.step()
    [(*_, shared)] = batch._drafters._shared
    assert retired == []
    del batch
    gc.collect()
    assert retired == [shared]
    assert shared._begun == shared._ended == 1


@pytest.mark.parametrize("size", [-1, 1.5, "64M", True, None])
def test_an_amount_of_memory_is_named_as_it_was_given(model: Model, size) -> None:
    with pytest.raises(BadParameter, match=r"logits_cache_bytes: got .* give a whole number, bytes"):
        model.batch(logits_cache_bytes=size)


def test_an_observer_must_be_callable(model: Model) -> None:
    with pytest.raises(BadParameter, match="observer: got 3"):
        model.start("the", observer=3)


def test_a_sample_of_each_request_is_found_by_its_own_number(model: Model) -> None:
    with model.batch() as batch:
        runs = [batch.add("the cat", seed=seed, n=2, **LONG) for seed in range(2)]
        assert len(list(batch.completed())) == 2
    assert [run.choice(1) for run in runs] == [run.result().choices[1] for run in runs]


@pytest.mark.parametrize("speculative", [False, "suffix"])
def test_tokens_are_counted_while_they_are_written(model: Model, speculative) -> None:
    with model.batch() as batch:
        batch.add("the cat sat the cat", seed=1, n=2, **LONG | {"speculative": speculative})
        seen = [batch.num_tokens]
        while batch.step():
            seen.append(batch.num_tokens)
    assert seen == sorted(seen)
    assert seen[0] == 0
    assert seen[-1] == 60
    assert len(set(seen)) > 10


class Interrupted(deque):
    """A queue in whose first moment of emptiness, or right after whose first entry, another thread does something."""

    def __init__(self, act, when: str) -> None:
        super().__init__()
        self.act, self.when = act, when

    def _now(self, when: str) -> None:
        act, self.act = (self.act, None) if when == self.when else (None, self.act)
        if act is not None:
            act()

    def __len__(self) -> int:
        found = super().__len__()
        if not found:
            self._now("empty")
        return found

    def popleft(self):
        found = super().__len__()
        if not found:
            self._now("empty")
            raise IndexError
        return super().popleft()

    def append(self, job) -> None:
        super().append(job)
        self._now("filled")


def test_what_another_thread_adds_and_cancels_at_once_writes_nothing(model: Model) -> None:
    """Even between the two looks of the thread that drives the batch, at what was added and at what was cancelled."""
    with model.batch() as batch:
        first = batch.add("the cat", seed=1, **LONG)
        batch.step()
        runs = []

        def act() -> None:
            runs.append(batch.add("the dog", seed=2, n=2, **LONG))
            runs[0].cancel()

        batch._scheduler.jobs.added = Interrupted(act, "empty")
        for _ in range(3):
            batch.step()
        assert runs[0].ended
        assert list(batch.completed()) == [runs[0], first]
    assert runs[0].result().stats.tokens == 0
    assert runs[0].error is None
    assert first.result().stats.tokens == 30
    assert model.engine.open_texts == []


def test_what_is_cancelled_before_it_is_added_is_not_begun(model: Model) -> None:
    with model.batch() as batch:
        scheduler, run = batch._scheduler, batch.add("the cat", seed=1, **LONG)
        job = scheduler.jobs.added.pop()
        run.cancel()
        assert not batch.step()
        scheduler.jobs.added.append(job)
        assert not batch.step()
        assert list(batch.finished()) == [run]
    assert run.result().stats.tokens == 0


def test_a_batch_that_is_closed_while_a_request_is_added(model: Model) -> None:
    """Just before the request is put in: it is refused. Just after: it has ended, or it is refused."""
    batch = model.batch()
    check, calls = batch._scheduler.check_open, []

    def closes() -> None:
        check()
        calls.append(0)
        if len(calls) == 2:  # the batch has looked, and so has its scheduler
            batch.close()

    batch._scheduler.check_open = closes
    with pytest.raises(BadInput, match="batch is closed"):
        batch.add("the cat", seed=1, **LONG)
    assert batch.num_unfinished == len(batch._open) == 0
    assert list(batch.finished()) == []

    batch = model.batch()
    batch._scheduler.jobs.added = Interrupted(batch.close, "filled")
    run = batch.add("the cat", seed=1, **LONG)
    assert run.ended
    assert batch.num_unfinished == 0
    assert list(batch.finished()) == [run]


@pytest.mark.parametrize("odd", [None, 1, "the cat"])
def test_what_is_no_request_ends_nothing(odd) -> None:
    good = [Request("the", {"max_tokens": 2}, key=name) for name in ("one", "two")]
    found = list(toy().generate_many([good[0], odd, good[1]]))
    errors = [what for request, what in found if request is odd]
    assert [type(error) for error in errors] == [BadInput]
    assert "Request" in str(errors[0])
    assert {request.key for request, _ in found if request is not odd} == {"one", "two"}


SHORT = {"max_tokens": 8, "ignore_eos": True, "speculative": False, "seed": 1}


@pytest.mark.parametrize("what", ["run", "batch"])
def test_what_closes_in_the_midst_of_a_pass_is_no_error_of_anybodys(model: Model, what: str) -> None:
    """An observer here, as a signal handler might."""
    batch = model.batch()
    runs = [batch.add(text, **SHORT, observer=lambda *_: close()) for text in ("the cat", "the dog")]

    def close() -> None:
        (batch if what == "batch" else runs[0]).close()

    assert len(list(batch.completed())) == 2
    assert [run.error for run in runs] == [None, None]
    assert runs[0].result().choices[0].finish_reason == "interrupted"
    assert runs[1].result().choices[0].finish_reason == ("interrupted" if what == "batch" else "length")
    batch.close()
    assert model.generate("the cat", **SHORT).text


@pytest.mark.parametrize("place", range(0, 400, 13))
def test_a_handler_closes_wherever_a_pass_is(model: Model, place: int) -> None:
    batch = model.batch()
    runs = [batch.add(text, **SHORT, n=2) for text in ("the cat", "the dog")]
    between_once(lambda: list(batch.completed()), place, batch.close)
    assert [run.error for run in runs] == [None, None]
    assert all(run.ended for run in runs)
    assert batch.num_unfinished == 0


def test_a_run_alone_that_is_closed_in_the_midst_of_its_pass(model: Model) -> None:
    run = model.start("the cat", **SHORT, observer=lambda *_: run.close())
    assert sum(len(done.tokens) for step in run for done in step) == 1
    assert run.error is None
    assert run.result().choices[0].finish_reason == "interrupted"


def test_what_another_thread_puts_off_in_the_midst_of_a_pass_is_done_behind_it(model: Model) -> None:
    done = []

    def watch(*_: object) -> None:
        thread = threading.Thread(target=model.turns.soon, args=[partial(done.append, 0)])
        thread.start()
        thread.join()
        assert not done

    with model.batch() as batch:
        run = batch.add("the cat", seed=1, observer=watch, **LONG)
        while not run.result().stats.tokens:
            batch.step()
        assert done == [0]
    assert run.error is None


def test_an_observer_that_begins_a_pass_harms_its_own_run_alone(model: Model) -> None:
    with model.batch() as batch:
        mine = batch.add("the dog", **SHORT, observer=lambda *_: batch.step())
        other = batch.add("the cat", **SHORT)
        assert len(list(batch.completed())) == 2
    assert isinstance(mine.error, BadInput)
    assert "in the midst of a pass" in str(mine.error)
    assert (other.error, other.result().choices[0].finish_reason) == (None, "length")


@pytest.mark.parametrize("what", ["generate", "stream", "batch"])
def test_an_observer_cannot_have_the_model_write_another_text(model: Model, what: str) -> None:
    """In the midst of a pass: the scores that the run is still to be judged by would be those of another text."""

    def write() -> None:
        if what == "generate":
            model.generate("the cat", **SHORT)
        elif what == "stream":
            list(model.stream("the cat", **SHORT))
        else:
            with model.batch() as batch:
                batch.add("the cat", **SHORT)
                list(batch.completed())

    run = model.start("the dog", **SHORT, observer=lambda *_: write())
    with pytest.raises(BadInput, match="in the midst of a pass"):
        list(run)
    assert model.generate("the cat", **SHORT).text


@pytest.mark.parametrize("place", range(0, 400, 13))
def test_a_handler_that_asks_for_a_text_changes_no_other(model: Model, monkeypatch, place: int) -> None:
    """An engine may give the scores of every pass in the same memory."""
    forward, memory = model.engine.forward, np.zeros((64, model.engine.vocab_size), np.float32)

    def in_one_place(works, fills=()):
        scores, first, found = forward(works, fills), 0, []
        for each in scores:
            rows = memory[first : first + len(each.logits)]
            rows[:] = each.logits
            first += len(rows)
            found.append(replace(each, logits=rows))
        return found

    monkeypatch.setattr(model.engine, "forward", in_one_place)
    ask = {**SHORT, "n": 3, "speculative": {"method": "suffix", "adaptive": False}}
    wanted = [choice.tokens for choice in model.generate("the cat", **ask).choices]

    def another() -> None:
        with suppress(BadInput):
            model.generate("the dog", **ask, logprobs=3)

    found = between_once(lambda: model.generate("the cat", **ask), place, another, "loop.py", "judging.py")
    assert [choice.tokens for choice in found.choices] == wanted


@pytest.mark.parametrize("given", [{"max_tokens": 3}, "x", 5])
def test_parameters_in_one_object_are_sampling_params(model: Model, given: object) -> None:
    for start in (model.generate, model.stream, model.start):
        with pytest.raises(BadParameter, match=r"params: got .*; give SamplingParams, or the parameters by name"):
            start("the cat", given)
