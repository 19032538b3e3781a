"""When plain passes are measured beside drafts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from truedraw.control.costs import KNOWN, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.settling import SETTLES
from truedraw.control.width import Width
from truedraw.control.yardstick import CLOSE, FIRST, GROWTH, LONGEST, PATIENCE, Yardstick
from truedraw.protocol import DraftCost, PassTable


def runs(rounds: int, rows: int, gain: float = 1.1, held: int = 0) -> list[int]:
    """Rounds that were plain to be measured, of those with `rows` draft rows for two texts.

    `held`: passes for which the engine goes on computing them after they are no longer asked for.
    """
    known = Experience()
    width, yardstick = Width(known, 15), Yardstick(known)
    found, since = [], 0
    width.rows, width.gain = rows, gain
    for each in range(rounds):
        if yardstick.is_due(2, 2, width):
            found.append(each)
            since += 1
            padding = rows if found and since <= held else 0
            known.costs.add(2, 1.0, texts=2, padding=padding)
        else:
            since = 0
            known.costs.add(2 + rows, 1.2, texts=2)
    return found


def both(costs: PassCosts) -> tuple[Width, Yardstick]:
    """By these costs."""
    known = Experience(costs)
    return Width(known, 15), Yardstick(known)


def lengths(found: list[int]) -> list[tuple[int, int]]:
    """Where each run begins, and its rounds."""
    begins = [each for each in found if each - 1 not in found]
    return [(first, next(n for n in range(1, 2000) if first + n not in found)) for first in begins]


def test_a_few_plain_passes_at_growing_distances() -> None:
    (begin, first), *later = lengths(runs(3000, 6))
    assert (begin, first) == (0, KNOWN + 1)
    distances = [right - left for (left, _), (right, _) in pairwise(later)]
    assert later[0][0] >= FIRST
    assert all(a <= b <= (GROWTH + 1) * a for a, b in pairwise(distances))
    assert max(distances) <= LONGEST + PATIENCE
    assert all(n == 4 for _, n in later)  # the first is the price of the change


def test_a_run_lasts_until_the_engine_lets_go_of_the_rows_of_drafts() -> None:
    assert [n for _, n in lengths(runs(400, 6, held=16))[1:]] == [20, 20]


def test_a_run_has_an_end_where_the_rows_never_go() -> None:
    later = lengths(runs(400, 6, held=1000))[1:]
    assert later
    assert all(n == PATIENCE for _, n in later)


def test_nothing_is_measured_where_everything_is_plain() -> None:
    assert len(runs(500, 0)) == KNOWN + 1


def test_where_much_is_gained_plain_passes_are_measured_seldom_but_always_again() -> None:
    begins = [begin for begin, _ in lengths(runs(4000, 6, 1.01 * CLOSE))]
    assert len(begins) == 1 + 4000 // LONGEST


def test_what_could_not_be_measured_is_not_tried_again_by_the_next_job() -> None:
    costs = PassCosts()
    for _ in range(KNOWN + 1):
        costs.add(8, 1.0, texts=2)
    for job in range(5):
        width, yardstick = both(costs)
        width.rows, width.gain = 6, 1.1
        found = 0
        for _ in range(FIRST // 2):
            found += yardstick.is_due(2, 2, width)
            costs.add(2, 1.0, texts=2, padding=6)
        assert found <= PATIENCE * (job % 2 == 1) + PATIENCE * (job > 1)


class Timed:
    """protocol.KnowsCosts."""

    def pass_costs(self, anew: bool = False) -> PassTable:
        return PassTable({1: 1.0, 2: 1.1, 4: 1.2, 8: 1.4}, {4: 1.3})

    def doubt_costs(self) -> None:
        pass


@pytest.mark.parametrize(
    ("engine", "call", "texts", "is_due"),
    [(Timed(), 0.2, 1, False), (Timed(), 0.2, 2, True), (Timed(), 0.01, 1, True), (None, 0.2, 1, True)],
)
def test_where_all_is_known_that_drafts_take_a_text_begins_with_them(engine, call, texts, is_due) -> None:
    known = Experience(PassCosts.of(engine), {("head", False): DraftCost("head", False, call, 0.1, 0.1)})
    width, yardstick = Width(known, 15), Yardstick(known)
    width.rows = 2
    assert [yardstick.is_due(texts, texts, width) for _ in range(3)] == [is_due] * 3
    for _ in range(KNOWN + 1):
        known.costs.add(3 * texts, 1.0, texts)
    assert not yardstick.is_due(texts, texts, width)
    for _ in range(FIRST):
        known.costs.add(3 * texts, 1.0, texts)
    assert yardstick.is_due(texts, texts, width)  # later a plain pass is measured all the same


def test_one_row_and_two_are_measured_together_where_the_engine_computes_two() -> None:
    costs = PassCosts()
    width, yardstick = both(costs)
    width.rows, width.gain = 1, 1.1
    for _ in range(6):
        costs.add(1, 1.0, padding=1)
    for _ in range(500):
        assert not yardstick.is_due(1, 1, width)
        costs.add(2, 1.0)


def test_behind_a_prompt_no_run_begins_and_one_under_way_waits() -> None:
    costs = PassCosts()
    for _ in range(KNOWN + 1):
        costs.add(8, 1.0)
    width, yardstick = both(costs)
    width.rows, width.gain = 7, 1.1
    for _ in range(FIRST):
        costs.add(8, 1.0)
    costs.prompts(100)
    found = []
    for _ in range(2 * SETTLES):
        found.append(yardstick.is_due(1, 1, width))
        if sum(found) == 2 and found[-1]:  # in the midst of a run
            costs.prompts(100)
        costs.add(1 if found[-1] else 8, 0.5)
    assert found == [False] * SETTLES + [True] * 2 + [False] * (SETTLES - 2)
