"""Products of a head's matrices by kernels of ours, against plain numpy."""

from __future__ import annotations

import re
from functools import cache, partial

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from llvmlite import ir

from truedraw.compiled import compiled
from truedraw.engine.constants.matrix import Matrix, dense
from truedraw.engine.constants.rounding import quantise, quantise4
from truedraw.engine.constants.weights import from_packed
from truedraw.engine.native import grids
from truedraw.engine.native.adders import (
    SHORTS,
    adders,
    brief_pairs,
    pairs,
    quads,
    short_quads,
    small_quads,
    widened_quads,
)
from truedraw.engine.native.blocks import (
    BESIDE,
    FACTORS,
    LANES,
    QUAD,
    SIZE,
    WIDE,
    ZERO,
    Blocks,
)
from truedraw.engine.native.grids import FEWEST, NEVER, grids_from
from truedraw.engine.native.instructions import SUMS
from truedraw.engine.native.layers import Mixed, _alike, of_one_form, stacked
from truedraw.engine.native.laying import blocks_of, eights_of, in_whole_tiles
from truedraw.engine.native.memory import room
from truedraw.engine.native.nested import FIFTH, FIVE, SHARES, SIX_ZERO, THREE
from truedraw.engine.native.products import looked_up
from truedraw.engine.native.sums import ALL, MOST_ROWS, block_adder
from truedraw.engine.native.together import Ways, multiply, round_here
from truedraw.models.gguf_packed import READERS
from truedraw.sampling.kernels.bits import CACHE_LINE
from truedraw.threads.stages import counters

FINE = 0.01  # of a sum's spread: rows are rounded to 8 bits


@compiled()
def multiplied(rows, matrix, rounded, out, stages, ways):
    for row in range(len(rows)):
        round_here(rows[row], rounded, row)
    multiply(matrix, rounded, out, False, stages, 0, ways)


@compiled()
def all_rounded(rows, rounded):
    for row in range(len(rows)):
        round_here(rows[row], rounded, row)


NESTED = ("Q4_K", "Q5_K", "Q6_K")


def product(rows: np.ndarray, blocks: Blocks, out: np.ndarray, least: int | None = None) -> None:
    """out += rows times a matrix, from so many rows on in grids; None: as it is on this machine."""
    ways = Ways(1, grids_from() if least is None else least, 0)
    multiplied(rows, tuple(blocks), room(len(rows), blocks), out, counters(1), ways)


def codes(out: int, width: int, groups: int) -> Matrix:
    rng = np.random.default_rng(out * width + groups)
    scales = rng.uniform(0.001, 0.1, (out, groups)).astype(np.float32)
    return Matrix(rng.integers(-128, 128, (out, width)).astype(np.int8), scales)


def nested(name: str, out: int, width: int, seed: int = 0) -> Matrix:
    """Of a GGUF type, all bits by chance but those that would make the float16 infinite."""
    rng = np.random.default_rng([seed, out, width])
    size, first, count = {"Q4_K": (144, 0, 2), "Q5_K": (176, 0, 2), "Q6_K": (210, 208, 1)}[name]
    blocks = rng.integers(0, 256, (out * width // 256, size)).astype(np.uint8)
    blocks[:, first : first + 2 * count] = rng.normal(size=(len(blocks), count)).astype(np.float16).view(np.uint8)
    return from_packed(READERS[name](blocks.reshape(out, -1)))


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


@pytest.mark.parametrize("exponent", range(-149, 128, 3))
def test_no_number_is_rounded_to_the_one_that_products_cannot_take(exponent: int) -> None:
    """-128 times a code of -128 would not fit into what VPMADDUBSW adds, see adders.pairs."""
    sizes = np.random.default_rng(exponent + 149).uniform(-1, 1, (64, SIZE)).astype(np.float32)
    sizes[:, 0] = -np.random.default_rng(exponent + 150).uniform(1, 2, 64)  # what the rest is measured by
    rows = np.ldexp(sizes, exponent).astype(np.float32)
    rounded = room(len(rows), blocks_of(codes(1, SIZE, 1)))
    all_rounded(rows, rounded)
    assert rounded[0].min() >= -127
    if exponent > -119:  # nothing is lost to the least of numbers
        assert (rounded[0][:, 0] == -127).all()


def test_a_row_of_zeros_adds_nothing() -> None:
    out = np.full((1, 5), 3.0, np.float32)
    product(np.zeros((1, 64), np.float32), blocks_of(codes(5, 64, 1)), out)
    assert (out == 3.0).all()


@pytest.mark.parametrize("place", [0, 63, 127])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_not_hidden(place: int, bad: float) -> None:
    """A draft of such logits is none; a finite one of them would be made up."""
    for matrix in (codes(LANES, 128, 2), fours(LANES, 128), nested("Q4_K", LANES, 256), nested("Q6_K", LANES, 256)):
        rows = some(1, matrix.width)
        rows[0, place] = bad
        out = np.zeros((1, LANES), np.float32)
        product(rows, blocks_of(matrix), out)
        assert not np.isfinite(out).any()


@pytest.mark.parametrize("groups", [1, 2, 18])
def test_rows_of_a_table_are_looked_up(groups: int) -> None:
    table, tokens = codes(11, 576, groups), np.array([10, 0, 3, 3])
    np.testing.assert_array_equal(looked_up(table.values, table.scales, tokens), dense(table)[tokens])


def short(matrix: Matrix) -> Matrix:
    """The same with scales that are float16 as well."""
    return Matrix(matrix.values, matrix.scales.astype(np.float16).astype(np.float32), matrix.zero)


@pytest.mark.parametrize("groups", [1, 3, 9, 18])
@pytest.mark.parametrize("out", [1, LANES - 1, 3 * LANES + 33])
def test_scales_of_half_the_length_are_the_same_numbers(out: int, groups: int) -> None:
    matrix, rows = short(codes(out, 576, groups)), some(2 * MOST_ROWS + 3, 576)
    blocks, long = blocks_of(matrix), eights_of(matrix)
    assert (blocks.scales.dtype, long.scales.dtype, blocks.is_fine) == (np.int16, np.float32, True)
    np.testing.assert_array_equal(blocks.scales.view(np.float16).astype(np.float32), long.scales)
    for count in range(1, len(rows) + 1):
        found, expected = (np.zeros((count, out), np.float32) for _ in range(2))
        product(rows[:count], blocks, found)
        product(rows[:count], long, expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("least", [6e-8, 1e-5])
def test_small_scales_too(least: float) -> None:
    """float16 has numbers below its normal ones."""
    matrix = codes(LANES, 128, 2)
    small = short(Matrix(matrix.values, np.full_like(matrix.scales, least)))
    assert blocks_of(small).scales.dtype == np.int16
    checked(small, dense(small), some(3, 128))


@pytest.mark.parametrize("scale", [1 / 3, 1e-9, 1e9, np.inf, np.nan])
def test_scales_that_would_lose_something_stay_as_they_are(scale: float) -> None:
    matrix = short(codes(LANES, 128, 2))
    assert blocks_of(matrix).scales.dtype == np.int16
    scales = matrix.scales.copy()
    scales[5, 1] = scale
    kept = blocks_of(Matrix(matrix.values, scales))
    assert kept.scales.dtype == (np.int16 if scale == np.inf else np.float32)
    assert kept.scales.view(np.float16 if scale == np.inf else np.float32)[0, 1, 5] == pytest.approx(scale, nan_ok=True)


def test_a_processor_without_half_precision_gets_no_such_scales(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.engine.native.laying.HAS_HALVES", False)
    assert blocks_of(short(codes(LANES, 128, 2))).scales.dtype == np.float32


def test_layers_whose_scales_differ_in_length_get_the_longer_ones() -> None:
    """Where all are short they stay so."""
    one, other = codes(LANES, 128, 2), short(codes(LANES, 128, 2))
    assert _alike([other, one]) is None
    together = of_one_form([other, one])
    assert together.scales.dtype == np.float32
    for layer, matrix in enumerate((other, one)):
        np.testing.assert_array_equal(together.scales[layer], eights_of(matrix).scales)
    alike = _alike([other, other])
    assert alike is not None
    assert alike.scales.dtype == np.int16


def fours(out: int, width: int, with_least: bool = True) -> Matrix:
    """Scales and least values are float16, so that nothing of them is lost."""
    rng = np.random.default_rng(out * width)
    halves = rng.normal(size=(2, out, width // 32)).astype(np.float16).astype(np.float32)
    pairs = rng.integers(0, 256, (out, width // 2)).astype(np.uint8)
    return Matrix(pairs, np.abs(halves[0]), 0 if with_least else 8, halves[1] if with_least else None)


@pytest.mark.parametrize("out", [1, LANES, 3 * LANES + 33, 9 * LANES])
def test_vectors_lie_in_one_line_of_the_cache_each(out: int) -> None:
    own = [
        blocks_of(codes(out, 128, 2)),
        blocks_of(fours(out, 128)),
        of_one_form([fours(out, 128), codes(out, 128, 4)]),
    ]
    assert all(each.ctypes.data % CACHE_LINE == 0 for blocks in own for each in blocks)
    assert all(each[layer].ctypes.data % CACHE_LINE == 0 for each in own[2] for layer in (0, 1))


@pytest.mark.parametrize("with_least", [True, False])
@pytest.mark.parametrize("out", [1, LANES - 1, LANES, 3 * LANES + 33])
@pytest.mark.parametrize("width", [64, 128, 576])
def test_codes_of_four_bits_are_taken_as_they_are(out: int, width: int, with_least: bool) -> None:
    matrix = fours(out, width, with_least)
    assert not blocks_of(matrix).is_fine
    for count in (1, 2, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 3):
        checked(matrix, dense(matrix), some(count, width))


def test_each_code_of_four_bits_has_its_place() -> None:
    matrix = fours(LANES + 3, 2 * SIZE)
    out = np.zeros((2 * SIZE, LANES + 3), np.float32)
    product(np.eye(2 * SIZE, dtype=np.float32), blocks_of(matrix), out)
    np.testing.assert_allclose(out.T, dense(matrix), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("width", [32, 96])
def test_codes_of_four_bits_that_fill_no_blocks_become_codes_of_eight(width: int) -> None:
    matrix = fours(10, width)
    blocks = blocks_of(matrix)
    assert blocks.is_fine
    checked(matrix, dense(matrix), some(3, width))


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_scales_that_half_precision_cannot_hold_become_single(size: float) -> None:
    matrix = fours(10, 64, with_least=False)
    small = Matrix(matrix.values, matrix.scales * np.float32(size), matrix.zero)
    assert blocks_of(small).is_fine
    checked(small, dense(small), some(3, 64))


def test_one_large_row_does_not_hide_that_others_are_lost() -> None:
    matrix = fours(10, 64, with_least=False)
    scales = matrix.scales.copy()
    scales[1:] *= np.float32(1e-8)
    small = Matrix(matrix.values, scales, matrix.zero)
    assert blocks_of(small).is_fine
    checked(small, dense(small), some(3, 64))


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("out", [1, LANES - 1, LANES, 3 * LANES + 33])
@pytest.mark.parametrize("width", [256, 1024])
def test_nested_scales_are_taken_as_they_are(name: str, out: int, width: int) -> None:
    matrix = nested(name, out, width)
    assert (blocks_of(matrix).is_fine, blocks_of(matrix).size) == (False, SIZE)
    for count in (1, 2, 3, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 3):
        checked(matrix, dense(matrix), some(count, width))


@pytest.mark.parametrize("name", NESTED)
def test_each_code_with_nested_scales_has_its_place(name: str) -> None:
    matrix = nested(name, LANES + 3, 512)
    out = np.zeros((512, LANES + 3), np.float32)
    product(np.eye(512, dtype=np.float32), blocks_of(matrix), out)
    np.testing.assert_allclose(out.T, dense(matrix), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "bits"), [("Q4_K", 4.5), ("Q5_K", 5.5), ("Q6_K", 6.5625)])
def test_they_take_hardly_more_than_in_the_file(name: str, bits: float) -> None:
    blocks = blocks_of(nested(name, 4 * LANES, 1024))
    assert bits <= 8 * (blocks.codes.nbytes + blocks.scales.nbytes) / (4 * LANES * 1024) <= bits + 0.125


@pytest.mark.parametrize("name", NESTED)
def test_rows_that_are_no_whole_blocks_of_the_file_have_another_form(name: str) -> None:
    """As no file has them; what is told of scales must fit, too."""
    matrix = nested(name, 10, 256)
    half = Matrix(matrix.values[:, ::2], matrix.scales[:, ::2], matrix.zero, None, matrix.nested)
    other = Matrix(matrix.values, matrix.scales, matrix.zero, matrix.least, matrix.nested[:1] * len(matrix.nested))
    for each in (half, other):
        assert blocks_of(each).scales.dtype.type not in {np.uint8, np.int8}
        checked(each, dense(each), some(3, each.width))


@pytest.mark.parametrize(("out", "kinds"), [(70, ("Q4_K", "Q6_K")), (64, ("Q6_K", "Q4_K")), (70, ("Q5_K", "Q6_K"))])
def test_layers_of_both_types_each_keep_their_own(out: int, kinds: tuple[str, ...]) -> None:
    held = [nested(name, out, 512, layer) for layer, name in enumerate((*kinds, kinds[0]))]
    found = stacked(held)
    assert isinstance(found, Mixed)
    assert (found.coarser.scales.dtype, found.finer.scales.dtype) == (np.uint8, np.int8)
    for matrix, at in zip(held, found.at, strict=True):
        own = Blocks(*(each[at] for each in found.coarser) if at >= 0 else (each[~at] for each in found.finer))
        for part, expected in zip(own, blocks_of(matrix), strict=True):
            np.testing.assert_array_equal(part, expected)


def test_layers_of_more_than_two_forms_have_two() -> None:
    """What has more than four bits is of one form then, and so is what has four, where that loses nothing."""
    found = stacked([nested("Q4_K", 10, 512), nested("Q6_K", 10, 512), codes(10, 512, 8)])
    assert isinstance(found, Mixed)
    assert (found.coarser.scales.dtype, found.finer.is_fine) == (np.uint8, True)
    assert isinstance(stacked([nested("Q6_K", 10, 512), codes(10, 512, 8)]), Blocks)
    coarse = stacked([with_small_scales(nested("Q4_K", 10, 512)), fours(10, 512)])
    assert isinstance(coarse, Blocks)
    assert coarse.scales.dtype == np.uint16


def with_small_scales(matrix: Matrix) -> Matrix:
    """All of one size, so that float16 holds the products."""
    small, steps, small_least, least_steps = matrix.nested
    ones = np.ones_like(steps, np.float32), np.full_like(least_steps, -1, np.float32)
    scales, least = small.astype(np.float32), -small_least.astype(np.float32)
    return Matrix(
        matrix.values, scales, 0, least, (small, ones[0].astype(np.float16), small_least, ones[1].astype(np.float16))
    )


@pytest.mark.parametrize("half", [1, LANES - 1, LANES, LANES + 6])
@pytest.mark.parametrize("form", ["fours", "eights", "floats", *NESTED])
def test_a_pair_is_filled_up_to_whole_tiles(form: str, half: int) -> None:
    """With rows that make zeros, and nothing else changes."""
    pair = {
        "fours": lambda: fours(2 * half, 256),
        "eights": lambda: codes(2 * half, 256, 4),
        "floats": lambda: Matrix(some(2 * half, 256)),
    }.get(form, lambda: nested(form, 2 * half, 256))()
    filled, room = in_whole_tiles(pair), -(-half // LANES) * LANES
    found = dense(filled).reshape(2, room, 256)
    np.testing.assert_array_equal(found[:, :half], dense(pair).reshape(2, half, 256))
    assert not found[:, half:].any()
    assert blocks_of(filled).scales.dtype == blocks_of(pair).scales.dtype
    checked(filled, found.reshape(-1, 256), some(3, 256))


def test_a_row_has_the_same_bits_beside_any_others() -> None:
    forms = fours(70, 576), codes(70, 576, 9), codes(70, 576, 1), short(codes(70, 576, 9))
    for matrix in (*forms, *(nested(name, 70, 768) for name in NESTED)):
        rows, blocks = some(2 * MOST_ROWS + 1, matrix.width), blocks_of(matrix)
        together = np.zeros((len(rows), 70), np.float32)
        product(rows, blocks, together)
        for count in range(1, MOST_ROWS + 1):
            found = np.zeros((count, 70), np.float32)
            product(rows[:count], blocks, found)
            np.testing.assert_array_equal(found, together[:count])


@pytest.mark.skipif(grids_from() == NEVER, reason="this processor has no grids, or the system keeps them")
@pytest.mark.parametrize("form", ["eights", "a scale a row", "narrow blocks", "short scales", "fours", "Q4_K", "Q6_K"])
@pytest.mark.parametrize("width", [256, 768])
def test_a_row_has_the_same_bits_in_a_grid(form: str, width: int) -> None:
    """One grid or several, full or not; what stands behind the last row's numbers is no matter."""
    groups = {"eights": width // 64, "a scale a row": 1, "narrow blocks": width // 32}
    made = {"fours": lambda: fours(150, width), "short scales": lambda: short(codes(150, width, width // 64))}
    files = {name: partial(nested, name, 150, width) for name in ("Q4_K", "Q6_K")}
    matrix = {**made, **files}.get(form, lambda: codes(150, width, groups[form]))()
    rows, blocks = some(70, width), blocks_of(matrix)
    rows[1, :40], rows[2, :40], rows[3, 5], rows[4, 7] = 1e-38, 1e-44, np.inf, np.nan
    for count in (1, 2, FEWEST, 15, 16, 17, 31, 33, 70):
        by_rows, in_grids = (np.ones((count, 150), np.float32) for _ in range(2))
        product(rows[:count], blocks, by_rows, NEVER)
        held = room(count, blocks)
        held[0].base[:] = 127
        multiplied(rows[:count], tuple(blocks), held, in_grids, counters(1), Ways(1, 1, 0))
        np.testing.assert_array_equal(in_grids, by_rows)


@pytest.mark.skipif(grids_from() == NEVER, reason="this processor has no grids, or the system keeps them")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_not_hidden_in_a_grid(bad: float) -> None:
    for matrix in (fours(LANES, 128), codes(LANES, 128, 2), nested("Q4_K", LANES, 256), nested("Q6_K", LANES, 256)):
        rows, out = some(FEWEST, matrix.width), np.zeros((FEWEST, LANES), np.float32)
        rows[3, 70] = bad
        product(rows, blocks_of(matrix), out)
        assert not np.isfinite(out[3]).any()
        assert np.isfinite(np.delete(out, 3, axis=0)).all()


def test_a_system_that_grants_no_grids(monkeypatch) -> None:
    """Asked for what it does not know it refuses, as older ones do."""
    monkeypatch.setattr(grids, "ASK", 0x7FFF)
    assert grids.grids_from.__wrapped__() == NEVER


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_a_processor_without_the_instruction_has_the_same_sums(rows: int) -> None:
    """Codes and numbers at their ends among them; the sums are whole numbers that float32 holds, as the scales do."""
    for name, adder in adders().items():
        check_eights(name, rows, -128 if adder.counts_from_zero else -127)


def check_eights(name: str, rows: int, least: int) -> None:
    chance, quads = np.random.default_rng(rows), 16
    codes = chance.choice([0, 1, 127, 128, 255], (quads, LANES, QUAD)).astype(np.uint8)
    numbers = chance.choice([least, -127, -1, 0, 5, 127], (rows, quads, QUAD)).astype(np.int8)
    steps, scales = (np.exp2(chance.integers(-3, 3, n)).astype(np.float32) for n in (rows, LANES))
    sums = np.einsum("plk,rpk->rl", codes.astype(np.int64) - ZERO, numbers.astype(np.int64))
    expected = 1 + sums * scales.astype(np.float64) * steps[:, None]
    for own in (scales, scales.astype(np.float16).view(np.int16)):
        found = np.ones((rows, LANES), np.float32)
        added(name, codes, numbers, factors_of(numbers, steps), own, found)
        np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_it_has_the_same_sums_of_codes_of_four_bits(rows: int) -> None:
    chance, quads = np.random.default_rng(rows), 8
    codes = chance.choice([0, 1, 15, 16, 240, 255], (quads, LANES, QUAD)).astype(np.uint8)
    numbers = chance.choice([-128, -127, -1, 0, 5, 127], (rows, 2 * quads, QUAD)).astype(np.int8)
    steps, scales = (np.exp2(chance.integers(-3, 3, n)).astype(np.float32) for n in (rows, 4 * LANES))
    lanes = codes.reshape(LANES // BESIDE, quads, BESIDE, QUAD).swapaxes(0, 1).reshape(quads, LANES, QUAD)
    lines = numbers.reshape(rows, 2, quads, QUAD).astype(np.int64)
    own, least = scales.reshape(2, 2, LANES).astype(np.float64)
    sums = np.einsum("hplk,rhpk->rhl", np.stack([lanes & 15, lanes >> 4]).astype(np.int64), lines)
    whole = (own * sums + least * lines.sum((2, 3))[:, :, None]).sum(1)
    expected = 1 + whole * steps[:, None]
    for name in adders():
        found = np.ones((rows, LANES), np.float32)
        fine = scales.astype(np.float16).view(np.uint16)
        added(name, codes, numbers, factors_of(numbers, steps), fine, found)
        np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_it_has_the_same_sums_with_nested_scales(rows: int) -> None:
    chance, quads = np.random.default_rng(rows), 8
    codes = chance.choice([0, 1, 15, 16, 240, 255], (quads, LANES, QUAD)).astype(np.uint8)
    numbers = chance.choice([-128, -127, -1, 0, 5, 127], (rows, 2 * quads, QUAD)).astype(np.int8)
    steps, deep = (np.exp2(chance.integers(-3, 3, n)).astype(np.float16) for n in (rows, 2 * LANES))
    small = chance.choice([0, 1, 63], 4 * LANES).astype(np.uint8)
    fine = (small.reshape(2, 2, LANES) * deep.reshape(2, 1, LANES)).astype(np.float16).ravel()
    fine, long, scales = fine.view(np.uint16), steps.astype(np.float32), np.concatenate([deep.view(np.uint8), small])
    for name in adders():
        found, expected = (np.ones((rows, LANES), np.float32) for _ in range(2))
        added(name, codes, numbers, factors_of(numbers, long), fine, expected)
        added(name, codes, numbers, factors_of(numbers, long), scales, found, scale=4 * LANES)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_it_has_the_same_sums_of_codes_of_six_bits(rows: int) -> None:
    """All codes and numbers at their ends in some lanes."""
    chance, groups = np.random.default_rng(rows), SIZE // SHARES
    codes = chance.choice([0, 1, 31, 32, 63], (LANES, groups, SHARES // QUAD, QUAD)).astype(np.uint8)
    numbers = chance.choice([-128, -1, 0, 5, 127], (rows, groups, SHARES // QUAD, QUAD)).astype(np.int8)
    codes[:3], numbers[0] = 63, 127
    steps, deep = (np.exp2(chance.integers(-3, 3, n)).astype(np.float16) for n in (rows, LANES))
    small = chance.choice([-128, -4, 0, 1, 127], (groups, LANES)).astype(np.int8)
    sums = np.einsum("lgpk,rgpk->rgl", codes.astype(np.int64) - SIX_ZERO, numbers.astype(np.int64))
    whole = (small.astype(np.float64) * sums).sum(1) * deep * steps[:, None].astype(np.float64)
    six = six_bits(codes).reshape(-1, LANES, QUAD)
    own, scales = numbers.reshape(rows, -1, QUAD), np.concatenate([deep.view(np.int8), small.ravel()])
    for name in adders():
        found = np.ones((rows, LANES), np.float32)
        added(name, six, own, factors_of(own, steps.astype(np.float32)), scales, found, 2 * LANES)
        np.testing.assert_allclose(found, 1 + whole, rtol=1e-6)


def six_bits(codes: np.ndarray) -> np.ndarray:
    """[groups, LANES / WIDE, THREE, WIDE, QUAD] of [LANES, groups, 4, QUAD], bit by bit."""
    quads = codes.reshape(LANES // WIDE, WIDE, len(codes[0]), -1, QUAD).transpose(2, 0, 3, 1, 4)
    found = quads[:, :, :THREE].copy()
    for number in range(THREE):
        found[:, :, number] += 64 * (quads[:, :, THREE] // 4 ** (THREE - 1 - number) % 4)
    return found


@pytest.mark.parametrize("rows", range(1, MOST_ROWS + 1))
def test_it_has_the_same_sums_of_codes_of_five_bits(rows: int) -> None:
    """All codes and numbers at their ends in some lanes."""
    chance, quads = np.random.default_rng(rows), SIZE // 2 // QUAD
    codes = chance.choice([0, 1, 15, 16, 31], (LANES, 2, quads, QUAD)).astype(np.uint8)
    numbers = chance.choice([-128, -1, 0, 5, 127], (rows, 2, quads, QUAD)).astype(np.int8)
    codes[:3], numbers[0] = 31, 127
    steps, deep = (np.exp2(chance.integers(-3, 3, n)).astype(np.float16) for n in (rows, 2 * LANES))
    small = chance.choice([0, 1, 63], (2, 2, LANES)).astype(np.uint8)
    own, least = small * deep.reshape(2, 1, LANES).astype(np.float64)
    lines = numbers.astype(np.int64)
    sums = np.einsum("lhpk,rhpk->rhl", codes.astype(np.int64), lines)
    whole = (own * sums + least * lines.sum((2, 3))[:, :, None]).sum(1) * steps[:, None].astype(np.float64)
    five = five_bits(codes).reshape(-1, LANES, QUAD).view(np.int8)
    scales = np.concatenate([deep.view(np.uint8), small.ravel()])
    for name in adders():
        found = np.ones((rows, LANES), np.float32)
        flat = numbers.reshape(rows, -1, QUAD)
        added(name, five, flat, factors_of(flat, steps.astype(np.float32)), scales, found, 4 * LANES)
        np.testing.assert_allclose(found, 1 + whole, rtol=1e-6)


def five_bits(codes: np.ndarray) -> np.ndarray:
    """[groups, LANES / WIDE, FIVE, WIDE, QUAD] of [LANES, 2, quads, QUAD], bit by bit."""
    quads = codes.reshape(LANES // WIDE, WIDE, 2, -1, FIFTH, QUAD).transpose(3, 0, 2, 4, 1, 5)
    found = np.zeros((*quads.shape[:2], FIVE, WIDE, QUAD), np.uint8)
    for half, number in np.ndindex(2, FIFTH):
        found[:, :, number] += 16**half * (quads[:, :, half, number] % 16)
        found[:, :, FIFTH] += 2 ** (FIFTH * half + number) * (quads[:, :, half, number] // 16)
    return found


def factors_of(numbers: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """[rows, FACTORS], see blocks.py."""
    quarters = numbers.reshape(len(numbers), 4, -1).sum(2, dtype=np.int32)
    halves = quarters.reshape(len(numbers), 2, 2).sum(2)
    found = [steps, *(steps * halves.T), -ZERO * halves.sum(1)]
    integers = (-SIX_ZERO * quarters).astype(np.int32).view(np.float32)
    return np.concatenate([np.stack(found, axis=1).astype(np.float32), integers], axis=1)


def added(name, codes, numbers, factors, scales, whole, scale=0) -> None:
    flat = (numbers.ravel(), numbers[0].size, factors.ravel(), scales, scale, whole.ravel())
    summing(name)(len(numbers), codes, *flat)


@cache
def summing(name: str):
    """Compiled once for all rows."""
    operation = block_adder(adders()[name])

    @numba.njit
    def summed(rows, codes, numbers, stride, factors, scales, scale, whole):
        flat, quads = codes.ravel(), len(codes)
        operation(rows, ALL, flat, 0, numbers, 0, stride, quads, factors, 0, FACTORS, scales, scale, 0, whole, 0)

    return summed


def test_each_way_is_the_instruction_that_it_says() -> None:
    """Also on machines that this one is not: AVX-VNNI's instruction has a name of its own in machine code."""
    assert machine_code(quads, "icelake-server").count("vpdpbusd") == 1
    assert machine_code(short_quads, "alderlake").count("{vex}\tvpdpbusd") == 2
    assert machine_code(pairs, "haswell").count("vpmaddubsw") == 2
    assert machine_code(brief_pairs, "haswell", SHORTS).count("vpmaddubsw") == 2


def test_a_way_of_arms_processors_is_their_instruction() -> None:
    """Which this one's compiler cannot read; on such a processor the sums above are by it."""
    module = code_of(small_quads)
    assert str(module).count("sdot $0.4s, $2.16b, $3.16b") == 4
    assert llvm.parse_assembly(str(module)).verify() is None


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin", "aarch64-pc-windows-msvc"])
def test_those_without_it_multiply_by_one_that_all_have(triple: str) -> None:
    code = machine_code(widened_quads, "generic", triple=triple)
    counts = {name: len(re.findall(rf"\t{name}\b", code)) for name in ("smull2?", "saddlp", "addp")}
    assert counts == {"smull2?": 8, "saddlp": 8, "addp": 4}


def machine_code(add, processor: str, kind: ir.VectorType = SUMS, triple: str = "x86_64-unknown-linux-gnu") -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple).create_target_machine(cpu=processor)
    return target.emit_assembly(llvm.parse_assembly(str(code_of(add, kind))))


def code_of(add, kind: ir.VectorType = SUMS) -> ir.Module:
    module = ir.Module()
    form = ir.FunctionType(ir.VoidType(), [each.as_pointer() for each in (kind, SUMS, SUMS)])
    function = ir.Function(module, form, "added")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.store(add(builder, *(builder.load(each) for each in function.args)), function.args[0])
    builder.ret_void()
    return module
