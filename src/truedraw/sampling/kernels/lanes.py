"""Sums whose order is written out.

A compiler that may choose how many numbers it adds up side by side chooses by what else it compiles with the loop, and
that by what was compiled before. So the last bits of a sum differed from one loop to another, and once from one process
to the next. These have the same bits wherever they stand, and whatever vectors a processor has.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from truedraw.compiled_for import HAS_LONG_VECTORS
from truedraw.sampling.kernels.bits import take_long_vectors
from truedraw.sampling.kernels.formulas import WORD, Formula, Number, constant

LANES = 32  # numbers that are added up apart
AT_ONCE = LANES if HAS_LONG_VECTORS else 8  # of one term: what fits the registers with all that a formula needs
INDEX, DOUBLE = ir.IntType(32), ir.DoubleType()
READ = types.float64, types.float32, types.uint8
SIZES = {ir.DoubleType: 8, ir.FloatType: 4, ir.IntType: 1}  # bytes of these


def summed(formula: Formula, terms: int = 1) -> Any:
    """For compiled code, f(arrays, numbers, out, first, stop): the sums of so many terms from index `first` to
    stop - 1, or the one sum.

    arrays, numbers: tuples of contiguous arrays [n], and of float64. out: an array that each last term is written to,
    which may be one of these, or () for none.

    Index first + i is added to lane i mod 32 of LANES, whose sums are added up by halves; what is left over comes after
    that, one by one.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def total(typing: Any, arrays: Any, numbers: Any, out: Any, first: Any, stop: Any) -> Any:
        written = () if isinstance(out, types.BaseTuple) else (out,)
        if not all(map(fits, arrays)) or not all(fits(each) and is_written_to(each) for each in written):
            raise TypingError("contiguous arrays [n] of float32, float64 or uint8 only, written to float64")
        found = types.float64 if terms == 1 else types.UniTuple(types.float64, terms)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = *cgutils.unpack_tuple(builder, arguments[0]), arguments[2]
            both = zip((*arrays, *written), given, strict=False)
            data = [context.make_array(kind)(context, builder, each).data for kind, each in both]
            take_long_vectors(builder)
            loop = _Loop(builder, formula, terms, data[: len(arrays)], data[len(arrays) :])
            sums = loop.sums(cgutils.unpack_tuple(builder, arguments[1]), arguments[3], arguments[4])
            return sums[0] if terms == 1 else context.make_tuple(builder, found, sums)

        return found(arrays, numbers, out, types.int64, types.int64), generate

    return total


def fits(array: Any) -> bool:
    """Whether a sum may read an array of this type."""
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C" and array.dtype in READ


def is_written_to(array: Any) -> bool:
    """Whether it may write to it."""
    return bool(array.mutable and array.dtype == types.float64)


class _Loop:
    """What `summed` builds: arrays by their first items, and one or none that is written to."""

    def __init__(self, builder: Any, formula: Formula, terms: int, read: Sequence[Any], written: Sequence[Any]) -> None:
        self._builder, self._formula, self._terms, self._read, self._written = builder, formula, terms, read, written
        self._at_once = AT_ONCE // terms

    def sums(self, numbers: Sequence[Any], first: Any, stop: Any) -> list[Any]:
        """The sums of all terms."""
        builder, step = self._builder, ir.Constant(WORD, LANES)
        middle = builder.add(first, builder.mul(builder.sdiv(builder.sub(stop, first), step), step))
        at_once, terms = self._at_once, range(self._terms)
        lanes = [[self._memory(at_once) for _ in terms] for _ in range(0, LANES, at_once)]
        wide = [Number(builder, splat(builder, each, at_once)) for each in numbers]
        with cgutils.for_range_slice(builder, first, middle, step) as (i, _):
            for k, places in enumerate(lanes):
                self._add(builder.add(i, ir.Constant(WORD, k * at_once)), at_once, wide, places)
        ends = [self._memory(0) for _ in terms]
        for term, end in enumerate(ends):
            builder.store(halved(builder, [builder.load(places[term]) for places in lanes]), end)
        with cgutils.for_range_slice(builder, middle, stop, ir.Constant(WORD, 1)) as (i, _):
            self._add(i, 0, [Number(builder, each) for each in numbers], ends)
        return [builder.load(end) for end in ends]

    def _memory(self, count: int) -> Any:
        """Of a sum, 0 at first."""
        return cgutils.alloca_once_value(self._builder, constant(several(DOUBLE, count), 0.0))

    def _add(self, i: Any, count: int, numbers: Sequence[Number], places: Sequence[Any]) -> None:
        """So many of each term from an index on, 0 for a single one, to what stands at its place."""
        builder = self._builder
        terms = self._formula([self._at(array, i, count) for array in self._read], numbers)
        for array in self._written:
            builder.store(terms[-1].value, self._place(array, i, count), align=SIZES[ir.DoubleType])
        for term, place in zip(terms, places, strict=True):
            builder.store((Number(builder, builder.load(place)) + term).value, place)

    def _at(self, array: Any, i: Any, count: int) -> Any:
        """What is read there: Numbers, or integers as they are."""
        item = array.type.pointee
        value = self._builder.load(self._place(array, i, count), align=SIZES[type(item)])
        if isinstance(item, ir.IntType):
            return value
        return Number(self._builder, value if item == DOUBLE else self._builder.fpext(value, several(DOUBLE, count)))

    def _place(self, array: Any, i: Any, count: int) -> Any:
        """The address of an item, or of a vector that begins with it."""
        kind = several(array.type.pointee, count)
        return self._builder.bitcast(self._builder.gep(array, [i]), kind.as_pointer())


def several(item: Any, count: int) -> Any:
    """The type of a vector of so many, or of a single one for 0."""
    return ir.VectorType(item, count) if count else item


def splat(builder: Any, value: Any, count: int) -> Any:
    """A vector of one number."""
    one = builder.insert_element(ir.Constant(ir.VectorType(DOUBLE, count), ir.Undefined), value, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(one, one, constant(ir.VectorType(INDEX, count), 0))


def halved(builder: Any, sums: Sequence[Any]) -> Any:
    """The sum of all numbers in vectors: the first half and the second one added, again and again."""
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [builder.fadd(one, two) for one, two in zip(sums[:half], sums[half:], strict=True)]
    (vector,) = sums
    count = vector.type.count
    while count > 1:
        count //= 2
        parts = (ir.Constant(ir.VectorType(INDEX, count), list(range(at, at + count))) for at in (0, count))
        vector = builder.fadd(*(builder.shuffle_vector(vector, vector, part) for part in parts))
    return builder.extract_element(vector, ir.Constant(INDEX, 0))
