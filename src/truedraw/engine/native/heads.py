"""Attention's two sums over a text, for several heads that share keys and values at once, in vectors written out.

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

SLOTS = 32  # of a page
WIDE = 16  # numbers in a vector
MOST_HEADS = 4  # at once: their sums fit into the processor's registers
COLUMNS = (64, 16)  # places of a head whose sums are held at once
I16, I32, I64, HALF, SINGLE = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.HalfType(), ir.FloatType()
HALVES, SINGLES = ir.VectorType(HALF, WIDE), ir.VectorType(SINGLE, WIDE)


def compare_page(heads: int) -> Any:
    """scores[at + g gap + s] = sum_k queries[first + g size + k] keys[key + k SLOTS + s], s < SLOTS, for so many g.

    An operation of (queries, first, size, keys, key, scores, at, gap): float32, bits of float16, float32, each flat.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(  # noqa: PLR0913, PLR0917
        typing: Any, queries: Any, first: Any, size: Any, keys: Any, key: Any, scores: Any, at: Any, gap: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            lines, page, out = _data(context, builder, signature, given, (0, 3, 5))
            lines, page, out = (builder.gep(a, [given[k]]) for a, k in ((lines, 1), (page, 4), (out, 6)))
            held = _zeros(builder, heads, SLOTS // WIDE)
            with cgutils.for_range(builder, given[2], intp=I64) as loop:
                row = builder.gep(page, [builder.mul(loop.index, I64(SLOTS))])
                _add_row(builder, held, row, lines, given[2], loop.index)
            _write(builder, held, out, given[7])
            return context.get_dummy_value()

        whole = types.int64
        return types.none(queries, whole, whole, keys, whole, scores, whole, whole), generate

    return operation


def mix_slots(heads: int, columns: int) -> Any:
    """out[at + g gap + k] += sum_{s < n} shares[first + g line + s] values[start + s size + k], k < columns,
    for so many g; slots one after the other, so that a text may come in parts.

    An operation of (shares, first, line, values, start, size, n, out, at, gap): float32, bits of float16, float32, each
    flat.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def operation(  # noqa: PLR0913, PLR0917
        typing: Any, shares: Any, first: Any, line: Any, values: Any, start: Any, size: Any, n: Any, out: Any, at: Any,
        gap: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            factors, source, target = _data(context, builder, signature, given, (0, 3, 7))
            factors, source, target = (builder.gep(a, [given[k]]) for a, k in ((factors, 1), (source, 4), (target, 8)))
            held = _begun(builder, heads, columns // WIDE, target, given[9])
            with cgutils.for_range(builder, given[6], intp=I64) as loop:
                row = builder.gep(source, [builder.mul(loop.index, given[5])])
                _add_row(builder, held, row, factors, given[2], loop.index)
            _write(builder, held, target, given[9])
            return context.get_dummy_value()

        whole = types.int64
        return types.none(shares, whole, whole, values, whole, whole, whole, out, whole, whole), generate

    return operation


def _data(context: Any, builder: Any, signature: Any, given: Any, places: tuple[int, ...]) -> list[Any]:
    return [context.make_array(signature.args[k])(context, builder, given[k]).data for k in places]


def _zeros(builder: Any, heads: int, parts: int) -> list[list[Any]]:
    """Memory for sums, which the compiler keeps in registers."""
    held = [[cgutils.alloca_once(builder, SINGLES) for _ in range(parts)] for _ in range(heads)]
    for each in [part for line in held for part in line]:
        builder.store(SINGLES(None), each)
    return held


def _begun(builder: Any, heads: int, parts: int, source: Any, gap: Any) -> list[list[Any]]:
    """The same, which begin with what stands in memory."""
    held = _zeros(builder, heads, parts)
    for each, there in _places(builder, held, source, gap):
        builder.store(builder.load(there, align=4), each)
    return held


def _add_row(builder: Any, held: list[list[Any]], row: Any, factors: Any, line: Any, number: Any) -> None:
    """To the sums of each head g, a row of float16 times factors[g line + number]."""
    some = [_widened(builder, row, part) for part in range(len(held[0]))]
    for g, whole in enumerate(held):
        place = builder.add(builder.mul(line, I64(g)), number)
        _add(builder, whole, some, builder.load(builder.gep(factors, [place])))


def _widened(builder: Any, row: Any, part: int) -> Any:
    """WIDE float16 as float32."""
    there = builder.gep(row, [I64(part * WIDE)])
    return builder.fpext(builder.load(builder.bitcast(there, HALVES.as_pointer()), align=2), SINGLES)


def _add(builder: Any, held: list[Any], some: list[Any], factor: Any) -> None:
    one = builder.insert_element(SINGLES(ir.Undefined), factor, I32(0))
    everywhere = builder.shuffle_vector(one, SINGLES(ir.Undefined), ir.VectorType(I32, WIDE)([0] * WIDE))
    form = ir.FunctionType(SINGLES, [SINGLES, SINGLES, SINGLES])
    fma = cgutils.get_or_insert_function(builder.module, form, f"llvm.fma.v{WIDE}f32")
    for whole, each in zip(held, some, strict=True):
        builder.store(builder.call(fma, [everywhere, each, builder.load(whole)]), whole)


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
