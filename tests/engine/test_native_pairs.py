"""bfloat16: numbers to the nearest one, and products of pairs, whose bits a processor with an instruction for them has
as well as one without."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from engine.bfloat16 import nearest
from truedraw.compiled import compiled
from truedraw.engine.constants.bfloat16 import widened
from truedraw.engine.native import pairs
from truedraw.engine.native.instructions import I64, SINGLES, WIDE, started, store
from truedraw.engine.native.machine import from_bfloat16, to_bfloat16
from truedraw.engine.native.softly import short_power

RNG = np.random.default_rng(5)
STEPS, QUERIES = 400, 3
VECTORS = [I64(number * WIDE) for number in range(QUERIES)]


@compiled(error_model="numpy")
def there(numbers, found):
    for k in range(len(numbers)):
        found[k] = to_bfloat16(numbers[k])


@compiled(error_model="numpy")
def back(shorts, found):
    for k in range(len(shorts)):
        found[k] = from_bfloat16(shorts[k])


def singles(words) -> np.ndarray:
    return np.array(words, np.uint32).view(np.float32)


def test_every_number_becomes_the_nearest_one() -> None:
    ties = singles([0x3F808000, 0x3F818000, 0x3F808001, 0x80000000, 0x00000001, 0x7F7FFFFF, 0x7F800000, 0xFF800000])
    numbers = np.concatenate([ties, RNG.integers(0, 2**32, 100_000, np.uint32).view(np.float32)])
    numbers = numbers[~np.isnan(numbers)]
    found = np.empty(len(numbers), np.uint16)
    there(numbers, found)
    np.testing.assert_array_equal(found, nearest(numbers))
    assert found[:8].tolist() == [0x3F80, 0x3F82, 0x3F81, 0x8000, 0, 0x7F80, 0x7F80, 0xFF80]


def test_what_is_no_number_stays_none() -> None:
    words = [0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001, 0x7FFFE000]
    found, again = np.empty(len(words), np.uint16), np.empty(len(words), np.float32)
    there(singles(words), found)
    back(found, again)
    assert np.isnan(again).all()


def test_a_short_number_is_the_upper_half_of_a_long_one() -> None:
    shorts, found = np.arange(2**16).astype(np.uint16), np.empty(2**16, np.float32)
    back(shorts, found)
    np.testing.assert_array_equal(found.view(np.uint32), shorts.astype(np.uint32) << 16)


def adder():
    """sums [QUERIES, 2, WIDE], the products of own [steps, 2, WIDE] pairs and others [steps, QUERIES, WIDE]."""

    @intrinsic
    def operation(typing, sums, own, others, steps):
        def generate(context, builder, signature, given):
            out, left, right = (
                context.make_array(signature.args[k])(context, builder, given[k]).data for k in range(3)
            )
            held = [[started(builder, SINGLES(None)) for _ in range(2)] for _ in range(QUERIES)]
            with cgutils.for_range(builder, given[3], intp=I64) as loop:
                some, many = (
                    pairs.near_by(builder, builder.gep(array, [builder.mul(loop.index, I64(n * WIDE))]), VECTORS[:n])
                    for array, n in ((left, 2), (right, QUERIES))
                )
                pairs.add_pairs(builder, held, some, many)
            for place, each in enumerate(each for line in held for each in line):
                store(builder, builder.load(each), builder.gep(out, [I64(place * WIDE)]))
            return context.get_dummy_value()

        return types.none(sums, own, others, steps), generate

    @njit
    def add(sums, own, others):
        operation(sums, own, others, len(own) // (2 * WIDE))

    return add


def expected(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """One product after the other, of each pair the second first; a product of two bfloat16 is exact in float64."""
    sums = np.zeros((QUERIES, 2, WIDE), np.float32)
    for some, many in zip(own, others, strict=True):
        for number in (1, 0):
            products = some[None, :, :, number] * many[:, None, :, number]
            sums = (sums + products).astype(np.float32)
    return sums


@pytest.mark.parametrize("has_pairs", [False, True])
def test_products_are_added_one_after_the_other(has_pairs, monkeypatch) -> None:
    if has_pairs and not pairs.HAS_PAIRS:
        pytest.skip("this processor has no instruction for pairs")
    monkeypatch.setattr(pairs, "HAS_PAIRS", has_pairs)
    own, others = (
        nearest((RNG.normal(size=shape) * np.exp(2 * RNG.normal(size=shape))).astype(np.float32))
        for shape in ((STEPS, 2, WIDE, 2), (STEPS, QUERIES, WIDE, 2))
    )
    sums = np.zeros((QUERIES, 2, WIDE), np.float32)
    adder()(sums.ravel(), own.view(np.uint32).ravel(), others.view(np.uint32).ravel())
    wide = [widened(shorts).astype(np.float64) for shorts in (own, others)]
    np.testing.assert_array_equal(sums, expected(*wide))


@compiled(error_model="numpy")
def powers(exponents, found):
    for k in range(len(exponents)):
        found[k] = short_power(exponents[k])


def test_shares_are_powers_of_two() -> None:
    exponents = np.concatenate([np.linspace(-126, 0, 200_001), -RNG.random(1000), np.arange(-126, 1)]).astype(
        np.float32
    )
    found, again = np.empty(len(exponents), np.uint16), np.empty(len(exponents), np.float32)
    powers(exponents, found)
    back(found, again)
    exact = 2 ** exponents.astype(np.float64)
    assert np.abs(again / exact - 1).max() < 2**-8 + 2**-14  # half of a step, and what four terms lack
    assert np.abs(np.mean(again / exact) - 1) < 2**-14
    whole = exponents == np.rint(exponents)
    assert (again[whole] == exact[whole]).all()


def test_shares_of_what_is_no_usual_score() -> None:
    exponents = np.array([-127, -1e30, -np.inf, np.nan, -0.0], np.float32)
    found, again = np.empty(5, np.uint16), np.empty(5, np.float32)
    powers(exponents, found)
    back(found, again)
    np.testing.assert_array_equal(again, np.array([2.0**-126, 2.0**-126, 2.0**-126, np.nan, 1], np.float32))
