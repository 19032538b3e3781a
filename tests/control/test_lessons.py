"""Rounds in which nobody is asked are learnt of together, before the next decision."""

import pytest

from truedraw.control.costs import PassCosts
from truedraw.control.experience import Experience
from truedraw.control.lessons import MOST, TOGETHER, Seen, Stood, joined
from truedraw.control.payoff import PayoffController
from truedraw.protocol import Asker, Choice, DraftCost, Round


def done(sample=0, tokens=1, drafted=0, **changes):
    usual = {"engine_seconds": 1.0, "seconds": 1.1, "pass_rows": 1}
    return Round(sample, (1,) * tokens, (), (), (), drafted, 0, **{**usual, **changes})


def resting(pause):
    """A controller whose next `pause` rounds nobody is asked in."""
    controller = PayoffController()
    controller._next = controller._step + pause + 1
    return controller


def passes(controller):
    return controller._costs.num_passes


@pytest.mark.parametrize("pause", [1, 2, 7])
def test_they_are_read_when_the_last_of_them_is_over(pause):
    controller = resting(pause)
    for number in range(pause):
        assert passes(controller) == 0
        assert controller.rest([0]) == [pause - number]
        controller.observe([done()])
    assert passes(controller) == pause
    assert controller.rest([0]) == [0]


def test_who_is_asked_before_that_decides_by_all_of_them():
    controller = resting(9)
    for _ in range(4):
        controller.rest([0])
        controller.observe([done()])
    assert passes(controller) == 0
    controller.budget([Asker(1, 3, (), {})])
    assert passes(controller) == 4


def test_so_does_whoever_wants_an_account():
    controller = resting(9)
    for _ in range(4):
        controller.rest([0])
        controller.observe([done()])
    explained = controller.account.explanation()
    assert explained.rounds == 4
    assert sum(stay.rounds for stay in explained.plain.values()) == 4
    assert passes(controller) == 4


def test_rounds_that_were_decided_for_elsewhere_wait_for_their_like():
    controller = PayoffController()
    for number in range(1, 2 * MOST + 1):
        controller.observe([done(sample=5)])
        assert passes(controller) == number // MOST * MOST


def test_a_rest_is_told_from_rounds_that_follow_it():
    """A job that another controller decides for comes behind a rest."""
    controller = resting(3)
    controller.rest([0])
    controller.observe([done(finish_reason="stop")])
    controller.observe([done(sample=1)])
    assert controller.account.explanation().rounds == 1


def test_what_is_learnt_is_what_would_have_been_at_once(monkeypatch):
    """Of texts that are asked for, rest, and ask again."""
    monkeypatch.setattr("truedraw.control.payoff.perf_counter", lambda: 0.0)  # to decide takes no time

    def seconds(reads):
        controller, asker = PayoffController(), Asker(0, 7, (), {})
        for number in range(200):
            if not any(controller.rest([0])):
                controller.budget([asker])
                controller.choose([asker], [{}], {})
                controller._next = controller._step + 1 + number % 5
            passed = 1.0 + number % 7
            controller.observe([done(engine_seconds=passed, seconds=passed + 2.0 + number % 3)])
            if reads:
                controller._lessons.read()
        account = controller.account.explanation()
        return (controller._costs.seconds(1), controller._known.upkeep.seconds(1, 0)), account.rounds, account.plain

    at_once, later = seconds(reads=True), seconds(reads=False)
    assert at_once[1:] == later[1:]
    assert later[0] == pytest.approx(at_once[0], rel=0.15)  # of passes from 1 to 7, and 2 to 4 beside them


def step(at: int, drafted: int = 2, tokens: int = 2, **about) -> Seen:
    """Of a text for which a decision stands, and where it has number `at`."""
    asker, choice = Asker(0, 7, ("it",), {}), Choice("it", tokens=tokens)
    sample, changes = about.pop("sample", 0), about.pop("round", {})
    seen = [done(sample=sample, drafted=drafted, pass_rows=1 + drafted, **changes)]
    stood = Stood(at, at, [asker], [choice])
    return Seen(seen, frozenset({0}), tokens, 0, stood)._replace(**about)


def rest(left: int) -> Seen:
    return Seen([done(sample=0)], frozenset({0}), 0, left)


def lengths(*steps: Seen) -> list[int]:
    """Of what is learnt together."""
    found = list(joined(steps))
    assert [each for seen in found for each in seen.rounds] == [each for seen in steps for each in seen.rounds]
    assert all(seen.passes * (len(seen.rounds) // seen.passes) == len(seen.rounds) for seen in found)
    return [seen.passes for seen in found]


def test_steps_that_are_alike_are_learnt_from_together():
    assert lengths(*map(step, range(3))) == [3]
    assert lengths(*map(step, range(2 * TOGETHER + 3))) == [TOGETHER, TOGETHER, 3]
    assert lengths(*map(rest, (5, 4, 3, 2, 1))) == [4, 1]  # the one before somebody is asked is heard


def test_padded_steps_are_not():
    """What their rows teach depends on what is known by then."""
    assert lengths(*(step(at, round={"padding_rows": 1}) for at in range(3))) == [1, 1, 1]


def priced(calls, beside=()):
    """Seconds of a tree of three by what these calls took, the steps of a decision each, and of all beside passes."""
    known = Experience(PassCosts({1: 1.0, 8: 2.0}), {("it", False): DraftCost("it", False, 0.3, 0.1, 0.1)})
    controller = PayoffController(known)
    worths = {"it": [(0.9, 1), (0.8, 2), (0.7, 3)]}
    asker, choice, at = Asker(0, 7, ("it",), worths), Choice("it", tokens=3), 0
    controller._late.weigh([asker], known.is_cheap, frozenset({0}))
    for took in calls:
        for seconds in took:
            at += 1
            made = done(drafted=3, pass_rows=4, draft_seconds=seconds, late_seconds=seconds, source="it",
                        seconds=1.0 + seconds + (beside[at - 1] if beside else 0.1))  # fmt: skip
            controller._lessons.add(Seen([made], frozenset({0}), 3, 0, Stood(at, at, [asker], [choice])), wait=True)
        controller._lessons.read()
    return known.of("it").pace.tree(3, 3), known.upkeep.seconds(1, 3)


@pytest.mark.parametrize("first", [0.06, 0.3, 2.0])
def test_a_first_call_that_loads_says_nothing_of_those_behind_it(first):
    assert priced([[first, *[0.03] * 7], [0.03] * 8])[0] == pytest.approx(0.03, rel=0.01)


def test_one_that_is_held_up_counts_once():
    usual = [[0.03] * 8] * 8
    held_up = [*usual, [*[0.03] * 4, 1.5, *[0.03] * 3]]
    assert priced(held_up)[0] < 1.1 * priced(usual)[0]
    beside = [0.1] * 64 + [0.1] * 4 + [9.0] + [0.1] * 3
    assert priced(held_up, beside)[1] < 1.1 * priced(usual)[1]


@pytest.mark.parametrize("other", [
    step(3, drafted=1), step(3, tokens=3), step(4), step(3, sample=1), step(3, own=1e-4), step(3, rows=1), rest(3),
    step(3, present=frozenset({0, 1})), step(3, rounds=[done(), done(sample=1)]),
    step(3, rounds=[done(pass_rows=0)]),
])  # fmt: skip
def test_others_are_not(other):
    assert lengths(step(1), step(2), other) == [2, 1]
    assert lengths(other, step(6), step(7)) == [1, 2]


def test_passes_that_are_told_together_teach_what_they_take():
    single, together = PassCosts({1: 1.0, 8: 2.0}), PassCosts({1: 1.0, 8: 2.0})
    for number in range(40):
        rows, seconds = (1, 0.1) if number % 3 else (4, 0.25)
        for _ in range(8):
            single.add(rows, seconds)
        together.add(rows, seconds)
        if together.is_new:
            for _ in range(7):
                together.add(rows, seconds)
        else:
            together.add_more(rows, seconds, 1, 7)
    assert together.num_passes == single.num_passes == 320
    for rows, seconds in ((1, 0.1), (4, 0.25)):
        assert together.seconds(rows) == pytest.approx(seconds, rel=0.02)
        assert single.seconds(rows) == pytest.approx(seconds, rel=0.02)
        assert together.passes(rows) == pytest.approx(single.passes(rows), abs=2)


def test_plain_sampling_is_what_rounds_take_that_nobody_listens_to():
    """Not those in which drafters were asked, or listen since they are next; and all that others decide for."""
    controller = resting(6)
    for number in range(6):
        controller.rest([0])
        controller.observe([done(seconds=9.0 if number == 5 else 1.25)])
    for _ in range(3):
        controller.rest([0])
        controller.budget([Asker(0, 7, (), {})])
        controller.choose([Asker(0, 7, (), {})], [{}], {})
        controller.observe([done(seconds=9.0)])
    controller._lessons.read()
    upkeep = controller._known.upkeep
    assert upkeep.seconds(1, 0) == pytest.approx(0.25)
    other = PayoffController()
    for _ in range(9):
        other.observe([done(sample=5, seconds=1.5)])
    other._lessons.read()
    assert other._known.upkeep.seconds(1, 0) == pytest.approx(0.5)
