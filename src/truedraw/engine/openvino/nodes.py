"""The few node shapes a decoder is made of, in the patterns that the runtime fuses into single kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.matrix import Matrix
from truedraw.protocol import Logits
from truedraw.silent_openvino import openvino, operations

Node = Any  # openvino.Node or one of its outputs: openvino has no usable annotations
MISREAD = range(17, 32, 2)
"""Input features that the runtime's kernels for int8 make wrong products of; with zeros behind them they do not."""
INNER_AXIS = 3  # of [rows, heads, 1, head_dim]; rotary fusion wants it counted from the front


def constant(value: Any, dtype: Any) -> Node:
    """A constant of any shape."""
    op = operations()

    return op.constant(np.asarray(value, dtype=dtype))


def integers(*values: int) -> Node:
    """An int64 vector, as shapes and axes are given."""
    return constant(values, np.int64)


def parameter(name: str, shape: list[int], dtype: Any) -> Node:
    """A named input; -1 is a size that varies."""
    op = operations()

    node = op.parameter(shape, dtype)
    return named(node, name)


def named(node: Node, name: str) -> Node:
    """The node, its first output found under `name` in the compiled model."""
    node.set_friendly_name(name)
    node.output(0).get_tensor().set_names({name})
    return node


def copied(node: Node, name: str) -> Node:
    """A node as an output of its own: it may be another one's input, or a part of one, and have no name then."""
    op = operations()

    return named(op.add(node, constant(0.0, np.float32)), name)


def take_rows(x: Node, rows: Node) -> Node:
    """x[rows] along the first axis."""
    op = operations()

    return op.gather(x, rows, constant(0, np.int64))


def stored(matrix: Matrix) -> Node:
    """The constant as it is kept: [out, in], or [out, groups, in / groups] where groups share a scale.

    It shares the memory of the matrix, which must stay alive as long as the graph, as the scales do.
    """
    ov = openvino()

    bits = {np.dtype(np.uint8): ov.Type.u4, np.dtype(np.uint16): ov.Type.bf16}
    kind = bits.get(matrix.values.dtype) or ov.Type(matrix.values.dtype)
    return _shared(matrix.values, grouped_shape(matrix), kind)


def _shared(values: NDArray[Any], shape: tuple[int, ...], kind: Any) -> Node:
    """A constant in the memory of an array, which must be contiguous to be shared."""
    ov = openvino()

    return ov.op.Constant(ov.Tensor(np.ascontiguousarray(values), ov.Shape(shape), kind))


def grouped_shape(matrix: Matrix) -> tuple[int, ...]:
    """[out, in] for one scale a row or none, else [out, groups, in / groups]."""
    out, width = len(matrix.values), matrix.width
    groups = 1 if matrix.scales is None else matrix.scales.shape[1]
    return (out, width) if groups == 1 else (out, groups, width // groups)


def dequantised(matrix: Matrix, held: Node) -> Node:
    """[out, in] float32 as the kernels' fusion expects it: convert, subtract the zero, scale, reshape."""
    op = operations()

    assert matrix.least is None  # see Matrix
    if matrix.values.dtype == np.float32:
        return held
    wide = op.convert(held, "f32")
    if matrix.scales is None:
        return wide
    if matrix.zero:
        wide = op.subtract(wide, op.convert(_zeros(matrix), "f32"))
    return _scaled(matrix, wide, _scales(matrix))


def _zeros(matrix: Matrix) -> Node:
    """Zero points of 4 bits, one a group, as `_scales`: the fast kernels want them in the type of the codes."""
    ov = openvino()

    zeros = ov.Tensor(ov.Type.u4, ov.Shape(_a_group(matrix)))  # owns its memory
    zeros.data[...] = matrix.zero << 4 | matrix.zero
    return ov.op.Constant(zeros)


def _scales(matrix: Matrix) -> Node:
    """Scales that broadcast against `stored`."""
    ov = openvino()

    assert matrix.scales is not None
    return _shared(matrix.scales, _a_group(matrix), ov.Type.f32)


def _a_group(matrix: Matrix) -> tuple[int, ...]:
    """The shape of numbers of which each group has one."""
    assert matrix.scales is not None
    out, groups = matrix.scales.shape
    return (out, 1) if groups == 1 else (out, groups, 1)


def _scaled(matrix: Matrix, wide: Node, scales: Node) -> Node:
    op = operations()

    product = op.multiply(wide, scales)
    if len(grouped_shape(matrix)) == 2:
        return product
    return op.reshape(product, integers(-1, matrix.width), False)


def looked_up(matrix: Matrix, held: Node, ids: Node) -> Node:
    """Rows of the table, dequantised after the look-up, [rows, in] float32."""
    op = operations()

    rows = take_rows(held, ids)
    wide = rows if matrix.values.dtype == np.float32 else op.convert(rows, "f32")
    if matrix.scales is None:
        return wide
    return _scaled(matrix, wide, take_rows(_scales(matrix), ids))


def linear(x: Node, weight: Node) -> Node:
    """x [rows, in] times weight [out, in] transposed."""
    op = operations()

    return op.matmul(x, weight, False, True)


def times(x: Node, matrix: Matrix, held: Node | None = None) -> Node:
    """The same by a matrix; held: `stored` of it, where it is there already."""
    op = operations()

    if matrix.values.dtype == np.int8 and matrix.width in MISREAD:
        more = MISREAD.stop - matrix.width
        x = op.pad(x, integers(0, 0), integers(0, more), "constant")
        matrix = replace(matrix, values=np.pad(matrix.values, ((0, 0), (0, more))))
        held = constant(matrix.values, np.int8)
    return linear(x, dequantised(matrix, stored(matrix) if held is None else held))


def split(x: Node, sizes: list[int]) -> list[Node]:
    """x [rows, sum(sizes)] cut into parts [rows, size]."""
    op = operations()

    return list(op.variadic_split(x, constant(1, np.int64), integers(*sizes)).outputs())


def rms_norm(x: Node, gain: Logits, eps: float) -> Node:
    """x / sqrt(mean(x^2) + eps) * gain over the last axis."""
    op = operations()

    mean = op.reduce_mean(op.power(x, constant(2.0, np.float32)), integers(-1), True)
    root = op.sqrt(op.add(mean, constant(eps, np.float32)))
    return op.multiply(op.multiply(x, op.divide(constant(1.0, np.float32), root)), constant(gain, np.float32))


def rotate(x: Node, cos: Node, sin: Node, head_dim: int) -> Node:
    """Rotary positions, halves of a head paired: x [rows, heads, 1, head_dim]; cos, sin [rows, 1, 1, head_dim]."""
    op = operations()

    half = integers(head_dim // 2, head_dim // 2)
    halves = op.variadic_split(x, constant(INNER_AXIS, np.int64), half)
    minus = op.multiply(halves.output(1), constant(-1.0, np.float32))
    turned = op.concat([minus, halves.output(0)], -1)
    return op.add(op.multiply(x, cos), op.multiply(turned, sin))
