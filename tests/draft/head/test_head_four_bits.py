"""What a recurrent head reads in codes of 4 bits, and how these are found."""

from __future__ import annotations

import numpy as np
import pytest

from draft.head.random_heads import PlainCell, card, numbers
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.file import HeadFile, write_head
from truedraw.draft.head.four_bits import in_four_bits
from truedraw.draft.head.kinds.recurrent import RecurrentCell
from truedraw.engine.constants.matrix import LOW_HALF, Matrix, dense
from truedraw.engine.constants.rounding import INT4_GROUP, quantise, quantise4

WIDTH, INNER, VOCAB = 128, 64, 80
CHANCE = np.random.default_rng(3)
SHAPE = 5, 4 * INT4_GROUP


def grouped(values):
    return values.reshape(len(values), -1, INT4_GROUP)


def by_range(values: np.ndarray) -> np.ndarray:
    """From the least of a group to the largest in steps of one size."""
    groups = grouped(values)
    low = groups.min(-1, keepdims=True)
    step = (groups.max(-1, keepdims=True) - low) / LOW_HALF
    return (low + step * np.rint((groups - low) / np.where(step > 0, step, 1))).reshape(values.shape)


ROWS = {
    "normal": CHANCE.normal(size=SHAPE),
    "a few large": CHANCE.normal(size=SHAPE) ** 5,
    "all above 0": CHANCE.exponential(size=SHAPE),
    "small": CHANCE.normal(size=SHAPE) * 0.03,
    "large": CHANCE.normal(size=SHAPE) * 300,
    "one of each group": np.tile(np.eye(INT4_GROUP)[0] * -7, (5, 4)),
}


@pytest.mark.parametrize("kind", ROWS)
def test_no_group_loses_more_than_by_its_range(kind: str) -> None:
    values = ROWS[kind].astype(np.float32)
    found = in_four_bits(Matrix(values))
    assert (found.values.dtype, found.values.shape) == (np.uint8, (SHAPE[0], SHAPE[1] // 2))
    lost, before = (((grouped(each) - grouped(values)).astype(np.float64) ** 2).sum(-1)
                    for each in (dense(found), by_range(values)))  # fmt: skip
    assert (lost <= before * 1.001 + 1e-12 * (grouped(values) ** 2).sum(-1)).all()


def test_it_gains_something_where_a_few_are_large() -> None:
    values = ROWS["a few large"].astype(np.float32)
    lost, before = (((each - values) ** 2).sum() for each in (dense(in_four_bits(Matrix(values))), by_range(values)))
    assert lost < 0.9 * before


@pytest.mark.parametrize("value", [0.0, 2.5, -3.0])
def test_numbers_that_are_all_one_are_kept(value: float) -> None:
    values = np.full(SHAPE, value, np.float32)
    assert (dense(in_four_bits(Matrix(values))) == values).all()


def test_what_has_four_bits_already_is_found_again() -> None:
    codes = CHANCE.integers(0, LOW_HALF + 1, SHAPE)
    codes[:, ::INT4_GROUP], codes[:, 1::INT4_GROUP] = 0, LOW_HALF
    values = (codes * 0.25 - 1.5).astype(np.float32)
    np.testing.assert_allclose(dense(in_four_bits(Matrix(values))), values, atol=1e-6)


@pytest.mark.parametrize("held", [Matrix(CHANCE.normal(size=(3, 96)).astype(np.float32)),
                                  quantise4(CHANCE.normal(size=(3, 128)).astype(np.float32))])  # fmt: skip
def test_what_does_not_fill_blocks_or_has_four_bits_is_left_alone(held: Matrix) -> None:
    assert in_four_bits(held) is held


def test_a_matrix_whose_scales_float16_cannot_hold_is_left_alone() -> None:
    """It would be rounded twice, and be no smaller."""
    values = CHANCE.normal(size=SHAPE).astype(np.float32)
    values[2] *= 1e-7
    held = Matrix(values)
    assert in_four_bits(held) is held


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> HeadFile:
    said = card(width=WIDTH, vocab_size=VOCAB)
    path = tmp_path_factory.mktemp("heads") / "head.safetensors"
    write_head(path, said, *numbers(said, INNER, seed=4))
    return HeadFile(path)


def test_a_cell_reads_its_large_matrices_so(file: HeadFile) -> None:
    table = quantise(np.random.default_rng(7).normal(size=(VOCAB, WIDTH)).astype(np.float32))
    cell = RecurrentCell(file, TargetRows(table, table), threads=1)
    fine = [blocks.is_fine for blocks in cell._blocks]  # I, (G, U), D, T, O and e(tokens)
    assert fine == [True, False, False, False, True, False]
    plain = PlainCell(file, dense(table).astype(np.float64), INNER)
    features, last = CHANCE.normal(size=(3, 3, WIDTH)).astype(np.float32), np.array([5, 7, 70])
    for found, right in zip(cell.begin(features, last), plain.begin(features.astype(np.float64), last), strict=True):
        assert np.abs(found - right).max() < 0.08 * np.std(right)  # activations are rounded to 8 bits
