"""Threads that share a model take turns, a pass each; none of them changes another's text, or waits for its end."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from functools import partial
from itertools import count

import pytest

from generate.interruptions import interrupted
from truedraw import load
from truedraw.errors import EngineError
from truedraw.generate.shared_drafters import SharedDrafters
from truedraw.generate.taking_turns import TakingTurns

PROMPTS = ("the cat", "the dog", "a cat sat", "on the")
WAYS = (False, "suffix", "ngram-lm")
SECONDS = 60


class Watched:
    """An engine's forward that is slow, and notices a second one inside."""

    def __init__(self, forward) -> None:
        self.forward, self.inside, self.most, self.calls = forward, 0, 0, []

    def __call__(self, *given):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.calls.append(threading.get_ident())
        time.sleep(0.001)
        try:
            return self.forward(*given)
        finally:
            self.inside -= 1


def all_at_once(*acts):
    """What each returns, from a thread of its own."""
    found: dict[int, object] = {}

    def run(number, act):
        try:
            found[number] = act()
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return [found[number] for number in range(len(acts))]


@pytest.fixture
def model():
    with load("tabular") as loaded:
        loaded.engine.forward = Watched(loaded.engine.forward)
        yield loaded


def texts(model, prompt, way):
    return model.generate(prompt, seed=3, n=2, max_tokens=30, ignore_eos=True, speculative=way).choices


def test_texts_are_what_they_are_alone(model) -> None:
    cases = [(prompt, way) for prompt in PROMPTS for way in WAYS]
    alone = [texts(model, *case) for case in cases]
    found = all_at_once(*(lambda case=case: texts(model, *case) for case in cases))
    for one, other in zip(alone, found, strict=True):
        assert [(each.tokens, each.logprobs) for each in one] == [(each.tokens, each.logprobs) for each in other]
    assert model.engine.forward.most == 1


def test_a_batch_and_a_text_share_the_engine(model) -> None:
    def batch():
        with model.batch() as many:
            runs = [many.add(prompt, seed=1, max_tokens=20, ignore_eos=True) for prompt in PROMPTS]
            list(many.completed())
            return [run.result().choices[0].tokens for run in runs]

    alone = batch(), texts(model, "the cat", None)
    found = all_at_once(batch, lambda: texts(model, "the cat", None))
    assert found[0] == alone[0]
    assert [each.tokens for each in found[1]] == [each.tokens for each in alone[1]]
    assert model.engine.forward.most == 1


def test_nobody_waits_for_anothers_end(model) -> None:
    both = [partial(model.generate, "the", seed=number, max_tokens=40, ignore_eos=True, speculative=False)
            for number in (1, 2)]  # fmt: skip
    all_at_once(*both)
    calls = model.engine.forward.calls
    first_ends = min(len(calls) - 1 - calls[::-1].index(thread) for thread in set(calls))
    assert min(calls[: first_ends + 1].count(thread) for thread in set(calls)) > 20


def test_a_stream_that_is_left_open_keeps_nobody_out(model) -> None:
    stream = model.stream("the cat", seed=1, max_tokens=30, ignore_eos=True)
    next(stream)
    (found,) = all_at_once(lambda: texts(model, "the dog", False))
    assert len(found) == 2
    stream.close()


def test_a_stream_ends_with_its_block(model) -> None:
    with model.stream("the cat", seed=1, max_tokens=30, ignore_eos=True) as stream:
        next(stream)
    assert [*stream] == []


def test_closing_waits_for_the_pass_of_another_thread(model) -> None:
    run = model.start("the", seed=1, max_tokens=2000, ignore_eos=True, speculative=False)
    errors = []

    def read() -> None:
        try:
            for _ in run:
                pass
        except EngineError as error:
            errors.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    while len(model.engine.forward.calls) < 5:
        time.sleep(0.001)
    model.close()
    assert model.engine.forward.inside == 0
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert errors == ["the engine is closed; load the model again"]


def test_whoever_is_inside_may_enter_again() -> None:
    turns = TakingTurns()
    with turns, turns:
        pass
    assert all_at_once(turns.__enter__) == [True]


def test_who_comes_back_lets_those_in_who_have_waited() -> None:
    turns, order = TakingTurns(), []

    def enter() -> None:
        with turns:
            order.append("other")

    other = threading.Thread(target=enter, daemon=True)
    with turns:
        other.start()
        while turns._gate.acquire(blocking=False):  # until the other one holds it
            turns._gate.release()
            time.sleep(0.001)
    with turns:
        order.append("me")
    other.join(SECONDS)
    assert order == ["other", "me"]


class Interrupted(Exception):
    """Stands for ctrl-C."""


def is_free(turns: TakingTurns) -> bool:
    """To another thread."""

    def enter() -> bool:
        entered = turns.acquire(blocking=False)
        if entered:
            turns.release()
        return entered

    return all_at_once(enter) == [True]


@pytest.mark.parametrize("line", range(1, 8))
def test_an_interruption_on_the_way_in_leaves_the_lock_free(line: int) -> None:
    turns, lines = TakingTurns(), []

    def trace(frame, event, _):
        if frame.f_code is TakingTurns.__enter__.__code__ and event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == line:
                sys.settrace(None)
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        turns.__enter__()
    except Interrupted:
        assert is_free(turns)
    else:
        sys.settrace(None)
        assert len(lines) < line
    finally:
        sys.settrace(None)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="a signal of Unix")
def test_a_signal_handler_may_enter_while_its_thread_waits() -> None:
    turns, let_go, done = TakingTurns(), threading.Event(), []

    def handler(*_) -> None:
        let_go.set()
        with turns:
            done.append("handler")

    def hold() -> None:
        with turns:
            let_go.wait(SECONDS)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Thread(target=hold, daemon=True).start()
        while turns.acquire(blocking=False):
            turns.release()
            time.sleep(0.001)
        main = threading.get_ident()
        threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGUSR1)).start()
        with turns:
            done.append("waited")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sorted(done) == ["handler", "waited"]
    assert is_free(turns)


def test_what_is_to_be_done_soon_waits_for_nobody() -> None:
    turns, done = TakingTurns(), []
    turns.soon(lambda: done.append("free"))
    assert done == ["free"]
    with turns:
        turns.soon(lambda: done.append("mine"))
        assert done == ["free", "mine"]
        (_,) = all_at_once(lambda: turns.soon(lambda: done.append("another's")))
        assert done == ["free", "mine"]
    turns.catch_up()  # as whoever leaves does
    assert done == ["free", "mine", "another's"]
    turns.soon(lambda: 1 / 0)
    assert not turns.put_off
    assert is_free(turns)


def test_what_is_to_be_done_soon_and_was_interrupted_is_done_again() -> None:
    turns, done = TakingTurns(), []

    def act() -> None:
        turns.soon(lambda: done.append("meanwhile"))
        done.append("act")
        if len(done) == 1:
            raise Interrupted

    class Interrupted(BaseException):
        """Stands for ctrl-C."""

    with pytest.raises(Interrupted):
        turns.soon(act)
    assert done == ["act"]
    turns.catch_up()
    assert done == ["act", "act", "meanwhile", "meanwhile"]
    assert is_free(turns)


def enter(turns: TakingTurns) -> None:
    with turns:
        pass


def enter_again(turns: TakingTurns) -> None:
    with turns:
        enter(turns)


def soon(turns: TakingTurns) -> None:
    turns.soon(lambda: None)


def soon_inside(turns: TakingTurns) -> None:
    with turns:
        soon(turns)


@pytest.mark.parametrize("act", [enter, enter_again, soon, soon_inside])
def test_an_interruption_anywhere_leaves_the_lock_free(act) -> None:
    for place in count():
        turns = TakingTurns()
        if not interrupted(partial(act, turns), place):
            break
        assert is_free(turns), place
    assert place > 3


@pytest.mark.parametrize("act", [enter, soon])
def test_an_interruption_further_down_leaves_the_lock_to_whoever_holds_it(act) -> None:
    for place in count():
        turns = TakingTurns()
        with turns:
            more = interrupted(partial(act, turns), place)
            assert turns._is_owned()
            assert not is_free(turns)
        assert is_free(turns)
        if not more:
            break


def test_a_run_that_is_interrupted_anywhere_leaves_the_model_to_others() -> None:
    with load("tabular") as model:
        act, places = partial(model.generate, "the cat", max_tokens=2, speculative=False), 0
        while interrupted(act, places, "taking_turns.py", "test_threads.py", "scheduler.py", "jobs.py"):
            places += 1
            assert is_free(model.turns), places
    assert places > 50


def outcome_in_child(act) -> str:
    """What it returns in the child of a fork, or the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        try:
            said = str(act())
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a call of Unix")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_goes_on_unless_another_thread_was_inside(model) -> None:
    act = lambda: [choice.tokens for choice in texts(model, "the cat", None)]  # noqa: E731
    whole, inside, leave = str(act()), threading.Event(), threading.Event()
    assert outcome_in_child(act) == whole
    with model.turns:
        assert outcome_in_child(act) == whole

    def hold() -> None:
        with model.turns:
            inside.set()
            leave.wait(SECONDS)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    inside.wait(SECONDS)
    for _ in range(2):
        assert outcome_in_child(act).startswith("EngineError: another thread used the model when this process was")
    assert outcome_in_child(lambda: model.turns.soon(act)) == "None"
    leave.set()
    thread.join(SECONDS)
    assert outcome_in_child(act) == whole
    assert str(act()) == whole


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a call of Unix")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_does_not_wait_behind_those_who_waited() -> None:
    turns = TakingTurns()
    with turns:
        waiting = threading.Thread(target=enter, args=[turns], daemon=True)
        waiting.start()
        while turns._gate.acquire(blocking=False):
            turns._gate.release()
            time.sleep(0.001)

        def leave_and_return() -> None:
            turns.release()
            with turns:
                turns.acquire()

        assert outcome_in_child(leave_and_return) == "None"
    waiting.join(SECONDS)


def test_a_stream_that_nobody_reads_any_more_is_collected_in_any_thread(model) -> None:
    """While another one is inside: the collector does not wait, and the pages come back."""
    stream = model.stream("the cat", seed=1, max_tokens=30, ignore_eos=True)
    next(stream)
    gc.disable()
    try:
        del stream
        with model.turns:
            assert len(all_at_once(gc.collect)) == 1
    finally:
        gc.enable()
    assert texts(model, "the dog", False)


@pytest.mark.parametrize("more", [{}, {"best_of": 2}])
def test_a_stream_is_closed_from_another_thread(model, more) -> None:
    stream, found = model.stream("the cat", seed=5, max_tokens=3000, ignore_eos=True, **more), []
    reading = threading.Thread(target=lambda: found.extend(stream), daemon=True)
    reading.start()
    while len(model.engine.forward.calls) < 5:
        time.sleep(0.001)
    for _ in range(3):
        stream.close()
    reading.join(SECONDS)
    assert not reading.is_alive()
    assert 0 < sum(len(piece.text.split()) for piece in found) < 3000
    assert list(stream) == []


def test_a_stream_that_is_closed_frees_what_it_holds(model) -> None:
    stream = model.stream("the cat", max_tokens=3000, ignore_eos=True)
    next(stream)
    run = stream._run
    assert not run.ended
    stream.close()
    assert run.ended
    assert next(stream, None) is None


def test_a_stream_whose_closing_is_interrupted_holds_nobody_up() -> None:
    with load("tabular") as model:
        for place in range(20):
            stream = model.stream("the cat", max_tokens=30, ignore_eos=True)
            next(stream)
            interrupted(stream.close, place, "stream.py", "generation.py")
            assert not stream._reading.locked()
            stream.close()
            assert stream._run.ended
            assert list(stream) == []


@pytest.mark.parametrize("act", ["close", "cancel"])
def test_a_run_ends_early_from_another_thread(model, act: str) -> None:
    run = model.start("the cat", seed=5, max_tokens=3000, ignore_eos=True)
    (first,) = all_at_once(lambda: next(run.pieces()))
    reading = threading.Thread(target=lambda: list(run.pieces()), daemon=True)
    reading.start()
    getattr(run, act)()
    reading.join(SECONDS)
    assert not reading.is_alive()
    assert first is not None
    assert len(run.result().choices[0].tokens) < 3000


def test_a_batch_is_begun_and_closed_in_turns(model) -> None:
    seen = []
    run, close = model.run, SharedDrafters.close

    def owned(act):
        def told(*given):
            seen.append(model.turns._is_owned())
            return act(*given)

        return told

    model.run = owned(run)
    with pytest.MonkeyPatch.context() as patch, model.batch() as batch:
        patch.setattr(SharedDrafters, "close", owned(close))
        batch.add("the cat", max_tokens=2)
        batch.close()
    assert seen == [True] * 3  # and once more at the end of the block
