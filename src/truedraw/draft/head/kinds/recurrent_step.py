"""A whole step of the recurrent head (recurrent.py has its formulas) in one call."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.engine.native.products import FREE, add_product
from truedraw.sampling.kernels.exponential import summand


@compiled(fastmath=FREE, error_model="numpy", nogil=True)
def step(features, states, embedded, matrices, gain, sizes, epsilon):  # type: ignore[no-untyped-def]
    """States [n, width] and logits [n, known] behind the states before and tokens of these rows e(t) [n, width].

    features [n, streams * width], or [n, 0] where the target has said nothing; matrices: Blocks of I, (G, U), D, T, O
    and e(tokens); gain [width]; sizes: rows of (G, U) and of e(tokens); epsilon: of mean squares.
    """
    into, up, down, token, output, written = matrices
    n, width = states.shape
    after = states.copy()
    if features.shape[1]:
        add_product(features, into, after)
    e = normed(embedded, epsilon)
    inside = np.zeros((n, sizes[0]), np.float32)
    add_product(side_by_side(normed(after, epsilon), e), up, inside)
    add_product(gated(inside), down, after)
    add_product(e, token, after)
    read = normed(after, epsilon)
    for row in range(n):
        for k in range(width):
            read[row, k] *= gain[k]
    said = np.zeros((n, width), np.float32)
    add_product(read, output, said)
    logits = np.zeros((n, sizes[1]), np.float32)
    add_product(said, written, logits)
    return after, logits


@inner(fastmath=FREE, error_model="numpy")
def normed(rows, epsilon):  # type: ignore[no-untyped-def]
    """x / rms(x) of each row, a copy."""
    out = np.empty_like(rows)
    for row in range(len(rows)):
        squares = np.float32(0)
        for k in range(rows.shape[1]):
            squares += rows[row, k] * rows[row, k]
        factor = np.float32(1 / np.sqrt(squares / rows.shape[1] + epsilon))
        for k in range(rows.shape[1]):
            out[row, k] = rows[row, k] * factor
    return out


@inner(error_model="numpy")
def side_by_side(first, second):  # type: ignore[no-untyped-def]
    """Rows of two arrays [n, width], [n, 2 width]."""
    n, width = first.shape
    out = np.empty((n, 2 * width), np.float32)
    for row in range(n):
        for k in range(width):
            out[row, k] = first[row, k]
            out[row, width + k] = second[row, k]
    return out


@inner(fastmath=FREE, error_model="numpy")
def gated(inside):  # type: ignore[no-untyped-def]
    """silu(g) u of rows that have all g and then all u."""
    n, half = len(inside), inside.shape[1] // 2
    out = np.empty((n, half), np.float32)
    for row in range(n):
        for k in range(half):
            g = np.float64(inside[row, k])
            small = summand(-abs(g))
            out[row, k] = g * ((1.0 if g >= 0 else small) / (1.0 + small)) * inside[row, half + k]
    return out
