"""Attention's two sums over a text, for several queries that share keys and values at once, in vectors written out.

A loop of numba's over a page is a dozen instructions long and is set up for as long as it runs; here sums stay in
registers from the first slot to the last.
"""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from truedraw.engine.native.instructions import I32, I64, SINGLES, WIDE, each_case, fitting
from truedraw.engine.native.machine import ROOM
from truedraw.engine.native.pairs import HAS_PAIRS, ONCE, TWICE, add_pairs, everywhere, near_by
from truedraw.sampling.kernels.bits import CACHE_LINE, SECOND_CACHE, fetch

SLOTS = 32  # of a page
NEAR = 8  # slots whose keys stand together, four places of a head at a time: a key that is written touches few lines
PLACES = 4  # of these places: two pairs
MOST_QUERIES = ROOM // 4 if HAS_PAIRS else max(2, ROOM // 6)  # at once: their sums fit into the processor's registers
IN_LINE = CACHE_LINE // 2  # numbers of 16 bits in a line of memory
COLUMNS = (64, 16)  # places of a head whose sums are made by one call
BYTES = ir.IntType(8).as_pointer()


@intrinsic  # type: ignore[untyped-decorator]
def compare_page(  # noqa: PLR0913, PLR0917
    typing: Any, queries: Any, lines: Any, first: Any, size: Any, keys: Any, key: Any, ahead: Any, scores: Any,
    at: Any, gap: Any,
) -> Any:  # fmt: skip
    """scores[at + q gap + s] = sum_k lines[first + q size + k] key_s[k], s < SLOTS, for so many queries q, up to
    MOST_QUERIES; of four places of a head the first two are added up apart from the others.

    lines and keys bits of bfloat16, scores float32, each flat. keys, from `key` on: [SLOTS / NEAR, size / PLACES, NEAR,
    PLACES]. As much from `ahead` on is asked for meanwhile.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        own, pages, out = _data(context, builder, signature, given, (1, 4, 7))
        own, out = (builder.gep(a, [given[k]]) for a, k in ((own, 2), (out, 8)))
        page, then = (builder.gep(pages, [given[k]]) for k in (5, 6))
        for count in each_case(builder, given[0], MOST_QUERIES):
            _compare(builder, count, own, given[3], page, then, out, given[9])
        return context.get_dummy_value()

    i = types.int64
    return types.none(i, lines, i, i, keys, i, i, scores, i, i), generate


def asking(into: int) -> Any:
    """So many numbers of 16 bits, whole lines of memory from a place on, are to come into one of the caches.

    An operation of (numbers, first, n).
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(typing: Any, numbers: Any, first: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            place = builder.gep(_data(context, builder, signature, given, (0,))[0], [given[1]])
            with cgutils.for_range(builder, builder.udiv(given[2], I64(IN_LINE)), intp=I64) as loop:
                _fetched(builder, place, builder.mul(loop.index, I64(IN_LINE)), IN_LINE, into)
            return context.get_dummy_value()

        return types.none(numbers, types.int64, types.int64), generate

    return operation


def _compare(builder: Any, queries: int, lines: Any, size: Any, page: Any, then: Any, out: Any, gap: Any) -> None:
    near = fitting(SLOTS // NEAR, queries, ROOM)
    for first in range(0, SLOTS // NEAR, near):
        own = builder.gep(page, [builder.mul(size, I64(NEAR * first))])
        asked = None if first else then
        _compare_some(builder, queries, lines, size, own, asked, builder.gep(out, [I64(NEAR * first)]), gap, near)


def _compare_some(  # noqa: PLR0913, PLR0917
    builder: Any, queries: int, lines: Any, size: Any, page: Any, then: Any, out: Any, gap: Any, near: int
) -> None:
    """With so many times NEAR slots; nothing is asked for where `then` is None."""
    held = _zeros(builder, queries, near)
    with cgutils.for_range(builder, builder.udiv(size, I64(PLACES)), intp=I64) as loop:
        if then is not None:
            _fetched(builder, then, builder.mul(loop.index, I64(PLACES * SLOTS)), PLACES * SLOTS)
        parts = [builder.mul(size, I64(NEAR * part)) for part in range(near)]
        here = builder.gep(page, [builder.mul(loop.index, I64(PLACES * NEAR))])
        first = builder.gep(lines, [builder.mul(loop.index, I64(PLACES))])
        add_pairs(builder, held, near_by(builder, here, parts), everywhere(builder, queries, first, size, TWICE))
    _write(builder, [_joined(builder, line) for line in held], out, gap)


def mix_slots(columns: int) -> Any:
    """out[at + q gap + k] += sum_{s < 2 n} shares[first + q line + s] value_s[k], k < columns, for so many queries q,
    up to MOST_QUERIES; pairs of slots one after the other, so that a text may come in parts.

    values, from `start` on: [n, size, 2]. As much from `ahead` on is asked for meanwhile.
    An operation of (queries, shares, first, line, values, start, ahead, size, n, out, at, gap): shares and values bits
    of bfloat16, sums float32, each flat.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(  # noqa: PLR0913, PLR0917
        typing: Any, queries: Any, shares: Any, first: Any, line: Any, values: Any, start: Any, ahead: Any, size: Any,
        n: Any, out: Any, at: Any, gap: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            factors, slots, target = _data(context, builder, signature, given, (1, 4, 9))
            factors, target = (builder.gep(a, [given[k]]) for a, k in ((factors, 2), (target, 10)))
            source, then = (builder.gep(slots, [given[k]]) for k in (5, 6))
            for count in each_case(builder, given[0], MOST_QUERIES):
                near = fitting(columns // WIDE, count, ROOM)
                for column in range(0, columns, near * WIDE):
                    there = builder.gep(target, [I64(column)])
                    here, soon = (builder.gep(each, [I64(2 * column)]) for each in (source, then))
                    held = _begun(builder, count, near, there, given[11])
                    _mix(builder, held, factors, given[3], here, soon, given[7], given[8])
                    _write(builder, held, there, given[11])
            return context.get_dummy_value()

        i = types.int64
        return types.none(i, shares, i, i, values, i, i, i, i, out, i, i), generate

    return operation


def _mix(
    builder: Any, held: list[list[Any]], factors: Any, line: Any, source: Any, then: Any, size: Any, n: Any
) -> None:
    parts = range(len(held[0]))
    with cgutils.for_range(builder, n, intp=I64) as loop:
        gone = builder.mul(loop.index, builder.shl(size, I64(1)))
        _fetched(builder, then, gone, len(parts) * 2 * WIDE)
        row = builder.gep(source, [gone])
        some = near_by(builder, row, [I64(part * 2 * WIDE) for part in parts])
        first = builder.gep(factors, [builder.shl(loop.index, I64(1))])
        add_pairs(builder, held, some, everywhere(builder, len(held), first, line, ONCE))


def _data(context: Any, builder: Any, signature: Any, given: Any, places: tuple[int, ...]) -> list[Any]:
    return [context.make_array(signature.args[k])(context, builder, given[k]).data for k in places]


def _zeros(builder: Any, queries: int, parts: int) -> list[list[Any]]:
    """Memory for sums, which the compiler keeps in registers."""
    held = [[cgutils.alloca_once(builder, SINGLES) for _ in range(parts)] for _ in range(queries)]
    for each in [part for line in held for part in line]:
        builder.store(SINGLES(None), each)
    return held


def _begun(builder: Any, queries: int, parts: int, source: Any, gap: Any) -> list[list[Any]]:
    """The same, which begin with what stands in memory."""
    held = _zeros(builder, queries, parts)
    for each, there in _places(builder, held, source, gap):
        builder.store(builder.load(there, align=4), each)
    return held


def _fetched(builder: Any, then: Any, first: Any, size: int, into: int = SECOND_CACHE) -> None:
    """`size` numbers of 16 bits, from number `first` on; the first cache has no room for a whole page yet."""
    here = builder.bitcast(builder.gep(then, [first]), BYTES)
    for line in range(0, 2 * size, CACHE_LINE):
        fetch(builder, builder.gep(here, [I64(line)]), into)


def _joined(builder: Any, line: list[Any]) -> list[Any]:
    """Two sums of each of NEAR slots in a vector, side by side: those of all places, WIDE slots in a vector."""
    found = []
    for first, second in zip(line[::2], line[1::2], strict=True):
        both = builder.load(first), builder.load(second)
        even, odd = (
            builder.shuffle_vector(*both, ir.VectorType(I32, WIDE)(list(range(begin, 2 * WIDE, 2)))) for begin in (0, 1)
        )
        held = cgutils.alloca_once(builder, SINGLES)
        builder.store(builder.fadd(even, odd), held)
        found.append(held)
    return found


def _write(builder: Any, held: list[list[Any]], out: Any, gap: Any) -> None:
    for each, there in _places(builder, held, out, gap):
        builder.store(builder.load(each), there, align=4)


def _places(builder: Any, held: list[list[Any]], array: Any, gap: Any) -> list[tuple[Any, Any]]:
    """Each sum, and where it stands in an array whose lines are `gap` apart."""
    found = []
    for g, line in enumerate(held):
        first = builder.gep(array, [builder.mul(gap, I64(g))])
        places = [builder.gep(first, [I64(part * WIDE)]) for part in range(len(line))]
        found += [(each, builder.bitcast(at, SINGLES.as_pointer())) for each, at in zip(line, places, strict=True)]
    return found
