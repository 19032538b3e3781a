"""The times of a round: every second is somebody's, nobody's is counted twice, and nobody pays for another's drafts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from truedraw.control.fixed import FixedController
from truedraw.draft.none import NoDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import OutOfPages
from truedraw.generate import guesses, loop
from truedraw.generate.loop import Schedule, Together, rounds
from truedraw.generate.sample import Sample
from truedraw.protocol import Round
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.summary import summary
from truedraw.testing.runs import parts_of, started
from truedraw.testing.scenarios import Scenario, TableDrafter
from truedraw.testing.tables import random_table
from truedraw.verify.token import TokenVerifier

DECIDING, DRAFTING, PASS, VERIFYING = 2.0, 3.0, 10.0, 1.0  # seconds
SCENARIO = Scenario("times", random_table(4, 1, 1), random_table(4, 1, 2), max_tokens=9)


class Clock:
    """Stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float, answer):
        """The same, and it takes so long."""

        def slow(*given):
            self.now += seconds
            return answer(*given)

        return slow


class SlowVerifier(TokenVerifier):
    """Takes a while."""

    clock: Clock

    def __call__(self, *given):
        self.clock.now += VERIFYING
        return super().__call__(*given)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    found = Clock()
    for module in (loop, guesses):
        monkeypatch.setattr(module, "working_seconds", found)
    monkeypatch.setattr(FixedController, "budget", found.after(DECIDING, FixedController.budget))
    return found


def both(clock: Clock, engine: TabularEngine) -> list[Sample]:
    """A text that drafts and one that drafts nothing."""
    drafting, verifier = TableDrafter(SCENARIO.draft), SlowVerifier()
    verifier.clock = clock
    drafting.propose = clock.after(DRAFTING, drafting.propose)  # type: ignore[method-assign]
    parts = [parts_of(SCENARIO, verifier, drafter) for drafter in (drafting, NoDrafter())]
    chance = type("Seeds", (), {"sample": staticmethod(lambda index: PhiloxRandomness(5, index))})
    return [started(each, SCENARIO, chance, number, engine) for number, each in enumerate(parts)]


def told(clock: Clock, schedule: Schedule, engine: TabularEngine) -> Iterator[list[Round]]:
    engine.forward = clock.after(PASS, engine.forward)  # type: ignore[method-assign]
    return rounds(engine, FixedController(3), schedule)


def test_the_times_of_a_choice_add_up(clock) -> None:
    engine = TabularEngine(SCENARIO.target)
    done = [each for step in told(clock, Together(both(clock, engine)), engine) for each in step]
    assert len({each.sample for each in done}) == 2
    for number in (0, 1):
        mine = [each for each in done if each.sample == number]
        stats = summary(mine)
        assert stats.engine_seconds + stats.draft_seconds + stats.other_seconds == pytest.approx(stats.seconds)
        assert stats.draft_seconds == pytest.approx(DRAFTING * sum(each.drafted > 0 for each in mine))
        deciding = sum(each.engine_seconds for each in mine) / PASS * DECIDING  # by the same shares
        assert stats.other_seconds == pytest.approx(VERIFYING * len(mine) + deciding)
    assert sum(each.seconds for each in done) == pytest.approx(clock.now)
    whole = summary(done)
    assert whole.engine_seconds + whole.draft_seconds + whole.other_seconds == pytest.approx(clock.now)


def test_what_a_pass_took_without_drafters_is_what_is_left(clock) -> None:
    engine = TabularEngine(SCENARIO.target)
    for step in told(clock, Together(both(clock, engine)), engine):
        rest = sum(each.seconds - each.draft_seconds for each in step)
        assert rest == pytest.approx(DECIDING + PASS + VERIFYING * len(step))


class Crowded(Together):
    """The first pass has no room for the text that drafts: its drafts wait for the next one."""

    def hold(self, rounds) -> None:
        """Nobody interrupts."""

    def make_room(self, turn, error) -> None:
        turn.samples = turn.samples[1:]


def test_drafts_that_wait_are_told_with_the_round_that_verifies_them(clock) -> None:
    engine = TabularEngine(SCENARIO.target)
    forward, calls = engine.forward, list[int]()

    def crowded(works, fills=()):
        calls.append(len(works))
        if len(calls) == 1:
            raise OutOfPages("no room")
        return forward(works, fills)

    engine.forward = crowded  # type: ignore[method-assign]
    first, second, *_ = told(clock, Crowded(both(clock, engine)), engine)
    assert [(each.sample, each.draft_seconds) for each in first] == [(1, 0.0)]
    assert first[0].seconds == pytest.approx(DECIDING + 2 * PASS + VERIFYING)
    assert [(each.sample, each.draft_seconds) for each in second] == [(0, DRAFTING), (1, 0.0)]
    assert sum(each.seconds - each.draft_seconds for each in second) == pytest.approx(DECIDING + PASS + 2 * VERIFYING)


def test_rows_that_only_fill_a_pass_up_are_told_with_its_rounds(clock) -> None:
    engine = TabularEngine(SCENARIO.target)
    forward, filled = engine.forward, list[int]()

    def padded(works, fills=()):
        filled.append(3 + len(filled))
        engine.padding_rows = filled[-1]  # type: ignore[attr-defined]
        return forward(works, fills)

    engine.forward = padded  # type: ignore[method-assign]
    done = list(rounds(engine, FixedController(3), Together(both(clock, engine))))
    assert [{each.padding_rows for each in step} for step in done] == [{rows} for rows in filled]
    plain = TabularEngine(SCENARIO.target)
    assert {
        each.padding_rows for step in rounds(plain, FixedController(3), Together(both(clock, plain))) for each in step
    } == {0}
