"""exp for x <= 0, without branches and calls, so that a loop around it becomes vector instructions.

x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) is a polynomial whose relative error is below 2**-56; 2**n, where n reaches
-1076 and results are subnormal, is put together from its bits as 2**(n + LIFT), and brought down by a factor. The error
is about a unit in the last place, 0.98 of one among 6e7 arguments. Even and odd powers are added up apart, so that half
as much waits for one another. Range reduction in two steps: Cody and Waite, Software Manual for the Elementary
Functions (1980).
"""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.formulas import Number, written

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
    0.5000000000000011, 0.16666666666666413, 0.04166666666653045, 0.008333333333494133, 0.0013888888943542996,
    1.984126950707934e-4, 2.480149319879928e-05, 2.755758611893049e-06, 2.7630209707588504e-07, 2.500008045360476e-08,
)  # fmt: skip
"""Of e**r, beside 1 and r, |r| <= ln 2 / 2: the largest relative error is the least there is, and 1.2e-17 with these
rounded (Remez's exchange)."""


def exp_of(x: Number) -> Number:
    """e**x of x <= 0; 0 at -inf. NaN is for the caller to refuse."""
    x = x.at_least(LOWEST)
    shifted = x.fma(LOG2_E, LIFTED_ROUNDER)
    n = shifted - LIFTED_ROUNDER
    r = n.fma(-LN2_REST, n.fma(-LN2, x))
    square = r * r
    odd, even = square.fma(C11, C9), square.fma(C10, C8)
    odd, even = odd.fma(square, C7), even.fma(square, C6)
    odd, even = odd.fma(square, C5), even.fma(square, C4)
    odd, even = odd.fma(square, C3), even.fma(square, C2)
    y = odd.fma(r, even).fma(r, 1.0).fma(r, 1.0)
    return y.raised(shifted, MANTISSA_BITS) * LOWERED


def power_of(x: Number) -> Number:
    """2.0**x of x <= 0 to 1e-15, for sums whose largest part is 1: 2**-1010 in place of whatever is less."""
    x = x.at_least(NEGLIGIBLE)
    shifted = x + ROUNDER
    r = x - (shifted - ROUNDER)
    square = r * r
    odd, even = square.fma(P9, P7), square.fma(P10, P8)
    odd, even = odd.fma(square, P5), even.fma(square, P6)
    odd, even = odd.fma(square, P3), even.fma(square, P4)
    odd, even = odd.fma(square, P1), even.fma(square, P2).fma(square, 1.0)
    return odd.fma(r, even).raised(shifted, MANTISSA_BITS)


def weight_of(logit: Number, top: Number, coldness: Number) -> Number:
    """As `weight`."""
    return exp_of((logit - top) * coldness)


exp, power = written(exp_of), written(power_of)
"""Of one float64, for compiled code."""


@inner(error_model="numpy")
def weight(logit, top, coldness):  # type: ignore[no-untyped-def]
    """exp((logit - top) coldness): a token's weight beside the likeliest one's, which is 1; coldness = 1 / T."""
    return exp((np.float64(logit) - top) * coldness)
