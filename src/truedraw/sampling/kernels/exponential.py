"""exp for x <= 0, without branches and calls, so that a loop around it becomes vector instructions.

x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) is a polynomial whose relative error is below 2**-55; 2**n, where n reaches
-1076 and results are subnormal, is put together from its bits as 2**(n + LIFT), and brought down by a factor. The error
is below one unit in the last place. Even and odd powers are added up apart, so that half as much waits for one another.
Range reduction in two steps: Cody and Waite, Software Manual for the Elementary Functions (1980).
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.bits import bits, double, fma

LOG2_E = 1 / math.log(2)
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
LN2_REST = float.fromhex("0x1.abc9e3b39803fp-56")  # ln 2 - LN2
ROUNDER = 1.5 * 2.0**52  # x + ROUNDER has the integer nearest to x in its low bits
LIFT = 64  # powers of 2
LIFTED_ROUNDER, LOWERED = ROUNDER + LIFT, 2.0**-LIFT
EXPONENT_BIAS = 1023
MANTISSA_BITS = 52
LOWEST = -746.0  # exp of this is 0, as of everything below
NEGLIGIBLE = -1010.0  # 2 to the power of this still has an exponent to add to
P1, P2, P3, P4, P5, P6, P7, P8, P9, P10 = (
    0.6931471805599497, 0.24022650695908768, 0.05550410866445883, 0.009618129108034596, 0.0013333558228561767,
    1.5403529961127076e-4, 1.5252658116409854e-5, 1.3215662835959238e-6, 1.0208537929657404e-7, 7.037278846726901e-9,
)  # fmt: skip
"""Of 2**r, |r| <= 1 / 2, beside 1: the largest relative error is the least that a polynomial of ten has, 2.1e-16
(Remez's exchange)."""
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11 = (
    0.5000000000000001, 0.16666666666666669, 0.041666666666624164, 0.008333333333330065, 0.0013888888917196719,
    1.9841269863040545e-4, 2.4801521322368692e-05, 2.7557268480310024e-06, 2.7620075879983367e-07,
    2.5100375832561234e-08,
)  # fmt: skip
"""Of e**r, beside 1 and r: (e**r - 1 - r) / r**2 where Chebyshev's polynomial of degree ten is 0; |r| <= ln 2 / 2."""


@inner(error_model="numpy")
def exp(x):  # type: ignore[no-untyped-def]
    """e**x of one float64 x <= 0; 0 at -inf. NaN is for the caller to refuse."""
    x = max(x, LOWEST)
    shifted = fma(x, LOG2_E, LIFTED_ROUNDER)
    n = shifted - LIFTED_ROUNDER
    r = fma(n, -LN2_REST, fma(n, -LN2, x))
    square = r * r
    odd = fma(square, C11, C9)
    even = fma(square, C10, C8)
    odd = fma(odd, square, C7)
    even = fma(even, square, C6)
    odd = fma(odd, square, C5)
    even = fma(even, square, C4)
    y = fma(fma(odd, square, C3), r, fma(even, square, C2))
    y = fma(fma(y, r, 1.0), r, 1.0)
    return double(bits(y) + (bits(shifted) << MANTISSA_BITS)) * LOWERED


@inner(error_model="numpy")
def power(x):  # type: ignore[no-untyped-def]
    """2.0**x of x <= 0 to 1e-15, for sums whose largest part is 1: 2**-1010 in place of whatever is less."""
    x = max(x, NEGLIGIBLE)
    shifted = x + ROUNDER
    r = x - (shifted - ROUNDER)
    square = r * r
    even = fma(square, P10, P8)
    odd = fma(square, P9, P7)
    even = fma(even, square, P6)
    odd = fma(odd, square, P5)
    even = fma(even, square, P4)
    odd = fma(odd, square, P3)
    even = fma(even, square, P2)
    y = fma(fma(odd, square, P1), r, fma(even, square, 1.0))
    return double(bits(y) + (bits(shifted) << MANTISSA_BITS))


@inner(error_model="numpy")
def weight(logit, top, coldness):  # type: ignore[no-untyped-def]
    """exp((logit - top) coldness): a token's weight beside the likeliest one's, which is 1; coldness = 1 / T."""
    return exp((np.float64(logit) - top) * coldness)
