"""Threads that share a model take turns, a pass each; none of them changes another's text, or waits for its end."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from truedraw import load
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


def test_closing_waits_for_the_pass_of_another_thread(model) -> None:
    run = model.start("the", seed=1, max_tokens=2000, ignore_eos=True, speculative=False)
    thread = threading.Thread(target=lambda: [None for _ in run], daemon=True)
    thread.start()
    while len(model.engine.forward.calls) < 5:
        time.sleep(0.001)
    model.close()
    assert model.engine.forward.inside == 0
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_whoever_is_inside_may_enter_again() -> None:
    turns = TakingTurns()
    with turns, turns:
        pass
    assert all_at_once(turns.__enter__) == [None]


def test_who_waits_longest_comes_next() -> None:
    turns, order, waiting = TakingTurns(), [], []

    def enter(name):
        with turns:
            order.append(name)

    with turns:
        for name in "abc":
            waiting.append(threading.Thread(target=enter, args=(name,), daemon=True))
            waiting[-1].start()
            while len(turns._waiting) < len(waiting):
                time.sleep(0.001)
    enter("me")
    for thread in waiting:
        thread.join(SECONDS)
    assert order == ["a", "b", "c", "me"]


@pytest.mark.parametrize("handed_over", [False, True])
def test_an_interruption_gives_the_turn_up(handed_over: bool) -> None:
    turns = TakingTurns()
    me = (threading.get_ident(), threading.Lock())
    with turns:
        pass
    turns._inside, turns._depth = (me[0], 1) if handed_over else (-1, 1)
    if not handed_over:
        turns._waiting.append(me)
    turns._give_up(me)
    assert not turns._waiting
    assert turns._inside == (None if handed_over else -1)
