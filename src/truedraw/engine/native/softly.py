"""Powers in float32 without branches and calls, so that a loop around it becomes vector instructions.

x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) is its Taylor polynomial, whose remainder is below 2**-25 (Cody and Waite,
Software Manual for the Elementary Functions, 1980).
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inlined
from truedraw.engine.native.machine import power, scaled_to_bfloat16

FREE = {"contract", "reassoc", "nsz"}
LOG2_E = np.float32(1 / math.log(2))
LN2 = np.float32(0.693359375)
LN2_REST = np.float32(math.log(2) - 0.693359375)
LOWEST = np.float32(-87.0)  # below it results would be subnormal
C = tuple(np.float32(1 / math.factorial(k)) for k in range(8))
C2, C3, C4, C5, C6, C7 = C[2:]
ONE = np.float32(1)
FEWEST = np.float32(-126.0)  # doublings, the same in another base
P1, P2, P3, P4 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(1, 5))


@inlined(error_model="numpy")
def exp(x):  # type: ignore[no-untyped-def]
    """e**x of a float32 x <= 0; e**-87 of all below, NaN of NaN."""
    x = max(x, LOWEST)
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2) - n * LN2_REST
    y = C7 * r + C6
    y = y * r + C5
    y = y * r + C4
    y = y * r + C3
    y = y * r + C2
    y = (y * r + ONE) * r + ONE
    return y * power(np.int32(n))


@inlined(error_model="numpy")
def short_power(x):  # type: ignore[no-untyped-def]
    """2**x of a float32 x <= 0 as bits of a bfloat16; 2**-126 of all below, NaN of NaN. Before it is rounded it is off
    by 2**-14 at most."""
    x = FEWEST if x < FEWEST else x
    n = np.rint(x)
    r = x - n
    y = P4 * r + P3
    y = y * r + P2
    y = (y * r + P1) * r + ONE
    return scaled_to_bfloat16(y, np.int32(n))


@inlined(error_model="numpy")
def silu(x):  # type: ignore[no-untyped-def]
    """x / (1 + e**-x) of a float32."""
    small = exp(-abs(x))
    return x * ((ONE if x >= 0 else small) / (ONE + small))


@inlined(fastmath=FREE, error_model="numpy")
def norm(row, gain, epsilon, out):  # type: ignore[no-untyped-def]
    """x / rms(x) * gain of one row."""
    squares = np.float32(0)
    for k in range(len(row)):
        squares += row[k] * row[k]
    factor = np.float32(1) / np.sqrt(squares / np.float32(len(row)) + epsilon)
    for k in range(len(row)):
        out[k] = row[k] * factor * gain[k]
