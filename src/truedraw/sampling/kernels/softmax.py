"""Logits to p, and the normaliser alone, in one pass of exp after one pass for the largest logit.

p is within a few units in the last place of its definition, relative, however small it is. Sums run in the order of the
processor's vectors, which is the same for every row.
"""

# ruff: noqa: ARG001, ARG005 - numba matches the arguments of overloads by name, and takes lambdas for them

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from truedraw.compiled import compiled, inner
from truedraw.protocol import Floats, Ints, Logits
from truedraw.sampling.kernels.bits import long_vectors
from truedraw.sampling.kernels.exponential import weight
from truedraw.sampling.kernels.rowkinds import Patched, kind, left, value_at, weight_of
from truedraw.sampling.kernels.spans import largest, maxima, num_spans
from truedraw.sampling.kernels.totals import LARGEST, total_weight


@inner(error_model="numpy")
def coldness_of(temperature):  # type: ignore[no-untyped-def]
    """1 / temperature, finite."""
    return min(1.0 / temperature, LARGEST)


@inner(error_model="numpy")
def top_of(values):  # type: ignore[no-untyped-def]
    """The largest of the values [n], NaN where one is NaN."""
    tops = np.empty(num_spans(values.shape[0]), dtype=values.dtype)
    nan = maxima(values, values.shape[0], -np.inf, tops)
    return np.nan if nan else np.float64(largest(tops))


@inner(error_model="numpy")
def weights_into(values, top, coldness, out):  # type: ignore[no-untyped-def]
    """out [n], which is not the values' own memory: the weights; returns their sum.

    A loop over two arrays of equal items is compiled twice, in vectors and one by one where the second array begins a
    few items behind the first, as short arrays may. Their sums differ in the last place, so such rows are copied first.
    """
    if values.itemsize != out.itemsize:
        return weights_apart(values, top, coldness, out)
    for i in range(values.shape[0]):
        out[i] = values[i]
    return weights_here(out, top, coldness)


@inner(error_model="numpy", fastmath={"reassoc"})
def weights_apart(values, top, coldness, out):  # type: ignore[no-untyped-def]
    """The same in one loop."""
    long_vectors()
    total = 0.0
    for i in range(values.shape[0]):
        w = weight(values[i], top, coldness)
        out[i] = w
        total += w
    return total


@inner(error_model="numpy", fastmath={"reassoc"})
def weights_here(values, top, coldness):  # type: ignore[no-untyped-def]
    """The same in place: two arrays that are one would be read and written one by one."""
    long_vectors()
    total = 0.0
    for i in range(values.shape[0]):
        w = weight(values[i], top, coldness)
        values[i] = w
        total += w
    return total


@inner(error_model="numpy", fastmath={"reassoc"})
def weights_patched(row):  # type: ignore[no-untyped-def]
    """The same of a Patched row, in row.edited: all are read and written at one place."""
    long_vectors()
    total = 0.0
    for i in range(row.logits.shape[0]):
        w = weight_of(row, value_at(row, i))
        row.edited[i] = w
        total += w
    return total


def write_weights(row: Any, out: Any) -> Any:
    """out [n]: the weights of a Tempered row, or of a Patched one that is edited there; returns their sum."""
    raise NotImplementedError


@overload(write_weights)
def _write_weights(row, out):  # type: ignore[no-untyped-def]
    if kind(row) is Patched:
        return lambda row, out: weights_patched(row)
    return lambda row, out: weights_into(row.logits, row.top, row.coldness, out)


@inner(error_model="numpy", fastmath={"reassoc"})
def total_of(row):  # type: ignore[no-untyped-def]
    """The sum alone, of such a row."""
    long_vectors()
    total = 0.0
    for i in range(row.logits.shape[0]):
        total += weight_of(row, value_at(row, i))
    return total


@inner(error_model="numpy")
def scale(x, factor):  # type: ignore[no-untyped-def]
    """x [n] times a number, in place."""
    long_vectors()
    for i in range(x.shape[0]):
        x[i] *= factor


@compiled(nogil=True, error_model="numpy")
def softmax_into(logits: Logits | Floats, temperature: float, out: Floats) -> float:
    """out [n], other memory: softmax(logits [n] / temperature), temperature > 0.

    Returns the largest logit; where that is NaN or infinite there is no law, and `out` is not written.
    """
    top = top_of(logits)
    if np.isfinite(top):
        scale(out, 1.0 / weights_into(logits, top, coldness_of(temperature), out))
    return float(top)


@compiled(nogil=True, error_model="numpy")
def softmax_here(logits: Floats, temperature: float) -> float:
    """softmax_into, in place."""
    top = top_of(logits)
    if np.isfinite(top):
        scale(logits, 1.0 / weights_here(logits, top, coldness_of(temperature)))
    return float(top)


@compiled(nogil=True, error_model="numpy")
def log_normaliser(logits: Logits | Floats) -> float:
    """log(sum(exp(logits [n]))); NaN or infinite where the largest logit is."""
    top = top_of(logits)
    return float(top + np.log(total_weight(logits, top, 1.0)) if np.isfinite(top) else top)


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc"})
def keep(p: Floats, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """p [n] in place: 0 where not kept [n], and normalised; returns the mass that was kept."""
    total = 0.0
    for i in range(p.shape[0]):
        p[i] = p[i] if kept[i] else 0.0
        total += p[i]
    scale(p, 1.0 / total)
    return total


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc"})
def excess_into(share: float, p: Floats, q: Floats, out: Floats) -> float:
    """out [n]: (share p - q)+, p and q [n]; returns its sum, taken of `out` alone as in weights_into."""
    for i in range(p.shape[0]):
        out[i] = left(share, p[i], q[i])
    total = 0.0
    for i in range(out.shape[0]):
        total += out[i]
    return total


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc"})
def sparse_excess_into(share: float, p: Floats, tokens: Ints, weights: Floats, out: Floats) -> float:
    """The same for a q that is weights [support] at tokens [support] and 0 elsewhere.

    The sum is that of `out`: 1 less what q takes would lose the digits of a small one.
    """
    for i in range(p.shape[0]):
        out[i] = share * p[i]
    for k in range(tokens.shape[0]):
        out[tokens[k]] = left(share, p[tokens[k]], weights[k])
    total = 0.0
    for i in range(out.shape[0]):
        total += out[i]
    return total
