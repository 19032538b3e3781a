"""How products of pairs of bfloat16 are added up: by VDPBF16PS where a processor has it, or else as that does.

Of each pair the second product is added first, then the first, and both sums are rounded: the same bits either way, but
for numbers below float32's normal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from llvmlite import ir

from truedraw.compiled_for import FEATURES
from truedraw.engine.native.instructions import I64, SINGLES, SUMS, WIDE, called, fused, opaque
from truedraw.engine.native.machine import spread

HAS_PAIRS = {"avx512f", "avx512bf16"} <= FEATURES
SECOND, BITS = -(2**16), 16  # of a pair's 32 bits, the second number's; what one has


class BFloat(ir.Type):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite has no name for."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloat)

    def __hash__(self) -> int:
        return hash(BFloat)


ONCE, TWICE = SUMS, ir.VectorType(I64, WIDE // 2)
Pairs = Callable[[int], Iterable[Any]]
"""Of a step, code that reads vectors of pairs."""
BFLOATS = ir.VectorType(BFloat(), 2 * WIDE)


def add_pairs(builder: Any, sums: list[list[Any]], some: Pairs, others: Pairs) -> None:
    """sums[q][k] [WIDE] float32, in memory, += the products of pairs others[q] and some[k], [WIDE] in 32 bits each.

    Two steps read them twice, as registers have no room for pairs besides numbers.
    """
    steps = ((_both, _at_once),) if HAS_PAIRS else ((_second, fused), (_first, fused))
    for step, (ready, add) in enumerate(steps):
        own = [ready(builder, each) for each in some(step)]
        for line, other in zip(sums, others(step), strict=True):
            factors = ready(builder, other)
            for whole, each in zip(line, own, strict=True):
                builder.store(add(builder, factors, each, builder.load(whole)), whole)


def near_by(builder: Any, first: Any, parts: list[Any]) -> Pairs:
    """Pairs that stand side by side, so far behind a place."""

    def generate(step: int) -> Iterator[Any]:
        place = again(builder, first, step)
        for part in parts:
            there = builder.bitcast(builder.gep(place, [part]), SUMS.as_pointer())
            yield builder.load(there, align=2)

    return generate


def everywhere(builder: Any, count: int, first: Any, gap: Any, kind: Any) -> Pairs:
    """One pair, or two, over and over, of so many lines; kind: ONCE or TWICE."""

    def generate(step: int) -> Iterator[Any]:
        place = again(builder, first, step)
        for line in range(count):
            there = builder.gep(place, [builder.mul(gap, I64(line))])
            number = builder.load(builder.bitcast(there, kind.element.as_pointer()), align=2)
            yield builder.bitcast(spread(builder, number, kind), SUMS)

    return generate


def again(builder: Any, place: Any, step: int) -> Any:
    """The same place, of which the compiler does not know in another step that it has been read from."""
    return opaque(builder, place) if step else place


def _both(builder: Any, pairs: Any) -> Any:
    return builder.bitcast(pairs, BFLOATS)


def _second(builder: Any, pairs: Any) -> Any:
    return builder.bitcast(builder.and_(pairs, SUMS([SECOND] * WIDE)), SINGLES)


def _first(builder: Any, pairs: Any) -> Any:
    return builder.bitcast(builder.shl(pairs, SUMS([BITS] * WIDE)), SINGLES)


def _at_once(builder: Any, some: Any, others: Any, whole: Any) -> Any:
    return called(builder, "llvm.x86.avx512bf16.dpbf16ps.512", SINGLES, whole, some, others)
