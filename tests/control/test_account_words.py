"""What asking drafters takes is told apart from the passes, and whose offers were worth more."""

from __future__ import annotations

import pytest

from control.worlds import Source, World
from truedraw.cli.explaining import in_words
from truedraw.control.account import MEASURING, NOTHING_OFFERED, Account
from truedraw.control.average import FIRST
from truedraw.control.experience import Experience
from truedraw.control.explanation import Explanation, together
from truedraw.control.payoff import PayoffController
from truedraw.protocol import Asker, Choice, Proposal, Round

ASKER = Asker(0, 7, ("it",))
PASS, WARMING, CALL = 1.0, 30.0, 0.01  # seconds


def rounds(account: Account, known: Experience, calls: int, seconds: float, taken: bool = False) -> None:
    """One text asks a drafter that has two tokens, and takes them or none."""
    for _ in range(calls):
        account.begin({ASKER.sample}, [ASKER], [{"it": Proposal.chain([1, 2])}], {"it": seconds})
        known.of("it").pace.add(seconds, 2)
        if taken:
            account.drafted([ASKER], [Choice("it")], [(1.5, 0.0)])
        else:
            account.plain(MEASURING)
        tokens = (1, 2, 3)[: 3 if taken else 1]
        done = Round(0, tokens, (), (), (), 2 * taken, 2 * taken, draft_seconds=seconds, seconds=PASS + seconds,
                     pass_rows=1 + 2 * taken, source="it" if taken else "")  # fmt: skip
        account.saw([done], done.pass_rows, done.pass_rows)
        known.costs.add(1, PASS)


def test_first_calls_which_warm_up_are_not_what_was_expected() -> None:
    account = Account(known := Experience())
    rounds(account, known, FIRST, WARMING)
    found = account.explanation()
    (width,) = found.to_dict()["widths"]
    assert width["expected_passes"] == pytest.approx(1)
    assert width["passes"] == pytest.approx(1)
    assert found.predicted_speedup == pytest.approx(1)
    assert found.actual_speedup == pytest.approx(PASS / (PASS + WARMING))  # they were spent all the same
    stay = found.plain[MEASURING].to_dict()
    assert (stay["asking_seconds"], stay["expected_asking_seconds"]) == (FIRST * WARMING, 0)


def test_later_calls_are_expected_to_take_what_they_take() -> None:
    account = Account(known := Experience())
    rounds(account, known, FIRST, CALL)
    rounds(account, known, 20, CALL)
    stay = account.explanation().plain[MEASURING]
    assert stay.expected_seconds == pytest.approx(20 * CALL)
    assert stay.seconds == pytest.approx((FIRST + 20) * CALL)
    assert account.explanation().predicted_speedup == pytest.approx(23 / (23 + 20 * CALL))
    rounds(account, known, 1, CALL, taken=True)
    passes = account.explanation().widths[1, 2]
    assert passes.seconds == pytest.approx(PASS + CALL)
    assert passes.expected_seconds == pytest.approx(known.costs.seconds(3) + CALL)
    assert account.explanation().plain[MEASURING].seconds == stay.seconds


def test_a_drafter_that_had_nothing_after_all_was_asked_in_a_plain_round() -> None:
    account = Account(Experience())
    account.begin({ASKER.sample}, [ASKER], [{}], {})
    account.drafted([ASKER], [Choice("it", tokens=2)], [(1.1, 0.0)])
    account.saw([Round(0, (1,), (), (), (), 0, 0, draft_seconds=0.25, seconds=1.25)], 1, 1)
    found = account.explanation()
    assert found.plain[NOTHING_OFFERED].seconds == 0.25
    assert found.widths[1, 0].seconds == 1.0


def test_whose_offers_were_worth_more_and_by_how_much() -> None:
    account = Account(Experience())
    for worths in ({"a": 2.0, "b": 1.0}, {"b": 0.5, "a": 1.0}, {"c": 9.0}, {"b": 0.4, "c": 0.2, "a": 0.3}, {}):
        account.weighed(worths)
    found = {(each["drafter"], each["to"]): each for each in account.explanation().to_dict()["preferences"]}
    assert found.keys() == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found["a", "b"]["times"] == 3
    assert found["a", "b"]["worth"] == pytest.approx(1.1)
    assert found["a", "b"]["other_worth"] == pytest.approx(1.9 / 3)
    both = together([account.explanation(), account.explanation()])
    assert both is not None
    assert both.rivalries["a", "b"].times == 6


def test_the_best_that_each_was_preferred_to_in_words() -> None:
    account = Account(Experience())
    for name in ("a", "b", "c"):
        account._of(name)
    account.weighed({"a": 2.0, "b": 1.5, "c": 0.5})
    lines = in_words({"method": "auto", "chosen": True, **account.explanation().to_dict()}).splitlines()
    told = [line.strip() for line in lines if " before " in line]
    assert [line.partition(":")[0] for line in told] == ["a before b", "b before c"]
    assert "(1 time) its own was worth 2.00 tokens on average and the other's 1.50" in told[0]


def test_a_controller_says_why_it_preferred_one() -> None:
    low = Source(lambda *_: 0.3, seconds=0.01, is_certain=False, has_opinion=False)
    world = World({"low": low, "high": Source(lambda *_: 0.9, has_opinion=False)})
    controller = PayoffController()
    world.run(controller, 200)
    found: Explanation = controller.account.explanation()
    (only,) = found.to_dict()["preferences"]
    assert (only["drafter"], only["to"]) == ("high", "low")
    assert only["worth"] > 2 * only["other_worth"] > 0
    assert found.drafters["high"].taken > found.drafters["low"].taken
