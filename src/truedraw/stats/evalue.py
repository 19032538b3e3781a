"""Running evidence against exactness, valid whenever it is looked at, at no cost in model passes.

Against every token bets are placed on f, the event that the text follows the draft (leaning.py): the wealth of one
bettor is multiplied by

    1 + lambda_t (f(x_t) - E_p f),   lambda_t = (e^s - 1) / (1 - E_p f + e^s E_p f),

which is the likelihood ratio of a coin whose odds are e^s times those under p; lambda_t is known before x_t, so each
wealth is a martingale of mean 1 under exact sampling, and so is M_t, the mean over bettors of different s. By Ville's
inequality P(M_t >= 1 / delta for some t) <= delta: an alarm may be looked for after every token, for ever. A token
that p excludes never comes under exact sampling, so where one has come every wealth is without bounds.
"""

from __future__ import annotations

import math

from truedraw.protocol import Proposal, Rows, Verdict
from truedraw.stats.leaning import is_possible, observed

TILTS = tuple(sign * 2.0**power for power in range(-6, 2) for sign in (1, -1))
"""s of each bettor: from a bias too small to see in a million tokens to one seen in twenty."""
MOST = 700.0  # of the logarithm of a value: near the largest a double's exponent takes


class RunningEvidence:
    """The e-value M_t of a stream of events, and its largest value so far."""

    def __init__(self) -> None:
        self.count = 0
        self.largest = 1.0
        self._log_wealths = [0.0] * len(TILTS)

    def add(self, happened: bool, chance: float) -> None:
        """One event and its probability under p; an event that could not go otherwise tells nothing."""
        if not 0.0 < chance < 1.0:
            return
        self.count += 1
        for bettor, tilt in enumerate(TILTS):
            gain = tilt if happened else 0.0
            self._log_wealths[bettor] += gain - math.log1p(chance * math.expm1(tilt))
        self.largest = max(self.largest, self.value)

    def refute(self) -> None:
        """What p excludes has come."""
        self._log_wealths = [math.inf] * len(TILTS)
        self.largest = self.value

    @property
    def value(self) -> float:
        """M_t, 1 at the start."""
        top = max(self._log_wealths)
        if top == math.inf:
            return math.exp(MOST)
        scaled = math.fsum(math.exp(each - top) for each in self._log_wealths) / len(TILTS)
        return math.exp(min(top + math.log(scaled), MOST))

    @property
    def p_value(self) -> float:
        """Valid at any time: the chance of ever reaching the largest value under exact sampling is at most this."""
        return min(1.0, 1.0 / self.largest)

    def alarm(self, delta: float) -> bool:
        """True with probability at most delta, ever, under exact sampling."""
        return self.largest >= 1.0 / delta


class ExactnessWatch:
    """protocol.Observer: keeps the running evidence of a loop over all its samples."""

    def __init__(self) -> None:
        self.evidence = RunningEvidence()

    def __call__(self, sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
        """Bet on every token of the round that had a draft."""
        for happened, chance in observed(proposal, rows, verdict):
            self.evidence.add(happened, chance)
        if not is_possible(proposal, rows, verdict):
            self.evidence.refute()
