"""Logits to p, and the normaliser alone, in one pass of exp after one pass for the largest logit.

p is within a few units in the last place of its definition, relative, however small it is. Sums have one order, which
is written out.
"""

# ruff: noqa: ARG001, PLW0108 - numba matches the arguments of overloads by name, and takes lambdas for them

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from truedraw.compiled import apart, compiled, inner
from truedraw.protocol import Floats, Ints, Logits
from truedraw.sampling.kernels.bits import long_vectors
from truedraw.sampling.kernels.exponential import weight_of
from truedraw.sampling.kernels.lanes import summed
from truedraw.sampling.kernels.rowkinds import Patched, kind, left
from truedraw.sampling.kernels.spans import largest, maxima, num_spans
from truedraw.sampling.kernels.totals import total_of, total_weight

WEIGHTS = summed(lambda row, of: [weight_of(row[0], *of)])
PATCHED = summed(lambda row, of: [weight_of(row[0].or_else(row[1], row[2]), *of)])
"""Of a row's values, or a Patched one's arrays, with the largest value and a coldness."""
COLDEST = np.finfo(np.float64).max / 2


@inner(error_model="numpy")
def coldness_of(temperature):  # type: ignore[no-untyped-def]
    """1 / temperature, finite also where it is the power of 2 that is asked for."""
    return min(1.0 / temperature, COLDEST)


@inner(error_model="numpy")
def top_of(values):  # type: ignore[no-untyped-def]
    """The largest of the values [n], NaN where one is NaN."""
    tops = np.empty(num_spans(values.shape[0]), dtype=values.dtype)
    nan = maxima(values, values.shape[0], -np.inf, tops)
    return np.nan if nan else np.float64(largest(tops))


@apart(error_model="numpy")
def weights_into(values, top, coldness, out):  # type: ignore[no-untyped-def]
    """out [n], which may be the values' own memory: the weights; returns their sum."""
    return WEIGHTS((values,), (top, coldness), out, 0, values.shape[0])


def write_weights(row: Any, out: Any) -> Any:
    """out [n], or () for none: the weights of a Tempered row, or of a Patched one that may be edited there; returns
    their sum. For compiled code only."""
    raise NotImplementedError


@overload(write_weights)
def _write_weights(row, out):  # type: ignore[no-untyped-def]
    if kind(row) is Patched:
        return lambda row, out: weights_patched(row, out)
    return lambda row, out: weights_into(row.logits, row.top, row.coldness, out)


@apart(error_model="numpy")
def weights_patched(row, out):  # type: ignore[no-untyped-def]
    """The same of a Patched one."""
    return PATCHED((row.logits, row.edited, row.marks), (row.top, row.coldness), out, 0, row.logits.shape[0])


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
        scale(logits, 1.0 / weights_into(logits, top, coldness_of(temperature), logits))
    return float(top)


@compiled(nogil=True, error_model="numpy")
def log_normaliser(logits: Logits | Floats) -> float:
    """log(sum(exp(logits [n]))); NaN or infinite where the largest logit is."""
    top = top_of(logits)
    return float(top + np.log(total_weight(logits, top, 1.0)) if np.isfinite(top) else top)


@compiled(nogil=True, error_model="numpy")
def keep(p: Floats, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """p [n] in place: 0 where not kept [n], and normalised; returns the mass that was kept."""
    for i in range(p.shape[0]):
        p[i] = p[i] if kept[i] else 0.0
    total: float = total_of(p)
    scale(p, 1.0 / total)
    return total


@compiled(nogil=True, error_model="numpy")
def excess_into(share: float, p: Floats, q: Floats, out: Floats) -> float:
    """out [n]: (share p - q)+, p and q [n]; returns its sum."""
    for i in range(p.shape[0]):
        out[i] = left(share, p[i], q[i])
    return float(total_of(out))


@compiled(nogil=True, error_model="numpy")
def sparse_excess_into(share: float, p: Floats, tokens: Ints, weights: Floats, out: Floats) -> float:
    """The same for a q that is weights [support] at tokens [support] and 0 elsewhere.

    The sum is that of `out`: 1 less what q takes would lose the digits of a small one.
    """
    for i in range(p.shape[0]):
        out[i] = share * p[i]
    for k in range(tokens.shape[0]):
        out[tokens[k]] = left(share, p[tokens[k]], weights[k])
    return float(total_of(out))
