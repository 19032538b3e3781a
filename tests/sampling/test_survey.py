"""What every draw asks of a row, alone and with a helper: the same bits, and the sums of the definition."""

from __future__ import annotations

import numpy as np
import pytest

from helping import fall_asleep, helped
from truedraw.compiled import compiled
from truedraw.protocol import Purpose
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.kernels.exponential import power
from truedraw.sampling.kernels.spans import num_spans
from truedraw.sampling.kernels.survey import SHARED, survey
from truedraw.sampling.kernels.totals import PART
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.threads import NOBODY
from truedraw.threads.board import NUMBER
from truedraw.threads.crew import crew_of

SIZES = (1, 64, 2047, PART, PART + 1, SHARED - 1, SHARED, SHARED + 1, 5 * PART - 3, 49152)
COLDNESSES = (1.0, 1 / 0.7, 0.25, 1e300, np.finfo(np.float64).max / 2)
RELATIVE = 1e-14


@compiled()
def surveyed(values, coldness, tops, board):
    return survey(values, coldness, tops, board)


@compiled()
def powers(values, out):
    for i in range(values.shape[0]):
        out[i] = power(values[i])


@pytest.fixture(scope="module")
def crew():
    return crew_of(2)


def row(size: int, kind=np.float32) -> np.ndarray:
    return np.random.default_rng(size).normal(0, 4, size).astype(kind)


def found(values, coldness, board) -> tuple[tuple[float, float, float], bytes]:
    tops = np.full(num_spans.py_func(len(values)), -np.inf, values.dtype)
    return surveyed(values, coldness, tops, board), tops.tobytes()


@pytest.mark.parametrize("coldness", COLDNESSES)
@pytest.mark.parametrize("size", SIZES)
def test_sums_are_those_of_the_definition(size, coldness):
    values = row(size)
    (top, total, plain), _ = found(values, coldness, NOBODY)
    z = values.astype(np.longdouble) - values.max()
    with np.errstate(over="ignore", under="ignore"):
        assert total == pytest.approx(float(np.exp(z * np.longdouble(coldness)).sum()), rel=RELATIVE)
    assert plain == pytest.approx(float(np.exp(z).sum()), rel=RELATIVE)
    assert top == values.max()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", [size for size in SIZES if size >= SHARED])
def test_no_bit_depends_on_who_takes_part(crew, size, kind):
    values = row(size, kind)
    for coldness in COLDNESSES[:2]:
        alone = found(values, coldness, NOBODY)
        for _ in range(50):
            assert helped(crew, lambda coldness=coldness: found(values, coldness, crew.board)) == alone


def test_nobody_is_called_who_does_not_look(crew):
    values = row(49152)
    fall_asleep(crew)
    jobs = int(crew.board[NUMBER])
    found(values, 1.0, crew.board)
    assert crew.board[NUMBER] == jobs


def test_small_rows_are_not_shared(crew):
    large, small = row(SHARED), row(SHARED - 1)

    def both():
        found(large, 1.0, crew.board)
        jobs = int(crew.board[NUMBER])
        found(small, 1.0, crew.board)
        assert crew.board[NUMBER] == jobs

    helped(crew, both)


@pytest.mark.parametrize("place", [0, PART - 1, PART, 49151])
@pytest.mark.parametrize(("value", "top"), [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, 0.0)])
def test_what_is_no_number_is_found_in_every_part(crew, place, value, top):
    values = np.minimum(row(49152), 0.0)
    values[place] = value
    alone, both = found(values, 1.0, NOBODY)[0], helped(crew, lambda: found(values, 1.0, crew.board)[0])
    np.testing.assert_equal(alone[0], top)
    np.testing.assert_equal(both[0], top)
    assert not np.isfinite(top) or alone == both


EDITED = {"repetition_penalty": 1.3, "logit_bias": {5: 2.0}}


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.7}, {"top_p": 0.9}, {"temperature": 0.0}, EDITED])
def test_draws_are_the_same_with_helpers(crew, settings):
    law, chance = SamplingLaw(SamplingParams(**settings), Opening((3, 5), 49152)), PhiloxRandomness(5)
    alone, both = RowDraws(), RowDraws(crew.board)
    for position in range(20):
        values = np.random.default_rng(position).normal(0, 3, 49152).astype(np.float32)
        asked = law, values, chance, Purpose.TARGET, position, 0
        assert alone.draw(*asked) == helped(crew, lambda asked=asked: both.draw(*asked)) is not None
        assert alone.given(law, values, 7) == both.given(law, values, 7)


def test_powers_of_two_are_right_to_the_last_digits():
    values = -np.abs(np.random.default_rng(1).normal(0, 100, 200_000))
    values[:4] = 0.0, -0.5, -1.0, -1009.9
    out = np.empty_like(values)
    powers(values, out)
    exact = np.exp2(np.maximum(values, -1010.0).astype(np.longdouble))
    assert np.abs(out / exact - 1).max() < 1e-15
    assert out[0] == 1.0


def test_what_is_far_below_is_next_to_nothing():
    out = np.empty(3)
    powers(np.array([-1e4, -np.inf, -np.finfo(np.float64).max]), out)
    assert (out == 2.0**-1010).all()
