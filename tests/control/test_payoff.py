"""The controller against simulated costs and acceptances: it finds what pays, and notices when the text changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from truedraw.control.acceptance import Acceptance
from truedraw.control.costs import LADDER, PassCosts, table
from truedraw.control.payoff import PROBE_EVERY, PayoffController
from truedraw.protocol import Round

MOST = 7
Cost = Callable[[int], float]
PROMPT_ROWS = 200


def a_round(tokens: int, drafted: int, seconds: float = 1.0, sample: int = 0, rows: int = 1) -> Round:
    return Round(sample, (0,) * tokens, ("draft",) * tokens, (0.0,) * tokens, (0.0,) * tokens, drafted, tokens - 1,
                 seconds=seconds, pass_rows=rows)  # fmt: skip


def simulate(acceptance, cost: Cost = table, samples: int = 1, rounds: int = 300, seed: int = 0, most: int = MOST):
    """(speed against plain, the budgets [rounds, samples]); `acceptance` of (round, sample)."""
    rng = np.random.default_rng(seed)
    controller = PayoffController(most)
    tokens, seconds, chosen = 0, 0.0, []
    for step in range(rounds):
        budgets = controller.budget([MOST] * samples, range(samples))
        kept = [kept_of(rng, length, acceptance(step, sample)) for sample, length in enumerate(budgets)]
        rows = samples + sum(budgets)
        took = cost(rows) * rng.lognormal(0, 0.08)
        seen = (PROMPT_ROWS, cost(PROMPT_ROWS)) if step == 0 else (rows, took)
        controller.observe(
            [
                a_round(k + 1, b, seen[1] / samples, i, seen[0])
                for i, (k, b) in enumerate(zip(kept, budgets, strict=True))
            ]
        )
        tokens, seconds = tokens + sum(kept) + samples, seconds + took
        chosen.append(budgets)
    return tokens / seconds * cost(samples) / samples, np.array(chosen)


def kept_of(rng: np.random.Generator, length: int, chance: float) -> int:
    return int(np.argmin([*(rng.random(length) < chance), False]))


def oracle(acceptances: Sequence[float], cost: Cost = table) -> float:
    """Of the controller that knows the acceptances and costs: the best number of the most valuable tokens."""
    samples = len(acceptances)
    worth = np.sort(np.concatenate([np.array(a) ** np.arange(1, MOST + 1) for a in acceptances]))[::-1]
    gains = samples + np.concatenate(([0.0], np.cumsum(worth)))
    return max(gain / cost(samples + m) for m, gain in enumerate(gains)) * cost(samples) / samples


def steep(rows: int) -> float:
    """An engine on which every row costs three quarters of a pass."""
    return 0.25 + 0.75 * rows


@pytest.mark.parametrize("acceptance", [0.0, 0.05, 0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("samples", [1, 4, 32])
@pytest.mark.parametrize(("cost", "share"), [(table, 0.95), (steep, 0.92)], ids=["table", "steep"])
def test_close_to_the_best_number(acceptance: float, samples: int, cost: Cost, share: float) -> None:
    reached = np.mean([simulate(lambda *_: acceptance, cost, samples, seed=seed)[0] for seed in range(6)])
    assert reached > share * oracle([acceptance] * samples, cost)


@pytest.mark.parametrize("samples", [4, 8, 16])
def test_the_rows_go_to_the_texts_that_repeat_themselves(samples: int) -> None:
    chances = [0.9 if sample % 4 == 0 else 0.02 for sample in range(samples)]
    runs = [simulate(lambda _, sample: chances[sample], samples=samples, seed=seed) for seed in range(4)]
    assert np.mean([reached for reached, _ in runs]) > 0.8 * oracle(chances)
    late = np.mean([budgets[100:].mean(0) for _, budgets in runs], axis=0)
    assert late[::4].mean() > 4 * np.delete(late, np.s_[::4]).mean()


@pytest.mark.parametrize("samples", [1, 8, 64])
@pytest.mark.parametrize("acceptance", [0.0, 0.02, 0.05, 0.1])
def test_next_to_nothing_is_lost_where_nothing_is_accepted(acceptance: float, samples: int) -> None:
    runs = [simulate(lambda *_: acceptance, samples=samples, seed=seed, rounds=120)[0] for seed in range(10)]
    assert np.mean(runs) > 0.975


def test_it_lengthens_when_the_text_begins_to_repeat_itself_and_shortens_when_it_stops() -> None:
    _, budgets = simulate(lambda step, _: 0.9 if 300 <= step < 600 else 0.03, rounds=900)
    assert np.mean(budgets[100:300]) <= 3
    assert np.mean(budgets[360:600]) > 6
    assert np.mean(budgets[660:]) < 4


def test_it_probes_where_drafting_was_given_up() -> None:
    _, budgets = simulate(lambda *_: 0.0, steep, rounds=400)
    assert 0 < np.count_nonzero(budgets[100:]) <= 2 * 300 / PROBE_EVERY


def test_acceptance_is_conditional_on_what_came_before() -> None:
    acceptance = Acceptance(3)
    for _ in range(500):
        acceptance.fade()
        acceptance.add(drafted=3, accepted=2)
    assert acceptance.chances() == pytest.approx([1, 1, 0], abs=0.12)


def test_a_drafter_that_seldom_finds_anything_gains_seldom() -> None:
    acceptance = Acceptance(3)
    for step in range(500):
        acceptance.fade()
        acceptance.add(drafted=3 if step % 4 == 0 else 0, accepted=0)
    assert acceptance.found() == pytest.approx(0.25, abs=0.1)


def test_a_new_text_is_thought_to_be_like_the_others() -> None:
    controller = PayoffController(MOST)
    for _ in range(60):
        budgets = controller.budget([MOST], [5])
        controller.observe([a_round(1 + budgets[0], budgets[0], table(1 + budgets[0]), 5, 1 + budgets[0])])
    assert controller.budget([MOST], [6]) == [MOST]


def test_budgets_respect_the_rooms_and_the_limit() -> None:
    controller, rooms = PayoffController(2), (5, 1, 0)
    for _ in range(50):
        budgets = controller.budget(rooms, range(3))
        assert all(b <= min(2, room) for b, room in zip(budgets, rooms, strict=True))
        rows = 3 + sum(budgets)
        controller.observe([a_round(b + 1, b, 1 / 3, sample, rows) for sample, b in enumerate(budgets)])
    assert controller.budget(rooms, range(3)) == [2, 1, 0]
    assert PayoffController(0).budget([4], [0]) == [0]


def test_rounds_without_a_pass_teach_nothing() -> None:
    one, other = PayoffController(3), PayoffController(3)
    for step in range(40):
        for controller in (one, other):
            budgets = controller.budget([3], [0])
            controller.observe([a_round(1 + budgets[0], budgets[0], 1.0, 0, 1 + budgets[0])])
        if step % 2:
            other.observe([a_round(1, 0, 50.0, 0, 0)])
        assert one.budget([3], [0]) == other.budget([3], [0])


def test_costs_follow_the_measured_ones() -> None:
    costs = PassCosts()
    for _ in range(50):
        for rows in (1, 2, 8):
            costs.add(rows, 3 * steep(rows))
    for rows in (1, 2, 8):
        assert costs.seconds(rows) == pytest.approx(3 * steep(rows), rel=0.15)
    assert 3 * steep(2) < costs.seconds(4) < 3 * steep(8)
    assert costs.seconds(16) > costs.seconds(8) * table(16) / table(8)


@pytest.mark.parametrize("rows", [1, 3, 17, 200, 1000])
def test_before_anything_is_measured_the_table_speaks(rows: int) -> None:
    assert PassCosts().seconds(rows) == table(rows)
    assert table(rows) <= table(rows + 1)
    assert list(LADDER) == sorted(LADDER)
