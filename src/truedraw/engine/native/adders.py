"""How four products of 8 bits are added up, by what a processor has for it. Integers are exact: the sums are the same.

Codes have no sign, and numbers go from -127 to 127. A vector has 512 bits; a processor with shorter ones takes it in
parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir

from truedraw.compiled_for import FEATURES
from truedraw.engine.native.blocks import ZERO
from truedraw.engine.native.instructions import BYTES, I8, I16, I32, LINE, SHORTS, SUMS, WIDE, called
from truedraw.engine.native.machine import ROOM

QUARTER = ir.VectorType(I32, WIDE // 4)
SDOT = ".arch_extension dotprod\nsdot $0.4s, $2.16b, $3.16b"  # of ARM: sums += products
Add = Callable[[Any, Any, Any, Any], Any]
"""Sums + the products of four codes and four numbers each, of (builder, sums, codes, numbers)."""


class Adder(NamedTuple):
    """One way; `eights` and `fours`: for codes of so many bits."""

    room: int  # vectors of sums that stay in registers
    eights: Add
    counts_from_zero: bool  # whether codes of 8 bits are taken as they are; if not, a code of ZERO counts nothing
    fours: Add
    brief: Any  # the kind of vector that fours adds to, a block's half
    whole: Callable[[Any, Any], Any]  # of (builder, brief): the sums


def adders() -> dict[str, Adder]:
    """Those that this processor has, the fastest first."""
    short = ROOM // 2 if "avx512f" in FEATURES else ROOM  # in vectors of half the length
    beside = 2 * short // 3  # where what is multiplied takes registers, too
    ways: tuple[tuple[str, set[str], Adder], ...] = (
        ("VPDPBUSD of 512 bits", {"avx512f", "avx512vnni"}, _alike(ROOM, quads)),
        ("VPDPBUSD of 256 bits", {"avxvnni"}, _alike(short, short_quads)),
        ("VPMADDUBSW", {"avx2"}, Adder(beside, pairs, False, brief_pairs, SHORTS, joined)),
        ("SDOT", {"dotprod"}, _signed(small_quads)),
        ("SMULL", {"neon"}, _signed(widened_quads)),
        ("any", set(), _alike(ROOM, one_by_one)),
    )
    return {name: adder for name, needs, adder in ways if needs <= FEATURES}


def _alike(room: int, add: Add) -> Adder:
    """The same for codes of 8 bits and of 4."""
    return Adder(room, add, True, add, SUMS, lambda _, sums: sums)


def _signed(add: Add) -> Adder:
    """By a way that takes codes below ZERO: those of 8 bits less ZERO, which have a sign."""

    def less(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
        return add(builder, whole, builder.xor(codes, SUMS([ZERO * 0x01010101] * WIDE)), numbers)

    return _alike(ROOM, add)._replace(eights=less, counts_from_zero=False)


def quads(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """By one instruction."""
    return called(builder, "llvm.x86.avx512.vpdpbusd.512", SUMS, whole, codes, numbers)


def short_quads(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """By two."""
    name, kind = "llvm.x86.avx512.vpdpbusd.256", ir.VectorType(I32, WIDE // 2)
    parts = zip(*(_halves(builder, each) for each in (whole, codes, numbers)), strict=True)
    return _together(builder, [called(builder, name, kind, *part) for part in parts])


def small_quads(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """Codes below ZERO, by four of their instructions: as LLVM does not know of all processors that they have this one,
    it is told in their own words."""
    llvm.initialize_native_asmparser()
    form = ir.FunctionType(QUARTER, [QUARTER] * 3)
    return _by_quarters(builder, lambda *part: builder.asm(form, SDOT, "=w,0,w,w", part, False), whole, codes, numbers)


def widened_quads(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """The same for ARM's processors without that instruction: products in 16 bits, and neighbours added up twice."""
    kind, wide = (ir.VectorType(each, LINE // 4) for each in (I8, I16))

    def added(some: Any, *both: Any) -> Any:
        products = builder.mul(*(builder.sext(builder.bitcast(each, kind), wide) for each in both))
        halves = _halves(builder, products)
        twos = [called(builder, "llvm.aarch64.neon.saddlp.v4i32.v8i16", QUARTER, half) for half in halves]
        return builder.add(some, called(builder, "llvm.aarch64.neon.addp.v4i32", QUARTER, *twos))

    return _by_quarters(builder, added, whole, codes, numbers)


def pairs(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """|code - ZERO| times the number with that sign, in 16 bits, as a pair is 2 * 128 * 127 at most; then pairs of
    pairs."""
    signed = builder.xor(builder.bitcast(codes, BYTES), BYTES([ZERO] * LINE))
    found = []
    for code, number in zip(_halves(builder, signed), _halves(builder, builder.bitcast(numbers, BYTES)), strict=True):
        turned = called(builder, "llvm.x86.avx2.psign.b", code.type, number, code)
        size = called(builder, "llvm.abs.v32i8", code.type, code, ir.IntType(1)(0))
        found.append(_pairs(builder, size, turned))
    return builder.add(whole, joined(builder, _together(builder, found)))


def brief_pairs(builder: Any, brief: Any, codes: Any, numbers: Any) -> Any:
    """Codes up to 15: products of the 32 inputs of a block's half fit into 16 bits, two sums a lane."""
    both = zip(*(_halves(builder, builder.bitcast(each, BYTES)) for each in (codes, numbers)), strict=True)
    return builder.add(brief, _together(builder, [_pairs(builder, *part) for part in both]))


def joined(builder: Any, brief: Any) -> Any:
    """Sums of two sums that stand side by side."""
    kind = ir.VectorType(I32, WIDE // 2)
    ones = ir.VectorType(I16, WIDE)([1] * WIDE)
    halves = [called(builder, "llvm.x86.avx2.pmadd.wd", kind, half, ones) for half in _halves(builder, brief)]
    return _together(builder, halves)


def sums_of_four(builder: Any, adder: Adder, start: Any, codes: list[Any], numbers: list[Any]) -> Any:
    """Sums + the products of four quads of codes up to 63, of which those of two fit into 16 bits (4 * 63 * 127)."""
    if adder.brief is SUMS:
        return reduce(lambda whole, pair: adder.fours(builder, whole, *pair), zip(codes, numbers, strict=True), start)
    for some in (slice(2), slice(2, 4)):
        brief = adder.brief([0] * adder.brief.count)
        for pair in zip(codes[some], numbers[some], strict=True):
            brief = adder.fours(builder, brief, *pair)
        start = builder.add(start, adder.whole(builder, brief))
    return start


def one_by_one(builder: Any, whole: Any, codes: Any, numbers: Any) -> Any:
    """In terms of any machine: products of pairs first, which many have an instruction for."""
    wide = ir.VectorType(I32, LINE)
    first = builder.zext(builder.bitcast(codes, BYTES), wide)
    found = builder.mul(first, builder.sext(builder.bitcast(numbers, BYTES), wide))
    for left in (LINE, LINE // 2):
        even, odd = (_places(builder, found, range(begin, left, 2)) for begin in (0, 1))
        found = builder.add(even, odd)
    return builder.add(whole, found)


def _pairs(builder: Any, codes: Any, numbers: Any) -> Any:
    return called(builder, "llvm.x86.avx2.pmadd.ub.sw", ir.VectorType(I16, WIDE), codes, numbers)


def _halves(builder: Any, vector: Any) -> list[Any]:
    half = vector.type.count // 2
    return [_places(builder, vector, range(begin, begin + half)) for begin in (0, half)]


def _by_quarters(builder: Any, add: Callable[..., Any], *vectors: Any) -> Any:
    """What `add` makes of a quarter of each of these, four times, side by side."""
    quarters = [[part for half in _halves(builder, each) for part in _halves(builder, half)] for each in vectors]
    found = [add(*parts) for parts in zip(*quarters, strict=True)]
    return _together(builder, [_together(builder, found[:2]), _together(builder, found[2:])])


def _together(builder: Any, halves: list[Any]) -> Any:
    count = 2 * halves[0].type.count
    return builder.shuffle_vector(*halves, ir.VectorType(I32, count)(list(range(count))))


def _places(builder: Any, vector: Any, places: range) -> Any:
    return builder.shuffle_vector(vector, vector.type(ir.Undefined), ir.VectorType(I32, len(places))(list(places)))
