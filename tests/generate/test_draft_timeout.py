"""A drafter that takes too long, or never answers, is given up; the text goes on, and so do those who share it."""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import ClassVar

import pytest

from truedraw import Model, load
from truedraw import registry as registered
from truedraw.draft.ngram import NgramDrafter
from truedraw.errors import BadParameter, UnknownName
from truedraw.generate import calls, making
from truedraw.generate.calls import SECONDS, Calls
from truedraw.generate.foreign_drafter import ForeignDrafter
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.shared_drafters import SharedDrafter, SharedDrafters
from truedraw.generate.speculation import Speculation, speculation
from truedraw.protocol import Proposal
from truedraw.registry import BUILT_IN
from truedraw.sampling.working_time import COMPILER
from truedraw.stats.check.enumerated import drafters, exact_verifiers
from truedraw.testing import drafter_checks
from truedraw.testing.scenarios import SCENARIOS

TEXT = "the cat sat ran dog sat ran"
SETTINGS = {"seed": 8, "n": 2, "ignore_eos": True, "max_tokens": 40}
LIMIT = 0.5  # seconds, of those that never answer
HELD = threading.Event()  # set when the tests are over, so that threads that were left behind can end


@pytest.fixture(scope="module", autouse=True)
def let_go():
    yield
    HELD.set()


class Clock:
    """Time that passes when a test says so, as calls see it."""

    now = 0.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "working_seconds", lambda: Clock.now)


def take_long() -> None:
    Clock.now += 2 * calls.SECONDS


@pytest.fixture(scope="module")
def toy() -> Model:
    with load("tabular") as model:
        yield model


class Slow:
    """Prompt lookup of which the second call of one method takes its time, or never returns; notes its closing."""

    where, wait = "propose", staticmethod(take_long)

    def __init__(self) -> None:
        self.inner, self.calls, self.closed = NgramDrafter(), 0, 0

    def open(self, tokens, law):
        return SlowState(self, self.inner.open(tokens, law))

    def propose(self, states, budgets, randomness):
        self.call("propose")
        return self.inner.propose([state.inner for state in states], budgets, randomness)

    def call(self, where):
        if where == self.where:
            self.calls += 1
            if self.calls == 2:
                self.wait()

    def close(self):
        self.closed += 1


class SlowState:
    def __init__(self, drafter, inner) -> None:
        self.drafter, self.inner = drafter, inner

    def commit(self, tokens, scores):
        self.drafter.call("commit")
        self.inner.commit(tokens, scores)


class SlowCommit(Slow):
    where = "commit"


class Hangs(Slow):
    wait = staticmethod(HELD.wait)


class HangsInCommit(Hangs):
    where = "commit"


class HangsAtOnce(Hangs):
    def call(self, where):
        self.wait()


class Exits(Slow):
    """Gives up in a way that is no Exception."""

    wait = staticmethod(lambda: sys.exit("no licence"))


class ExitsInCommit(Exits):
    where = "commit"


class Generates(Slow):
    @staticmethod
    def wait():
        raise GeneratorExit


class Answers(Slow):
    """Never takes its time."""

    wait = staticmethod(lambda: None)


class Threads(NgramDrafter):
    """Prompt lookup that notes which threads call it."""

    seen: ClassVar[list] = []

    def open(self, tokens, law):
        self.seen.append(threading.current_thread())
        return super().open(tokens, law)

    def propose(self, states, budgets, randomness):
        self.seen.append(threading.current_thread())
        return super().propose(states, budgets, randomness)

    def close(self):
        self.seen.append("closed")


ENDING = (Exits, ExitsInCommit, Generates)


class Point:
    """An entry point of another package."""

    def __init__(self, kind) -> None:
        self.name, self.load, self.value = kind.__name__, lambda: kind, "test"


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point(kind) for kind in (Hangs, HangsInCommit, HangsAtOnce, Answers, *ENDING)]
    monkeypatch.setattr(registered, "entry_points",
                        lambda group, name=None: [p for p in points if name in (None, p.name)])  # fmt: skip
    for kind in (Slow, SlowCommit, Threads):
        monkeypatch.setitem(BUILT_IN["drafters"], kind.__name__, f"{__name__}:{kind.__name__}")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Slow", "propose: a call took 60 s; draft_timeout is 0.5 s"),
        ("SlowCommit", "commit: a call took 60 s"),
        ("Hangs", "propose: TimeoutError: a call has not returned within 0.5 s, the draft_timeout"),
        ("HangsInCommit", "commit: TimeoutError: a call has not returned within"),
        ("Exits", "propose: RuntimeError: a call ended in SystemExit: no licence"),
        ("ExitsInCommit", "commit: RuntimeError: a call ended in SystemExit: no licence"),
        ("Generates", "propose: RuntimeError: a call ended in GeneratorExit"),
    ],
)
def test_the_text_goes_on_and_says_why(toy: Model, plugins, kind: str, told: str) -> None:
    plain = toy.generate(TEXT, speculative=False, **SETTINGS)
    spec = {"method": kind, "adaptive": False, "draft_timeout": LIMIT}
    result = toy.generate(TEXT, speculative=spec, **SETTINGS)
    assert [c.tokens for c in result.choices] == [c.tokens for c in plain.choices]
    assert result.fallback.startswith(told)
    assert result.stats.drafted > 0
    assert toy.generate(TEXT, speculative="ngram", **SETTINGS).fallback is None


def test_one_that_never_answers_at_all_holds_nobody_up(toy: Model, plugins) -> None:
    plain = toy.generate(TEXT, speculative=False, **SETTINGS)
    spec = {"method": "HangsAtOnce", "adaptive": False, "draft_timeout": LIMIT}
    result = toy.generate(TEXT, speculative=spec, **SETTINGS)
    assert [c.tokens for c in result.choices] == [c.tokens for c in plain.choices]
    assert (result.stats.drafted, "TimeoutError" in result.fallback) == (0, True)


def test_a_part_of_a_drafter_that_never_answers_ends_it(toy: Model, plugins) -> None:
    plain = toy.generate(TEXT, speculative=False, **SETTINGS)
    nested = {"method": "mix", "sources": ["ngram", {"method": "mix", "sources": ["Hangs", "ngram"]}]}
    result = toy.generate(TEXT, speculative={**nested, "adaptive": False, "draft_timeout": LIMIT}, **SETTINGS)
    assert [c.tokens for c in result.choices] == [c.tokens for c in plain.choices]
    assert "TimeoutError" in result.fallback


@pytest.mark.parametrize("source", ["Hangs", "HangsInCommit", "HangsAtOnce"])
def test_only_the_part_that_never_answers_is_left_to_itself(toy: Model, plugins, monkeypatch, source: str) -> None:
    """Parts that are ours are called by nobody but the loop, and given back at the end."""
    monkeypatch.setattr(Threads, "seen", [])
    config = {"method": "mix", "sources": [source, "Threads"], "adaptive": False, "draft_timeout": LIMIT}
    result = toy.generate(TEXT, speculative=config, **SETTINGS)
    assert "has not returned within 0.5 s, the draft_timeout" in result.fallback
    assert ("in " + source + ", a source of the mix") in result.fallback or source == "HangsInCommit"
    closed = [each for each in Threads.seen if each == "closed"]
    assert len(closed) == 1
    assert {each for each in Threads.seen if each != "closed"} <= {threading.current_thread()}


@pytest.mark.parametrize("source", [kind.__name__ for kind in ENDING])
def test_a_part_of_others_that_would_end_the_program_ends_drafting(toy: Model, plugins, source: str) -> None:
    plain = toy.generate(TEXT, speculative=False, **SETTINGS)
    config = {"method": "mix", "sources": [source, "ngram"], "adaptive": False}
    result = toy.generate(TEXT, speculative=config, **SETTINGS)
    assert [c.tokens for c in result.choices] == [c.tokens for c in plain.choices]
    assert "a call ended in " in result.fallback


def test_a_part_of_others_drafts_like_any_source(toy: Model, plugins) -> None:
    """Prompt lookup in a thread of its own: the same offers."""
    runs = [
        toy.generate(TEXT, speculative={"method": "mix", "sources": [source], "adaptive": False}, **SETTINGS)
        for source in ("Answers", "ngram")
    ]
    assert [run.fallback for run in runs] == [None, None]
    assert runs[0].stats.accepted == runs[1].stats.accepted > 0


def foreign(inner) -> ForeignDrafter:
    return ForeignDrafter(inner, Calls(5.0, beside=True))


def test_calls_beside_keep_the_contract_of_a_drafter() -> None:
    for check in drafter_checks(lambda: foreign(NgramDrafter()), 3):
        check()


def test_a_part_of_others_looks_ahead_as_far_as_it_can() -> None:
    for drafter, expected in ((foreign(NgramDrafter()), [3, 1]), (foreign(Answers()), [])):
        state = drafter.open([1, 2, 3, 1], None).ahead([2])
        assert drafter.propose([state], [2], [None])[0].tokens.tolist() == expected
        state.close()
        drafter.close()


class ExitsWhenAskedForMore(Answers):
    """Its states end the program where they are asked whether they look ahead."""

    def open(self, tokens, law):
        return self

    @property
    def ahead(self):
        sys.exit("no licence")


def test_a_part_of_others_is_asked_beside_whether_it_looks_ahead() -> None:
    state = foreign(ExitsWhenAskedForMore()).open([0], None)
    with pytest.raises(RuntimeError, match="a call ended in SystemExit: no licence"):
        state.ahead([1])


def test_a_mix_with_a_part_that_is_stuck_is_not_handed_out_again(toy: Model, plugins) -> None:
    spec = {"method": "mix", "sources": ["Hangs", "ngram"], "adaptive": False, "draft_timeout": LIMIT}
    with toy.batch() as batch:
        runs = []
        for seed in range(2):
            runs.append(batch.add(TEXT, speculative=spec, seed=seed, ignore_eos=True, max_tokens=20))
            while batch.step():
                pass
    results = [run.result() for run in runs]
    assert all("TimeoutError" in result.fallback for result in results)
    assert all(result.stats.drafted > 0 for result in results)


def test_a_batch_goes_on_and_later_requests_get_a_drafter_that_answers(toy: Model, plugins) -> None:
    plain = [toy.generate(TEXT, speculative=False, seed=s, ignore_eos=True, max_tokens=20) for s in range(3)]
    spec = {"method": "Hangs", "adaptive": False, "draft_timeout": LIMIT}
    with toy.batch() as batch:
        runs = [batch.add(TEXT, speculative=spec, seed=s, ignore_eos=True, max_tokens=20) for s in range(2)]
        while batch.step():
            pass
        runs.append(batch.add(TEXT, speculative=spec, seed=2, ignore_eos=True, max_tokens=20))
        assert not runs[-1].error
        while batch.step():
            pass
    results = [run.result() for run in runs]
    assert [r.choices[0].tokens for r in results] == [p.choices[0].tokens for p in plain]
    assert all("TimeoutError" in result.fallback for result in results[:2])
    assert results[2].stats.drafted > 0


def test_what_came_late_is_used_and_nothing_is_asked_for_again() -> None:
    drafter = GuardedDrafter(slow := Slow(), 5, Calls(SECONDS))
    state = drafter.open([1, 2, 1], None)
    found = [drafter.propose([state], [2], [None])[0].tokens.tolist() for _ in range(3)]
    assert found == [[2, 1], [2, 1], []]
    assert slow.calls == 2
    assert drafter.fault.startswith("propose: a call took")
    state.close()
    drafter.close()
    assert slow.closed == 1


def of_requests(drafter, number: int, limit: float = SECONDS, beside: bool = False):
    shared = SharedDrafter(drafter, Calls(limit, beside))
    guards = [shared.guard(5) for _ in range(number)]
    return shared, guards, [guard.open([1, 2, 1], None) for guard in guards]


def proposed(shared, states) -> list[list[int]]:
    return [p.tokens.tolist() for p in shared.propose(states, [2] * len(states), [None] * len(states))]


class SlowFor(Slow):
    """Takes its time for one text."""

    slow = None

    def propose(self, states, budgets, randomness):
        if self.slow in states:
            take_long()
        return [Proposal.chain([2, 1]) for _ in states]


def test_only_the_request_that_takes_the_time_is_given_up() -> None:
    shared, guards, states = of_requests(drafter := SlowFor(), 3)
    drafter.slow = states[1].inner
    assert proposed(shared, states) == [[2, 1]] * 3  # late, together
    assert proposed(shared, states) == [[2, 1]] * 3  # one by one
    assert [guard.fault is None for guard in guards] == [True, False, True]
    assert proposed(shared, states) == [[2, 1], [], [2, 1]]
    shared.retire()
    for guard in guards:
        guard.close()
    assert drafter.closed == 1


def test_one_request_alone_knows_who_was_late() -> None:
    shared, guards, states = of_requests(drafter := SlowFor(), 1)
    drafter.slow = states[0].inner
    assert proposed(shared, states) == [[2, 1]]
    assert guards[0].fault is not None
    assert proposed(shared, states) == [[]]


def test_a_call_that_is_stuck_ends_drafting_for_all_who_share_it_and_is_never_closed() -> None:
    shared, guards, states = of_requests(hanging := HangsAtOnce(), 2, LIMIT, beside=True)
    assert proposed(shared, states) == [[], []]
    assert all("has not returned within" in guard.fault for guard in guards)
    for guard in guards:
        guard.close()
    shared.retire()
    assert hanging.closed == 0


class OneByOne(Slow):
    """A generator of proposals, each of which takes its time when it is asked for."""

    where = ""

    def propose(self, states, budgets, randomness):
        for budget in budgets:
            self.wait()
            yield Proposal.chain([2, 1][:budget])


class ExitsOnTheWay(OneByOne):
    wait = staticmethod(lambda: sys.exit("no licence"))


class AnswersOneByOne(OneByOne):
    wait = staticmethod(lambda: None)


def test_proposals_that_are_made_one_by_one_are_made_in_the_call() -> None:
    shared, guards, states = of_requests(OneByOne(), 2, LIMIT)
    assert proposed(shared, states) == [[2, 1], [2, 1]]
    assert proposed(shared, states) == [[2, 1], [2, 1]]  # one by one, each of them late
    assert all("a call took" in guard.fault for guard in guards)
    shared, guards, states = of_requests(ExitsOnTheWay(), 2, beside=True)
    assert proposed(shared, states) == [[], []]
    assert all("a call ended in SystemExit" in guard.fault for guard in guards)


@pytest.mark.parametrize("number", [1, 2])
def test_proposals_that_are_made_one_by_one_are_as_good_alone_as_shared(number: int) -> None:
    shared, guards, states = of_requests(AnswersOneByOne(), number)
    alone = [guard.propose([state], [2], [None])[0] for guard, state in zip(guards, states, strict=True)]
    assert proposed(shared, states) == [each.tokens.tolist() for each in alone] == [[2, 1]] * number


def test_a_shared_drafter_that_is_stuck_is_not_handed_out_again() -> None:
    class Drafts:
        vocab_size, head_path, auto_sources = 5, None, ()

    shared, spec = SharedDrafters(), Speculation("ngram")
    first = shared.drafters(spec, spec.verifier(1), Drafts())[1]
    assert shared.drafters(spec, spec.verifier(1), Drafts())[1] is first
    first.calls.stuck = True
    assert shared.drafters(spec, spec.verifier(1), Drafts())[1] is not first


class Quick(Slow):
    """Waits nowhere; the one that was made last is at hand."""

    where, made = "", None

    def __init__(self) -> None:
        super().__init__()
        Quick.made = self


@pytest.mark.parametrize("method", ["Quick", "auto"])
def test_a_run_that_was_dropped_is_closed_at_once(monkeypatch, method) -> None:
    """By the garbage collector, to which the thread of its calls belongs as well."""
    monkeypatch.setitem(BUILT_IN, "drafters", BUILT_IN["drafters"] | {"Quick": f"{__name__}:Quick"})
    monkeypatch.setattr(making, "BUILT_IN", {"drafters": {}})  # it is somebody else's
    config = {"method": method, "draft_timeout": 20.0} | ({"auto_sources": ["Quick"]} if method == "auto" else {})
    with load("tabular") as model:
        unbegun = model.start(TEXT, **SETTINGS, speculative=config)
        assert not Quick.made.closed
        del unbegun
        gc.collect()
        assert Quick.made.closed == 1
        pieces = model.stream(TEXT, **SETTINGS | {"n": 1}, speculative=config)
        next(pieces)
        assert not Quick.made.closed
        del pieces
        start = time.monotonic()
        gc.collect()
        assert time.monotonic() - start < 10.0
        assert model.generate(TEXT, **SETTINGS).text
    assert Quick.made.closed == 1


def test_calls_beside_return_and_raise_what_they_should() -> None:
    others = Calls(5.0, beside=True)
    assert others.timed(lambda: threading.current_thread().name)[0] == "truedraw-drafter"
    assert Calls(5.0).timed(lambda: threading.current_thread().name)[0] != "truedraw-drafter"
    for error in (SystemExit(3), KeyboardInterrupt()):  # of the caller's own thread
        with pytest.raises(type(error)):
            Calls(5.0).timed(raising(error))
    with pytest.raises(RuntimeError, match="a call ended in SystemExit: 3"):
        others.timed(raising(SystemExit(3)))
    for error in (ValueError("no"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            others.timed(raising(error))
    assert others.timed(lambda: 3)[0] == 3
    assert Calls(1e300, beside=True).timed(lambda: 4)[0] == 4
    assert not others.stuck


def raising(error):
    def act():
        raise error

    return act


def test_the_thread_ends_with_the_last_who_could_call() -> None:
    others = Calls(5.0, beside=True)
    thread = others.timed(threading.current_thread)[0]
    assert thread.is_alive()
    del others
    thread.join(5.0)
    assert not thread.is_alive()


class FailsToClose(Slow):
    def close(self):
        raise OSError("cannot let go")


def test_what_goes_wrong_when_it_is_closed_is_told_and_harms_nobody() -> None:
    drafter = GuardedDrafter(FailsToClose(), 5)
    drafter.close()
    assert drafter.fault == "close: OSError: cannot let go"


@pytest.mark.parametrize("limit", [0, -1.0, "30", True, float("inf"), float("nan"), None], ids=str)
def test_a_bad_limit_is_refused(limit) -> None:
    with pytest.raises(BadParameter, match="draft_timeout: got"):
        Speculation("ngram", draft_timeout=limit)


def test_plain_sampling_has_no_calls_to_limit() -> None:
    with pytest.raises(BadParameter, match="the method none does not use draft_timeout"):
        speculation({"method": "none", "draft_timeout": 3})
    assert speculation({"method": "ngram", "draft_timeout": 3}).config()["draft_timeout"] == 3


def test_the_drafters_of_a_choice_have_the_limit_of_the_whole() -> None:
    spec = Speculation("auto", draft_timeout=7.0)
    assert {part.draft_timeout for part in spec.parts().values()} == {7.0}


def test_only_the_code_of_others_runs_beside(toy: Model, plugins) -> None:
    for method, beside in (("ngram", False), ("Hangs", True)):
        drafter = Speculation(method).drafter(None, toy.drafts)
        assert drafter.calls.beside is beside


@pytest.mark.parametrize("beside", [False, True])
def test_what_is_compiled_once_on_a_machine_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    """As in a first run: the kernels of a drafter may take longer to compile than its calls may take."""
    monkeypatch.undo()
    compiling = Calls(limit_seconds=0.05, beside=beside)

    def act() -> int:
        COMPILER.begin()
        time.sleep(0.3)
        COMPILER.end()
        return 5

    found, seconds = compiling.timed(act)
    assert found == 5
    assert seconds < 0.1


class BrokenPoint:
    """An entry point whose package is not what it was."""

    name, value = "broken", "brk_missing:Foo"

    def load(self):
        raise ModuleNotFoundError("No module named 'brk_missing'")


class OddPoint:
    """One that loads what is no class of Python."""

    def __init__(self, name: str, found: object) -> None:
        self.name, self.value, self._found = name, f"odd:{name}", found

    def load(self):
        return self._found


class CannotBeMade:
    def __init__(self, vocab_size, licence) -> None:
        raise AssertionError


def test_a_broken_plug_in_concerns_those_who_name_it(toy: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [BrokenPoint(), OddPoint("number", 5), OddPoint("cfast", dict), Point(CannotBeMade)]
    monkeypatch.setattr(registered, "entry_points",
                        lambda group, name=None: [p for p in points if name in (None, p.name)])  # fmt: skip
    plain = toy.generate(TEXT, speculative=False, **SETTINGS)
    for config in ({"prompt_lookup_max": 3}, {"auto_sources": ["ngram"]}, "ngram"):
        assert [c.tokens for c in toy.generate(TEXT, speculative=config, **SETTINGS).choices] == [
            c.tokens for c in plain.choices
        ]
    with pytest.raises(UnknownName, match=r"plug-in 'broken' \(brk_missing:Foo\) cannot be loaded: ModuleNotFound"):
        toy.generate(TEXT, speculative="broken", **SETTINGS)
    for odd in ("number", "cfast"):
        with pytest.raises(UnknownName, match=f"plug-in '{odd}' is .* does not say what it takes: .*register a class"):
            toy.generate(TEXT, speculative=odd, **SETTINGS)
    with pytest.raises(BadParameter, match="foo: no such key"):
        toy.generate(TEXT, speculative={"method": "ngram", "foo": 1}, **SETTINGS)
    with pytest.raises(BadParameter, match="plug-in 'CannotBeMade' cannot be made with"):
        toy.generate(TEXT, speculative="CannotBeMade", **SETTINGS)


def test_and_a_certificate_passes_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [BrokenPoint(), OddPoint("number", 5)]
    monkeypatch.setattr(registered, "entry_points",
                        lambda group, name=None: [p for p in points if name in (None, p.name)])  # fmt: skip
    names = [name for name, _ in drafters(SCENARIOS[0])]
    assert "ngram" in names
    assert not {"broken", "number"} & {*names, *exact_verifiers()}
