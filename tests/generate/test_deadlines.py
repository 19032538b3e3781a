"""What a handler of signals raises reaches whoever set it, wherever it came, and is nobody's mistake."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial, wraps
from itertools import count

import pytest

from generate.interruptions import between, between_once
from truedraw import Model, Request, load
from truedraw.generate.taking_turns import TakingTurns
from truedraw.handlers import is_of_handler, pass_on

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="a signal of Unix")
RUN = {"max_tokens": 8, "seed": 1, "ignore_eos": True}
PLACES = 60
DRAFTED = {"method": "ngram", "prompt_lookup_min": 1, "num_speculative_tokens": 2}

FILES = (
    "guess.py", "guesses.py", "guarded_drafter.py", "shared_drafters.py", "requests.py", "crowd.py", "job.py",
    "loop.py", "scheduler.py", "making.py", "strides.py", "ngram.py", "judging.py", "traversal.py", "tabular.py",
    "several.py", "suffix.py",
)  # fmt: skip


class Deadline(Exception):
    pass


class Callable:
    def __call__(self, number: int, frame: object) -> None:
        self.late(number, frame)

    def late(self, number: int, frame: object) -> None:
        raise Deadline("time is up")


class Late(Callable):
    """A handler that is no function, and whose class is not what makes it one."""


def late(*_: object) -> None:
    raise Deadline("time is up")


def logged(function):
    @wraps(function)
    def wrapped(*given):
        return function(*given)

    return wrapped


def once_only(number: int, frame: object) -> None:
    """As deadlines often are."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    raise Deadline("time is up")


HANDLERS = {
    "function": late,
    "decorated": logged(late),
    "of one shot": once_only,
    "method": Late().late,
    "object": Late(),
    "partial": partial(late, 1),
}


@pytest.fixture(params=HANDLERS)
def handler(request) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, HANDLERS[request.param])
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, late)
    yield
    signal.signal(signal.SIGUSR1, before)


def ring() -> None:
    signal.raise_signal(signal.SIGUSR1)


def test_whatever_the_handler_is(handler) -> None:
    with pytest.raises(Deadline) as raised:
        ring()
    assert is_of_handler(raised.value)
    wrapped = RuntimeError("a part failed")
    wrapped.__cause__ = raised.value
    with pytest.raises(Deadline):
        pass_on(wrapped)


def test_what_others_raise_is_theirs(alarm) -> None:
    """Also out of a function that is a handler as well, or is wrapped as one is."""
    signal.signal(signal.SIGUSR1, logged(late))
    for function in (late, logged(late), Late().late):
        with pytest.raises(Deadline) as raised:
            function(10, None)
        assert not is_of_handler(raised.value)
        pass_on(raised.value)


def test_a_text_keeps_what_was_decided_before(alarm) -> None:
    """Two texts of one pass; it comes while the second one's observer looks on."""
    seen, calls = {0: 0, 1: 0}, count()

    def looks_on(text: int, number, proposal, rows, verdict) -> None:
        if text and next(calls) == 4:
            ring()
        seen[text] += len(verdict.tokens)

    with load("tabular") as model:
        batch = model.batch()
        runs = [batch.add("the cat", observer=partial(looks_on, text), speculative=False, **RUN) for text in range(2)]
        with pytest.raises(Deadline):
            list(iter(batch.step, False))
        assert [len(run.result().choices[0].tokens) for run in runs] == [seen[0], seen[1]] == [5, 4]


def once(model: Model) -> None:
    model.generate("the cat sat on the cat", speculative=DRAFTED, **RUN)


def many(model: Model) -> None:
    found = dict(model.generate_many([Request(f"the {end}", RUN) for end in ("cat", "mat", "dog")], max_running=2))
    assert not any(isinstance(each, Exception) for each in found.values())


def by_auto(model: Model) -> None:
    model.generate("the cat sat on the cat", **RUN)


@pytest.mark.parametrize("run", [once, many, by_auto])
def test_it_comes_through_wherever_it_was_raised(run, alarm) -> None:
    """Between any two calls of what draws; a run with a fresh model ends afterwards."""
    with load("tabular") as model:
        run(model)
        places = count()
        between(lambda: run(model), lambda: next(places), *FILES)
    number = next(places)
    step = max(1, number // PLACES)
    for place in range(step // 2, number - step, step):
        with load("tabular") as model, pytest.raises(Deadline):
            between_once(lambda: run(model), place, ring, *FILES)


def test_what_was_put_off_is_done_again_behind_it(alarm) -> None:
    turns, done, bad = TakingTurns(), [], []

    def act() -> None:
        if not done:
            done.append("begun")
            ring()
        done.append("done")

    with pytest.raises(Deadline):
        turns.soon(act)
    turns.soon(lambda: bad.append(1 / 0))
    turns.catch_up()
    assert (done, bad, len(turns.put_off)) == (["begun", "done"], [], 0)
