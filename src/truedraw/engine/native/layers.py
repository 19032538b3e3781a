"""One kind of matrix of all layers, in one form where that is possible, and how a pass multiplies with a layer's.

A file of "Q4_K_M" has some layers in codes of 4 bits, one of "Q5_K_M" in codes of 5, and more precise ones among them:
each form has a stack of its own then. All have blocks of SIZE inputs, so that rows are rounded once for either.
"""

# ruff: noqa: ARG001 - numba matches the arguments of overloads by name

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from truedraw.compiled import forwarded
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.native.blocks import SIZE, Blocks, room_in_lines
from truedraw.engine.native.laying import blocks_of, eights_of, halves_of, shortened
from truedraw.engine.native.nested import FIVES, FOURS, form_of
from truedraw.engine.native.softly import FREE
from truedraw.engine.native.together import multiply, multiply_gated
from truedraw.protocol import Ints

FORWARDED = forwarded(fastmath=FREE, error_model="numpy")


class Mixed(NamedTuple):
    """Layers of two forms."""

    coarser: Blocks
    finer: Blocks
    at: Ints
    """[layers]: the place among the coarser ones, of 4 or 5 bits, or ~place among those of more."""


Kind = Blocks | Mixed


def stacked(held: list[Matrix]) -> Kind:
    """A copy of the matrices of all layers, an axis of layers in front."""
    short = [_is_coarse(each) for each in held]
    if all(short) or not any(short):
        return (_alike_coarse(held) if short[0] else _alike(held)) or of_one_form(held)
    others = [each for each, is_short in zip(held, short, strict=True) if not is_short]
    finer = _alike(others) or of_one_form(others)
    coarser = _alike_coarse([each for each, is_short in zip(held, short, strict=True) if is_short])
    if finer.size != SIZE or coarser is None:
        return of_one_form(held)
    places = np.where(short, np.cumsum(short) - 1, ~(np.cumsum(np.logical_not(short)) - 1))
    return Mixed(coarser, finer, places.astype(np.int64))


def _alike_coarse(held: list[Matrix]) -> Blocks | None:
    """As the file has them, or else with nested scales as float16, where that loses next to nothing."""
    return _alike(held) or _alike([replace(each, nested=()) for each in held])


def _is_coarse(matrix: Matrix) -> bool:
    return form_of(matrix, SIZE) in {FOURS, FIVES} or halves_of(matrix) is not None


def first_of(kind: Kind, layers: int) -> Kind:
    """Of the first layers; no copy."""
    if isinstance(kind, Mixed):
        return kind._replace(at=kind.at[:layers])
    return Blocks(kind.codes[:layers], kind.scales[:layers])


def blocks_in(kind: Kind) -> Blocks:
    """Of one form: inputs, and blocks of a row, are the same in either."""
    return kind.coarser if isinstance(kind, Mixed) else kind


def given(kind: Kind) -> tuple[Any, ...]:
    """As compiled code takes it."""
    return (*kind.coarser, *kind.finer, kind.at) if isinstance(kind, Mixed) else tuple(kind)


def _alike(held: list[Matrix]) -> Blocks | None:
    """None where their blocks have different forms."""
    whole = None
    for number, matrix in enumerate(held):
        each = blocks_of(matrix)
        if whole is None:
            whole = Blocks(*(room_in_lines((len(held), *some.shape), some.dtype) for some in each))
        if any(many.shape[1:] != one.shape or many.dtype != one.dtype for many, one in zip(whole, each, strict=True)):
            return None
        whole.codes[number], whole.scales[number] = each
    return whole


def of_one_form(held: list[Matrix]) -> Blocks:
    """In codes of 8 bits, and where some share scales among fewer inputs, the finest holds for all."""
    found = [eights_of(each) for each in held]
    if len({each.size for each in found}) > 1:
        found = [eights_of(each, min(each.size for each in found)) for each in held]
    codes, scales = found[0].codes, max((each.scales for each in found), key=np.size)
    whole = Blocks(*(room_in_lines((len(found), *some.shape), some.dtype) for some in (codes, scales)))
    for number, each in enumerate(found):
        whole.codes[number], whole.scales[number] = each
    return shortened(whole)


def multiply_layer(
    kind: Any, layer: Any, rounded: Any, out: Any, fresh: Any, counters: Any, stage: Any, ways: Any
) -> Any:
    """together.multiply with a layer's matrix. For compiled code only, as the other one."""
    raise NotImplementedError


def multiply_layer_gated(kind: Any, layer: Any, rounded: Any, told: Any, counters: Any, stage: Any, ways: Any) -> Any:
    """together.multiply_gated with it."""
    raise NotImplementedError


@overload(multiply_layer, jit_options=FORWARDED)
def _multiply_layer(kind, layer, rounded, out, fresh, counters, stage, ways):  # type: ignore[no-untyped-def]
    def uniform(kind, layer, rounded, out, fresh, counters, stage, ways):  # type: ignore[no-untyped-def]
        return multiply((kind[0][layer], kind[1][layer]), rounded, out, fresh, counters, stage, ways)

    def mixed(kind, layer, rounded, out, fresh, counters, stage, ways):  # type: ignore[no-untyped-def]
        place = kind[4][layer]
        if place >= 0:
            return multiply((kind[0][place], kind[1][place]), rounded, out, fresh, counters, stage, ways)
        return multiply((kind[2][~place], kind[3][~place]), rounded, out, fresh, counters, stage, ways)

    return _of_form(kind, uniform, mixed)


@overload(multiply_layer_gated, jit_options=FORWARDED)
def _multiply_layer_gated(kind, layer, rounded, told, counters, stage, ways):  # type: ignore[no-untyped-def]
    def uniform(kind, layer, rounded, told, counters, stage, ways):  # type: ignore[no-untyped-def]
        return multiply_gated((kind[0][layer], kind[1][layer]), rounded, told, counters, stage, ways)

    def mixed(kind, layer, rounded, told, counters, stage, ways):  # type: ignore[no-untyped-def]
        place = kind[4][layer]
        if place >= 0:
            return multiply_gated((kind[0][place], kind[1][place]), rounded, told, counters, stage, ways)
        return multiply_gated((kind[2][~place], kind[3][~place]), rounded, told, counters, stage, ways)

    return _of_form(kind, uniform, mixed)


def _of_form(kind: Any, uniform: Callable[..., Any], mixed: Callable[..., Any]) -> Callable[..., Any]:
    """By the length of what `given` made."""
    return uniform if len(kind) == len(Blocks._fields) else mixed
