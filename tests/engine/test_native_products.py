"""Products of a head's matrices by kernels of ours, against plain numpy."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from truedraw.compiled import compiled
from truedraw.engine.native.blocks import LANES, QUAD, SIZE, Blocks, blocks_of
from truedraw.engine.native.machine import HAS_QUADS
from truedraw.engine.native.memory import room
from truedraw.engine.native.products import add_block, looked_up
from truedraw.engine.native.stages import counters
from truedraw.engine.native.sums import ALL, MOST_ROWS, block_adder
from truedraw.engine.native.together import multiply, round_here
from truedraw.engine.openvino.matrix import Matrix, dense
from truedraw.engine.openvino.rounding import quantise, quantise4

FINE = 0.01  # of a sum's spread: rows are rounded to 8 bits


@compiled()
def multiplied(rows, matrix, rounded, out, stages):
    for row in range(len(rows)):
        round_here(rows[row], rounded, row)
    multiply(matrix, rounded, out, False, stages, 0, 1)


def product(rows: np.ndarray, blocks: Blocks, out: np.ndarray) -> None:
    """out += rows times a matrix."""
    multiplied(rows, tuple(blocks), room(len(rows), blocks), out, counters(1))


def codes(out: int, width: int, groups: int) -> Matrix:
    rng = np.random.default_rng(out * width + groups)
    scales = rng.uniform(0.001, 0.1, (out, groups)).astype(np.float32)
    return Matrix(rng.integers(-128, 128, (out, width)).astype(np.int8), scales)


def checked(matrix: Matrix, numbers: np.ndarray, rows: np.ndarray) -> None:
    """`rows` times the matrix, which stands for `numbers`."""
    out = np.ones((len(rows), len(numbers)), np.float32)
    product(rows, blocks_of(matrix), out)
    expected = rows.astype(np.float64) @ numbers.T.astype(np.float64)
    spread = np.abs(rows.astype(np.float64)) @ np.abs(numbers.T.astype(np.float64))
    assert np.abs(out - 1 - expected).max() <= FINE * spread.max() + 1e-6


def some(count: int, width: int) -> np.ndarray:
    return np.random.default_rng(width).normal(size=(count, width)).astype(np.float32)


@pytest.mark.parametrize("out", [1, LANES - 1, LANES, LANES + 1, 3 * LANES])
@pytest.mark.parametrize(
    ("width", "groups"), [(1, 1), (7, 1), (64, 1), (130, 1), (576, 1), (576, 9), (576, 18), (256, 2)]
)
def test_codes_are_taken_as_they_are(out: int, width: int, groups: int) -> None:
    matrix = codes(out, width, groups)
    for count in (1, 3, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 1):
        checked(matrix, dense(matrix), some(count, width))


def test_each_code_and_each_number_has_its_place() -> None:
    """Rows that are 1 at one place read off a column, exactly."""
    matrix = codes(LANES + 3, 2 * SIZE, 2)
    rows = np.eye(2 * SIZE, dtype=np.float32)
    out = np.zeros((len(rows), LANES + 3), np.float32)
    product(rows, blocks_of(matrix), out)
    np.testing.assert_allclose(out.T, dense(matrix), rtol=1e-6)


@pytest.mark.parametrize("groups", [7, 35, 5])
def test_groups_that_are_no_blocks_are_rounded_anew(groups: int) -> None:
    """An odd number of columns, more than a block but no whole blocks, or one that a scale a row serves."""
    matrix = codes(70, 105 if groups != 5 else 600, groups)
    again = dense(quantise(dense(matrix)))
    checked(matrix, again, some(2, matrix.width))


@pytest.mark.parametrize("form", ["float32", "float16", "bfloat16", "int4"])
def test_other_numbers_are_rounded_as_a_head_s_are(form: str) -> None:
    values = np.random.default_rng(3).normal(size=(66, 128)).astype(np.float32)
    matrix = {
        "float32": lambda: Matrix(values),
        "float16": lambda: Matrix(values.astype(np.float16)),
        "bfloat16": lambda: Matrix((values.view(np.uint32) >> 16).astype(np.uint16)),
        "int4": lambda: quantise4(values),
    }[form]()
    held = dense(matrix)
    rounded = dense(quantise(held.reshape(-1, SIZE))).reshape(held.shape)
    checked(matrix, rounded, some(2, 128))


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1e4, 1e30])
def test_rows_of_any_size(size: float) -> None:
    matrix = codes(LANES, 128, 2)
    rows = some(2, 128)
    out = np.zeros((2, LANES), np.float32)
    product((rows * size).astype(np.float32), blocks_of(matrix), out)
    expected = rows.astype(np.float64) @ dense(matrix).T
    assert np.abs(out / size - expected).max() < 0.01 * np.abs(expected).max()


def test_the_largest_sums_fit() -> None:
    matrix = Matrix(np.full((LANES, SIZE), -128, np.int8), np.ones((LANES, 1), np.float32))
    out = np.zeros((1, LANES), np.float32)
    product(np.full((1, SIZE), -2.0, np.float32), blocks_of(matrix), out)
    np.testing.assert_allclose(out, 2.0 * 128 * SIZE)


def test_a_row_of_zeros_adds_nothing() -> None:
    out = np.full((1, 5), 3.0, np.float32)
    product(np.zeros((1, 64), np.float32), blocks_of(codes(5, 64, 1)), out)
    assert (out == 3.0).all()


@pytest.mark.parametrize("place", [0, 63, 127])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_not_hidden(place: int, bad: float) -> None:
    """A draft of such logits is none; a finite one of them would be made up."""
    rows = some(1, 128)
    rows[0, place] = bad
    out = np.zeros((1, LANES), np.float32)
    product(rows, blocks_of(codes(LANES, 128, 2)), out)
    assert not np.isfinite(out).any()


@pytest.mark.parametrize("groups", [1, 2, 18])
def test_rows_of_a_table_are_looked_up(groups: int) -> None:
    table, tokens = codes(11, 576, groups), np.array([10, 0, 3, 3])
    np.testing.assert_array_equal(looked_up(table.values, table.scales, tokens), dense(table)[tokens])


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_a_processor_without_the_instruction_has_the_same_sums(rows: int) -> None:
    """Codes and numbers at their ends among them; the sums are whole numbers that float32 holds, as the scales do."""
    chance, quads = np.random.default_rng(rows), 16
    fast, plain = add_block if HAS_QUADS else None, block_adder(has_quads=False)
    codes = chance.choice([0, 1, 127, 128, 255], (quads, LANES, QUAD)).astype(np.uint8)
    numbers = chance.choice([-128, -127, -1, 0, 5, 127], (rows, quads, QUAD)).astype(np.int8)
    starts = chance.integers(-1000, 1000, rows).astype(np.int32)
    steps, scales = (np.exp2(chance.integers(-3, 3, n)).astype(np.float32) for n in (rows, LANES))
    sums = starts[:, None] + np.einsum("plk,rpk->rl", codes.astype(np.int64), numbers.astype(np.int64))
    expected = 1 + sums * scales.astype(np.float64) * steps[:, None]
    for operation in filter(None, (fast, plain)):
        found = np.ones((rows, LANES), np.float32)
        calling(operation)(rows, codes.ravel(), numbers.ravel(), starts, steps, scales, found.ravel())
        np.testing.assert_array_equal(found, expected.astype(np.float32))


def calling(operation):
    quads = 16

    @numba.njit
    def summed(rows, codes, numbers, starts, steps, scales, whole):
        operation(rows, ALL, codes, 0, numbers, 0, quads * QUAD, quads, starts, steps, 0, 1, scales, 0, whole, 0)

    return summed
