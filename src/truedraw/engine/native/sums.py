"""Sums of products of small integers, which numba has no name for and makes no vectors of by itself."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types
from numba.extending import intrinsic

from truedraw.engine.native import eights, fives, fours, sixes
from truedraw.engine.native.adders import Adder, adders
from truedraw.engine.native.instructions import I64, each_case
from truedraw.engine.native.machine import ROOM

KINDS = {types.uint16: fours, types.uint8: fours, types.int8: sixes}  # of scales, where codes are uint8
FIRST_HALF, SECOND_HALF, ALL = 0, 1, 2  # of what comes next
FASTEST = next(iter(adders().values()))
MOST_ROWS = min(6, ROOM // 2)  # at once: sums of both halves of a block fit into the processor's registers


class Given(NamedTuple):
    """What a block's code is built from: places in memory, and numbers."""

    codes: Any  # uint8
    numbers: Any  # int8 [rows, inputs], one row `stride` behind the other
    stride: Any
    quads: Any  # rows of LANES times QUAD bytes of codes
    factors: Any  # float32 [rows, FACTORS], one row `gap` behind the other
    gap: Any
    scales: Any
    deep: Any  # where scales are nested: what they are multiplied with
    whole: Any  # float32 [rows, LANES]
    asks_all: Any  # what of what comes next is to be asked for: all, or if not, the second half
    asks_second: Any


def block_adder(adder: Adder = FASTEST) -> Any:
    """For up to MOST_ROWS rows at once: whole[r, l] += step[r] sum_k weights[l, k] numbers[r, k] of a block's inputs,
    by the kind of scales: float32, or int16 with bits of float16, for weights = scales[l] (codes[l, k] - ZERO), of
    codes of 8 bits; uint16 with bits of float16 for weights = scales[h, l] codes[l, k] + least[h, l] in half h of the
    inputs, of codes of 4 bits; uint8 for these with nested scales, and for codes of 5 bits, which are int8; int8 for
    codes of 6 bits, see nested.py.

    An operation of (rows, share, codes, first, numbers, at, stride, quads, factors, start, gap, scales, scale, deep,
    whole, place): codes from `first` on as blocks.py has them, `quads` rows of bytes; int8 numbers of row r from
    `at + r stride` on, and what products.round_row says of them, FACTORS places from `start + r gap` on; scales from
    `scale` on, and what nested ones are multiplied with from `deep` on; float32 whole from `place` on [rows, LANES];
    all flat. share: of what comes next in memory, asked for meanwhile: ALL, or the first or second half.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def add_block(  # noqa: PLR0913, PLR0917
        typing: Any, rows: Any, share: Any, codes: Any, first: Any, numbers: Any, at: Any, stride: Any, quads: Any,
        factors: Any, start: Any, gap: Any, scales: Any, scale: Any, deep: Any, whole: Any, place: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            def data(array: int, place: int) -> Any:
                whole = context.make_array(signature.args[array])(context, builder, given[array])
                return builder.gep(whole.data, [given[place]])

            asks = [builder.icmp_signed("==", given[1], I64(part)) for part in (ALL, SECOND_HALF)]
            own = Given(
                data(2, 3), data(4, 5), given[6], given[7], data(8, 9), given[10], data(11, 12), data(11, 13),
                data(14, 15), *asks,
            )  # fmt: skip
            is_five = signature.args[2].dtype == types.int8
            kind = fives if is_five else KINDS.get(signature.args[11].dtype, eights)
            for count in each_case(builder, given[0], MOST_ROWS):
                kind.build(builder, adder, count, own)
            return context.get_dummy_value()

        n = types.int64
        return types.none(n, n, codes, n, numbers, n, n, n, factors, n, n, scales, n, n, whole, n), generate

    return add_block
