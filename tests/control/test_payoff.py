"""The controller against simulated costs and acceptances: it finds what pays, and notices when the text changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truedraw.control.payoff import PROBE_EVERY, Acceptance, PayoffController, table
from truedraw.protocol import Round

MOST = 7
Cost = Callable[[int, int], float]


def a_round(tokens: int, drafted: int, seconds: float) -> Round:
    return Round(0, (0,) * tokens, ("draft",) * tokens, (0.0,) * tokens, (0.0,) * tokens, drafted, tokens - 1,
                 seconds=seconds)  # fmt: skip


def simulate(acceptance, cost: Cost = table, samples: int = 1, rounds: int = 300, seed: int = 0, most: int = MOST):
    """(speed against plain, the lengths that were chosen); `acceptance` is a function of the round."""
    rng = np.random.default_rng(seed)
    controller = PayoffController(most)
    tokens, seconds, lengths = 0, 0.0, []
    for step in range(rounds):
        length = controller.budget([MOST] * samples)[0]
        kept = [int(np.argmin([*(rng.random(length) < acceptance(step)), False])) for _ in range(samples)]
        took = cost(length, samples) * rng.lognormal(0, 0.08)
        controller.observe([a_round(k + 1, length, (30 * took if step == 0 else took) / samples) for k in kept])
        tokens, seconds = tokens + sum(kept) + samples, seconds + took
        lengths.append(length)
    return tokens / seconds * cost(0, samples) / samples, lengths


def oracle(acceptance: float, cost: Cost = table, samples: int = 1) -> float:
    def speed(k: int) -> float:
        return (1 - acceptance ** (k + 1)) / (1 - acceptance) * cost(0, samples) / cost(k, samples)

    return max(speed(k) for k in (0, 1, 3, 7))


def steep(length: int, samples: int) -> float:
    """An engine on which every row costs three quarters of a pass."""
    return 0.25 + 0.75 * (length + 1) * samples


@pytest.mark.parametrize("acceptance", [0.0, 0.05, 0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("samples", [1, 4, 32])
@pytest.mark.parametrize("cost", [table, steep], ids=["table", "steep"])
def test_close_to_the_best_length(acceptance: float, samples: int, cost: Cost) -> None:
    reached = np.mean([simulate(lambda _: acceptance, cost, samples, seed=seed)[0] for seed in range(6)])
    assert reached > 0.93 * oracle(acceptance, cost, samples)


@pytest.mark.parametrize("acceptance", [0.0, 0.02, 0.05, 0.1])
def test_next_to_nothing_is_lost_where_nothing_is_accepted(acceptance: float) -> None:
    assert np.mean([simulate(lambda _: acceptance, seed=seed, rounds=120)[0] for seed in range(20)]) > 0.975


def test_it_lengthens_when_the_text_begins_to_repeat_itself_and_shortens_when_it_stops() -> None:
    _, lengths = simulate(lambda step: 0.9 if 300 <= step < 600 else 0.03, rounds=900)
    assert np.mean(lengths[100:300]) <= 3
    assert np.mean(lengths[360:600]) > 6
    assert np.mean(lengths[660:]) < 4


def test_it_probes_where_drafting_was_given_up() -> None:
    _, lengths = simulate(lambda _: 0.0, steep, rounds=400)
    assert 0 < np.count_nonzero(lengths[100:]) <= 2 * 300 / PROBE_EVERY


def test_acceptance_is_conditional_on_what_came_before() -> None:
    acceptance = Acceptance(3)
    for _ in range(500):
        acceptance.add(drafted=3, accepted=2)
    assert acceptance.survival() == pytest.approx([1, 1, 0], abs=0.12)


def test_budgets_respect_the_rooms_and_the_limit() -> None:
    controller = PayoffController(2)
    for _ in range(50):
        assert all(b <= min(2, room) for b, room in zip(controller.budget([5, 1, 0]), (5, 1, 0), strict=True))
        controller.observe([a_round(3, 2, 1.0), a_round(2, 1, 1.0), a_round(1, 0, 1.0)])
    assert controller.budget([5, 1, 0]) == [2, 1, 0]
    assert PayoffController(0).budget([4]) == [0]
