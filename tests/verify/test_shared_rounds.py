"""Rounds in which the engine's threads take part are decided as alone, token by token and bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from helping import helped
from truedraw import load
from truedraw.errors import EngineError
from truedraw.generate import loop
from truedraw.generate.means import Means
from truedraw.sampling.kernels.survey import SHARED
from truedraw.sampling.params import SamplingParams
from truedraw.testing import rounds
from truedraw.testing.rounds import LAWS, RULES, any_round
from truedraw.threads import NOBODY
from truedraw.threads.crew import crew_of


@pytest.fixture(scope="module")
def crew():
    return crew_of(2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("params", LAWS)
def test_a_round_is_the_same_with_helpers(crew, rule: str, params: SamplingParams, monkeypatch) -> None:
    monkeypatch.setattr(rounds, "SIZES", (SHARED + 37,))
    rng, alone, both = np.random.default_rng(5), Means(), Means(crew.board)
    for _ in range(12):
        one = any_round(rng, params)
        found = helped(crew, lambda one=one: one.at_once(rule, both))
        assert found == one.at_once(rule, alone)
        assert found is not None


def test_the_loop_gives_draws_the_engines_board(crew, monkeypatch) -> None:
    seen = []

    def means(board):
        seen.append(board)
        return Means(board)

    monkeypatch.setattr(loop, "Means", means)
    with load("tabular") as model:
        model.generate("the cat", max_tokens=3)
        model.engine.crew = crew
        model.generate("the cat", max_tokens=3)
    assert seen[0] is NOBODY
    assert seen[1] is crew.board
    assert Means(crew.board).judge._board is Means(crew.board).draws._memory[-1] is crew.board


def test_a_model_that_is_closed_before_the_first_pass_says_so() -> None:
    model = load("smollm2-135m")
    batch = model.batch()
    run, other = batch.add("the cat"), model.start("the cat")
    model.close()
    assert not batch.step()
    assert list(batch.completed()) == [run]
    for each in (run, other):
        with pytest.raises(EngineError, match="closed"):
            list(each)
