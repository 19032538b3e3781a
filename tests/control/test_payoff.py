"""The controller against simulated costs and acceptances: it finds what pays, and notices when the text changes."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.control.payoff import FIRST_WAIT, PayoffController
from truedraw.protocol import Round

K = 4


def a_round(tokens: int, drafted: int, seconds: float) -> Round:
    return Round(0, (0,) * tokens, ("draft",) * tokens, (0.0,) * tokens, (0.0,) * tokens, drafted, tokens - 1,
                 seconds=seconds)  # fmt: skip


def simulate(controller, acceptance, cost: float, rounds: int, seed: int = 0) -> tuple[float, list[bool]]:
    """Speed against plain (1 token in time 1), and which rounds drafted; `acceptance` is a function of the round."""
    rng = np.random.default_rng(seed)
    controller.observe([a_round(1, 0, 30.0)])
    tokens, seconds, drafting = 0, 0.0, []
    for step in range(rounds):
        drafted = controller.budget([K])[0]
        kept = int(np.argmin([*(rng.random(drafted) < acceptance(step)), False]))
        took = (cost if drafted else 1.0) * rng.lognormal(0, 0.05)
        controller.observe([a_round(kept + 1, drafted, took)])
        tokens, seconds = tokens + kept + 1, seconds + took
        drafting.append(bool(drafted))
    return tokens / seconds, drafting


def speed(acceptance: float, cost: float) -> float:
    return (1 - acceptance ** (K + 1)) / (1 - acceptance) / cost


@pytest.mark.parametrize("acceptance", [0.0, 0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("cost", [1.05, 1.3, 2.0])
def test_close_to_the_better_of_drafting_and_not(acceptance: float, cost: float) -> None:
    best = max(1.0, speed(acceptance, cost))
    reached = np.mean([simulate(PayoffController(K), lambda _: acceptance, cost, 600, seed)[0] for seed in range(10)])
    assert reached > max(0.9 * best, 0.94)


def test_it_comes_back_when_the_text_begins_to_repeat_itself() -> None:
    _, drafting = simulate(PayoffController(K), lambda step: 0.9 if step > 300 else 0.0, 1.3, 900)
    assert np.mean(drafting[100:300]) < 0.2
    assert np.mean(drafting[700:]) > 0.9


def test_it_gives_up_when_the_text_stops_repeating_itself() -> None:
    _, drafting = simulate(PayoffController(K), lambda step: 0.9 if step < 300 else 0.0, 1.3, 900)
    assert all(drafting[3:300])
    assert np.mean(drafting[400:]) < 0.2


def test_rounds_for_which_nothing_was_found_cost_no_patience() -> None:
    controller = PayoffController(K)
    for _ in range(3 * FIRST_WAIT):
        controller.observe([a_round(1, 0, 1.0)])
    assert controller.budget([9, 2]) == [4, 2]
