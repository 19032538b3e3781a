"""What passes are thought to cost."""

from __future__ import annotations

from math import exp, inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from control.test_payoff import steep
from truedraw.control.costs import DRIFT, ENOUGH, KNOWN, PassCosts
from truedraw.control.settling import MUCH, SETTLES
from truedraw.control.table import LADDER, MOST_OWN, USUAL
from truedraw.engine.cpu.timing import ROWS
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import PassTable

TABLE = PassTable({1: 0.01, 8: 0.012, 16: 0.02, 32: 0.03}, {4: 0.012, 16: 0.025, 32: 0.04})


class Knowing:
    """An engine that was measured, or could not be."""

    def __init__(self, table: PassTable | None) -> None:
        self._table = table

    def pass_costs(self) -> PassTable | None:
        return self._table

    def doubt_costs(self) -> None:
        raise AssertionError("nobody asked")


def test_costs_follow_the_measured_ones() -> None:
    costs = PassCosts()
    for _ in range(60):
        for rows in (1, 2, 8):
            for _ in range(4):
                costs.add(rows, 3 * steep(rows))
    for rows in (1, 2, 8):
        assert costs.seconds(rows) == pytest.approx(3 * steep(rows), rel=0.05)
    assert costs.passes(8) == 4 * 60
    assert costs.passes(16) == 0


def test_one_measured_count_sets_the_unit_of_all() -> None:
    costs = PassCosts({1: 1.0, 8: 2.0, 16: 3.0})
    for _ in range(5):
        costs.add(8, 0.02)
    assert costs.seconds(1) == pytest.approx(0.01)
    assert costs.seconds(12) == pytest.approx(0.025)
    assert costs.seconds(32) == pytest.approx(0.05)


def passing(costs: PassCosts, settled: bool) -> None:
    """Two texts' rounds behind a prompt, of which the first ones take half as long again, with a draft or without."""
    for number in range(SETTLES + 8 * settled):
        rows = 1 + number % 2
        costs.add(rows, steep(rows) * (1.5 if number < SETTLES else 1.0))


@pytest.mark.parametrize("prompt", [MUCH, 30, 300])
@pytest.mark.parametrize("scores", [True, False])
def test_passes_behind_a_prompt_say_nothing_of_what_others_take(prompt, scores) -> None:
    """They take half as long again, whatever their rows are; a prompt's pass need not have scored anybody."""
    costs = PassCosts()
    for _ in range(40):
        costs.add(prompt, costs.seconds(prompt)) if scores else costs.prompts(prompt)
        assert not costs.is_settled
        passing(costs, settled=True)
        assert costs.is_settled
    for rows in (1, 2):
        assert costs.seconds(rows) == pytest.approx(steep(rows), rel=0.03)


def test_the_last_prompt_counts_and_a_tree_is_none() -> None:
    costs = PassCosts()
    for rows in (200, *[1] * (SETTLES - 1), MUCH):
        costs.add(rows, costs.seconds(rows))
    assert not costs.is_settled
    for rows in [MUCH - 1] * SETTLES:
        costs.add(rows, costs.seconds(rows))
    assert costs.is_settled
    costs.add(2 * MUCH, costs.seconds(2 * MUCH), texts=3)  # no more than some drafts of each
    costs.prompts(MUCH - 1)
    assert costs.is_settled


@pytest.mark.parametrize("texts", [1, 24])
def test_where_no_pass_ever_settles_all_of_them_count(texts) -> None:
    """Until some do."""
    costs = PassCosts()
    for _ in range(60):
        costs.add(MUCH * texts, costs.table(MUCH * texts, texts), texts)
        for _ in range(4):
            costs.add(texts, 1.5 * costs.table(texts, texts), texts)
    assert costs.is_settled
    assert costs.seconds(texts, texts) == pytest.approx(1.5 * costs.table(texts, texts), rel=0.05)
    for _ in range(2 * SETTLES):
        costs.add(texts, 1.5 * costs.table(texts, texts), texts)
    costs.add(MUCH * texts, costs.table(MUCH * texts, texts), texts)
    assert not costs.is_settled


def test_a_single_pass_that_was_disturbed_moves_little() -> None:
    costs = PassCosts()
    for _ in range(20):
        costs.add(1, 1.0)
    costs.add(8, 5 * USUAL[8])
    assert costs.seconds(8) < 1.8 * USUAL[8]


@pytest.mark.parametrize("rows", [1, 3, 17, 200, 1000])
def test_before_anything_is_measured_the_table_speaks(rows: int) -> None:
    costs = PassCosts()
    assert costs.seconds(rows) == costs.table(rows) <= costs.table(rows + 1)
    assert list(LADDER) == sorted(LADDER)


def test_an_engine_that_was_measured_is_believed() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    assert costs.seconds(1) == 0.01
    assert costs.seconds(12) == pytest.approx(0.016)
    assert costs.seconds(64) == pytest.approx(0.05)


@pytest.mark.parametrize("engine", [Knowing(None), TabularEngine({(): [0.5, 0.5]})])
def test_without_a_measurement_the_usual_table_speaks(engine: object) -> None:
    costs = PassCosts.of(engine)
    assert [costs.seconds(rows) for rows in USUAL] == list(USUAL.values())


def test_what_is_measured_is_what_the_usual_table_has() -> None:
    assert tuple(rows for rows in USUAL if rows <= 64) == ROWS


def test_texts_cost_more_than_their_rows() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for texts, seconds in TABLE.texts.items():
        assert costs.seconds(texts, texts) == pytest.approx(seconds)
    assert costs.seconds(32, 16) == pytest.approx(0.03 + 0.005)  # what 16 rows of one text would not have cost
    assert costs.seconds(10, 10) == pytest.approx(costs.seconds(10) + costs.table(4, 4) - costs.table(4)
                                                  + (0.005 - (0.012 - costs.table(4))) / 2)  # fmt: skip
    assert costs.seconds(64, 64) == pytest.approx(0.05 + 0.01 + 32 * 0.005 / 16)
    assert costs.seconds(32, 1) == costs.seconds(32) == 0.03


def test_texts_never_cost_less_than_their_rows() -> None:
    costs = PassCosts({1: 1.0, 8: 2.0}, {1: 5.0, 4: 0.1, 8: 2.5})
    assert costs.seconds(4, 4) == costs.seconds(4)
    assert costs.seconds(8, 8) == 2.5
    assert costs.seconds(1, 1) == 1.0


LONG = PassTable({1: 0.01, 8: 0.012}, {4: 0.012}, {1: 1e-5, 4: 4e-5}, 100)


def of_length(length: float, table: PassTable = LONG) -> PassCosts:
    costs = PassCosts.of(Knowing(table))
    costs.length = length
    return costs


def test_rows_of_long_texts_cost_more_than_those_of_short_ones() -> None:
    short, long = of_length(0.0), of_length(1100.0)
    for rows in (1, 2, 4, 6, 16):
        assert long.seconds(rows) - short.seconds(rows) == pytest.approx(rows * 1e-5 * 1000)
    assert long.seconds(8, 2) == pytest.approx(short.seconds(8, 2) + 2 * 4e-5 * 1000)  # four rows of each text
    assert long.unit == short.unit == short.seconds(1) == 0.01
    assert short.seconds(4, 1, 1100.0) == long.seconds(4)


def test_what_was_measured_is_what_passes_of_such_texts_take() -> None:
    for length in (0.0, 50.0, 100.0):
        assert of_length(length).seconds(8) == 0.012


def test_rows_of_a_prompt_do_not_look_at_a_long_text_beside_it() -> None:
    """It is in chunks of 64 rows or so, and a text's own rows are few."""
    long, short = of_length(4100.0), of_length(0.0)
    assert long.seconds(68) - short.seconds(68) == pytest.approx(MOST_OWN * 1e-5 * 4000)
    costs = PassCosts.of(Knowing(PassTable({1: 0.003, 8: 0.005, 64: 0.04}, {4: 0.004}, {1: 9e-7, 8: 3.2e-6}, 100)))
    costs.length = 4000.0
    for number in range(600):
        rows = 68 if number % 12 == 0 else 4
        costs.add(rows, (0.0037 if rows == 4 else 0.043) + 2e-6 * 3900)
    assert costs.is_timed
    assert not costs.drifted()


def test_what_long_texts_take_is_not_held_against_their_row_count() -> None:
    """Short and long texts in turns, of two rows each: either takes what the table says, on a machine half as fast."""
    costs = of_length(0.0)
    for _ in range(60):
        for length in (50.0, 2000.0):
            for rows in (1, 4):
                costs.length = length
                costs.add(rows, 2 * costs.table(rows, 1, length))
    for length in (50.0, 2000.0):
        costs.length = length
        for rows in (1, 2, 4):
            assert costs.seconds(rows) == pytest.approx(2 * costs.table(rows, 1, length), rel=1e-3)


@pytest.mark.parametrize("further", [{1: -1e-6}, {1: float("nan")}, {1: float("inf")}])
def test_what_cannot_be_is_not_believed_of_long_texts(further) -> None:
    assert not PassTable({1: 0.01, 8: 0.012}, {}, further).is_sound
    assert PassCosts.of(Knowing(PassTable({1: 0.01, 8: 0.012}, {}, further))).seconds(8) == USUAL[8]


@pytest.mark.parametrize("further", [None, {}])
def test_a_table_of_somebody_else_s_may_lack_what_came_later(further) -> None:
    for table in (SimpleNamespace(rows={1: 0.01, 8: 0.012}, texts={}), PassTable({1: 0.01, 8: 0.012}, {}, further)):
        assert PassCosts.of(Knowing(table)).seconds(8, 1, 5000.0) == 0.012


def test_measured_passes_of_many_texts_set_the_unit_of_all() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for _ in range(40):
        costs.add(16, 2 * 0.025, texts=16)
    assert costs.seconds(16, 16) == pytest.approx(0.05)
    assert costs.seconds(1) == pytest.approx(0.02)


def drifting(factor: float, wide: int = 8, passes: int = ENOUGH + KNOWN) -> PassCosts:
    """Costs by which passes of `wide` rows take `factor` times what they should beside those of one row."""
    costs = PassCosts.of(Knowing(TABLE))
    for _ in range(passes):
        for _ in range(2):
            costs.add(1, 3 * costs.table(1))
        for _ in range(2):
            costs.add(wide, 3 * factor * costs.table(wide))
    return costs


def test_a_table_that_compares_wrongly_has_drifted() -> None:
    assert drifting(2.0).drifted()
    assert drifting(0.5).drifted()


def test_small_differences_few_passes_and_counts_beyond_the_table_are_no_drift() -> None:
    assert not PassCosts().drifted()
    assert not drifting(1.0).drifted()
    assert not drifting(0.99 * exp(DRIFT)).drifted()
    assert not drifting(9.0, passes=ENOUGH // 2 - 1).drifted()
    assert not drifting(9.0, wide=256).drifted()


def test_rows_that_only_fill_a_pass_teach_the_speed_and_no_row_count() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for _ in range(100):
        costs.add(4, 2 * costs.table(6, 4), texts=4, padding=4)
    assert costs.seconds(6, 4) == pytest.approx(2 * costs.table(6, 4))
    assert (costs.passes(8, 4), costs.passes(4, 4)) == (0, 0)


def test_an_engine_that_computes_two_rows_at_least_takes_as_long_for_one() -> None:
    costs = PassCosts()
    for _ in range(20):
        costs.add(1, 1.5, padding=1)
    assert costs.seconds(1) == costs.seconds(2) == pytest.approx(1.5)
    assert costs.passes(2) == 20 - KNOWN
    assert costs.alike(1, 2)


def test_what_others_take_tells_of_a_machine_that_becomes_faster() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for seconds in (2.0, 1.0):
        for _ in range(200):
            costs.add(8, seconds * costs.table(8))
        assert costs.seconds(1) == pytest.approx(seconds * costs.table(1), rel=0.02)


def test_a_slow_first_pass_is_forgotten() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for seconds in (0.9, *[0.01] * 40):
        costs.add(1, seconds)
    assert costs.seconds(1) == pytest.approx(0.01, rel=0.01)


def test_the_shortest_of_the_first_passes_counts() -> None:
    costs = PassCosts()
    for seconds in (0.01, 0.02, 0.9):
        costs.add(1, seconds)
    assert costs.seconds(1) == pytest.approx(0.01)


def test_one_long_pause_moves_little() -> None:
    costs = PassCosts()
    for seconds in (*[1.0] * 40, 1000.0):
        costs.add(1, seconds)
    assert costs.seconds(1) < 1.1
    costs.add(8, 1000.0)
    assert costs.change < 0.8


def test_the_change_of_a_row_count_is_learnt() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for _ in range(60):
        for rows in (1, 8):
            for extra in (0.003, 0.0, 0.0):
                costs.add(rows, costs.table(rows) + extra)
    assert costs.change == pytest.approx(0.003, rel=0.15)
    assert costs.seconds(8) == pytest.approx(costs.table(8), rel=0.03)


def test_nothing_runs_away() -> None:
    """Neither the speed nor a row count takes over what the other has learnt, however long it goes on."""
    costs, rng = PassCosts.of(Knowing(TABLE)), np.random.default_rng(0)
    for rows in rng.choice([1, 8, 16], size=20_000).repeat(3).tolist():
        costs.add(rows, costs.table(rows) * rng.lognormal(0, 0.1))
    for rows in (1, 8, 16, 32):
        assert costs.seconds(rows) == pytest.approx(costs.table(rows), rel=0.08)


def test_a_table_from_a_busy_machine_is_given_up() -> None:
    costs = PassCosts.of(Knowing(PassTable({1: 0.03, 8: 0.03, 16: 0.03}, {})))
    for _ in range(100):
        costs.add(1, 0.01)
    assert costs.seconds(1) == pytest.approx(0.01, rel=0.02)
    assert costs.seconds(16) == pytest.approx(0.01 * USUAL[16], rel=0.02)
    assert costs.drifted()


def test_behind_a_table_that_was_given_up_the_last_pass_takes_as_long() -> None:
    """What was learnt of row counts was by that table."""
    costs = PassCosts.of(Knowing(PassTable({1: 0.03, 8: 0.03, 16: 0.03}, {})))
    for number in range(4 * ENOUGH):
        rows, before = (1, 8)[number % 2], costs.seconds((1, 8)[number % 2])
        costs.add(rows, 0.01 if rows == 1 else 0.014)
        if costs.drifted():
            break
    assert costs.num_passes > ENOUGH  # the first ones may be an accident
    assert costs.seconds(rows) == pytest.approx(before, rel=0.1)
    assert costs.seconds(16) == pytest.approx(costs.seconds(1) * USUAL[16])


def test_a_machine_that_is_slower_altogether_has_not_drifted() -> None:
    costs = PassCosts.of(Knowing(TABLE))
    for _ in range(ENOUGH):
        for rows in (1, 8, 16):
            costs.add(rows, 20 * costs.table(rows))
    assert not costs.drifted()


def test_counts_that_an_engine_pads_over_are_told_apart_no_longer_once_it_does() -> None:
    costs = PassCosts()
    for rows in (1, 3, 4, 5, 6) * 20:
        costs.add(rows, 1.0 + 0.1 * rows)
    assert not costs.alike(3, 4)
    assert costs.passes(3) == 20 - 1  # the first few only say what the unit is
    costs.add(3, 1.4, padding=1)
    assert costs.alike(3, 4)
    assert costs.alike(5, 6)
    assert not costs.alike(4, 6)
    assert costs.passes(3) == costs.passes(4) > 0


def test_what_was_learnt_of_counts_that_are_told_apart_no_longer_is_no_drift() -> None:
    costs = PassCosts()
    for _ in range(2 * ENOUGH):
        for rows in (1, 3, 4):
            costs.add(rows, 2.0 if rows == 3 else 1.0)
    assert costs.drifted()
    costs.add(3, 1.0, padding=1)
    assert not costs.drifted()


@pytest.mark.parametrize("table", [
    PassTable({}, {}), PassTable({1: 0.0}, {}), PassTable({1: -1.0, 2: 1.0}, {}), PassTable({1: float("nan")}, {}),
    PassTable({1: 1.0, 2: 1.1}, {4: float("inf")}),
])  # fmt: skip
def test_a_measurement_that_cannot_be_is_none(table) -> None:
    class Measured(TabularEngine):
        def pass_costs(self, *, anew=False):
            return table

        def doubt_costs(self):
            pass

    costs = PassCosts.of(Measured({(): [0.5, 0.5]}))
    for _ in range(20):
        costs.add(1, 0.01)
    costs.add(1, float("nan"))
    assert costs.seconds(1) == pytest.approx(0.01, rel=0.2)


def test_drafts_that_take_longer_than_the_table_says_do_not_make_plain_passes_dear() -> None:
    """They were held to be a slow machine, for as long as nobody measured a plain pass: then drafts seemed to pay."""
    costs = PassCosts({1: 1.0, 2: 1.05, 4: 1.1})
    for rows, seconds in [(1, 1.0)] * 20 + [(2, 1.4)] * 200:
        costs.add(rows, seconds)
    assert costs.seconds(1) == pytest.approx(1.0, rel=0.07)
    assert costs.seconds(2) == pytest.approx(1.4, rel=0.03)


def test_a_machine_that_becomes_slow_does_so_for_passes_that_nobody_measures() -> None:
    costs = PassCosts({1: 1.0, 2: 1.05, 4: 1.1})
    for rows, seconds in [(1, 1.0)] * 20 + [(2, 1.05)] * 100 + [(2, 2.1)] * 300:
        costs.add(rows, seconds)
    assert costs.seconds(1) > 1.5


def test_what_is_known_of_few_passes_holds_for_other_row_counts() -> None:
    """The first ones warm up; a count that nobody tried is not thought to cost less than those that were."""
    costs = PassCosts({1: 1.0, 2: 1.05, 4: 1.1})
    for seconds in [1.0] * 4 + [1.5] * 8:
        costs.add(1, seconds)
    assert costs.seconds(2) > costs.seconds(1)


def test_a_slow_machine_is_one_for_the_counts_that_did_not_come_by_meanwhile() -> None:
    """Many texts: each count comes seldom, and all of them tell of the machine."""
    costs, rng = PassCosts({1: 1.0, 2: 1.05, 64: 4.0}), np.random.default_rng(0)
    for slow in [1.0] * 400 + [2.0] * 300:
        texts = int(rng.integers(1, 17))
        if texts != 3:
            costs.add(2 * texts, slow * costs.table(2 * texts, texts), texts)
    assert costs.seconds(6, 3) > 1.7 * costs.table(6, 3)


def test_passes_that_are_mostly_padding_tell_of_the_machine() -> None:
    costs = PassCosts()
    for seconds in [1.0] * 40 + [3.0] * 300:
        costs.add(5, seconds, 5, padding=3)
    assert costs.seconds(8, 5) > 2.5


@pytest.mark.parametrize("odd", [nan, inf])
def test_passes_told_together_that_took_what_cannot_be_tell_nothing(odd) -> None:
    costs = passed(20)
    costs.add_more(1, odd, 1, 7)
    assert costs.num_passes == 27
    assert costs.seconds(1) == pytest.approx(0.1)


def test_a_pass_may_take_no_time_by_a_coarse_clock() -> None:
    costs = PassCosts()
    for _ in range(20):
        costs.add(1, 0.0)
    costs.add_more(1, 0.0, 1, 7)
    assert 0.0 < costs.seconds(1) < 1e-6


def test_passes_told_together_behind_a_prompt_are_counted_and_learnt_from_where_they_settle() -> None:
    costs = passed(20)
    costs.prompts(10 * MUCH)
    costs.add_more(1, 0.15, 1, SETTLES - 4)
    assert (costs.passes(1), costs.is_settled) == (20 - KNOWN, False)
    costs.add_more(1, 0.1, 1, 7)
    assert (costs.passes(1), costs.is_settled) == (20 - KNOWN + 3, True)
    assert costs.seconds(1) == pytest.approx(0.1)


def test_it_is_known_which_pass_was_the_last_of_its_kind() -> None:
    costs = passed(20)
    for _ in range(5):
        costs.add(8, 0.12)
    for _ in range(10):
        costs.add(1, 0.1)
    assert [(costs.last(rows), costs.passes(rows)) for rows in (1, 8, 16)] == [(35, 30 - KNOWN), (25, 5), (0, 0)]


def passed(count: int) -> PassCosts:
    """After so many passes of one row."""
    costs = PassCosts()
    for _ in range(count):
        costs.add(1, 0.1)
    return costs
