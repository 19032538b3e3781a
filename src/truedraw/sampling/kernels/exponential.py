"""exp for x <= 0, without branches and calls, so that a loop around it becomes vector instructions.

x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) is its Taylor polynomial, whose remainder is below 2**-57; 2**n is put
together from its bits, in two factors, because n reaches -1076 where results are subnormal. The error is below one
unit in the last place. Even and odd powers are added up apart, so that half as much waits for one another. Range
reduction in two steps: Cody and Waite, Software Manual for the Elementary Functions
(1980).
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
ROUNDER_BITS = int(np.float64(ROUNDER).view(np.int64))
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
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1 / math.factorial(k) for k in range(2, 14))


@inner(error_model="numpy")
def exp(x):  # type: ignore[no-untyped-def]
    """e**x of one float64 x <= 0; 0 at -inf. NaN is for the caller to refuse."""
    x = max(x, LOWEST)
    shifted = fma(x, LOG2_E, ROUNDER)
    n = shifted - ROUNDER
    r = fma(n, -LN2_REST, fma(n, -LN2, x))
    square = r * r
    odd = fma(square, C13, C11)
    even = fma(square, C12, C10)
    odd = fma(odd, square, C9)
    even = fma(even, square, C8)
    odd = fma(odd, square, C7)
    even = fma(even, square, C6)
    odd = fma(odd, square, C5)
    even = fma(even, square, C4)
    y = fma(fma(odd, square, C3), r, fma(even, square, C2))
    y = fma(fma(y, r, 1.0), r, 1.0)
    whole = bits(shifted) - ROUNDER_BITS
    half = whole >> 1
    return y * power_of_two(half) * power_of_two(whole - half)


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
def power_of_two(n):  # type: ignore[no-untyped-def]
    """2.0**n for -1022 <= n <= 1023."""
    return double((n + EXPONENT_BIAS) << MANTISSA_BITS)


@inner(error_model="numpy")
def weight(logit, top, coldness):  # type: ignore[no-untyped-def]
    """exp((logit - top) coldness): a token's weight beside the likeliest one's, which is 1; coldness = 1 / T."""
    return exp((np.float64(logit) - top) * coldness)
