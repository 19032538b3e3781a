"""One row on its way from logits to p. It is held in one form at a time, and changed in place by the steps of a law."""

from __future__ import annotations

from math import isfinite

import numpy as np

from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Floats, Logits
from truedraw.sampling.edits import UNEDITED, Edits
from truedraw.sampling.truncate import Mask


class Row:
    """Logits [vocab] or p [vocab], in float64. The model's own row is read and never written.

    Logits and p turn into each other by exp and log, so logits are known up to a constant once p was asked for.
    Raises EngineError where the model's row is NaN or allows nothing.
    """

    __slots__ = ("_bans", "_logits", "_lowered", "_p", "_raw", "_temperature", "_top")

    def __init__(self, logits: Logits) -> None:
        self._raw, self._top = np.ascontiguousarray(logits), logits.max()
        if not isfinite(self._top):
            raise EngineError(unusable(float(self._top)))
        self._logits: Floats | None = None
        self._temperature = 1.0  # by which logits are still to be divided
        self._lowered = False  # whether the largest logit is 0
        self._p: Floats | None = None
        self._bans: list[str] = []

    @property
    def p(self) -> Floats:
        """The law [vocab] as it stands, sums to 1; change it only through `keep`."""
        return self._softmax() if self._p is None else self._p

    def logits(self) -> Floats:
        """The logits [vocab], to be changed in place; -inf = impossible."""
        if self._temperature != 1.0:
            self.lowered()
        elif self._logits is None:
            self._logits = self._raw.astype(np.float64) if self._p is None else _log(self._p)
            self._p = None
        assert self._logits is not None
        self._lowered = False
        return self._logits

    def lowered(self) -> Floats:
        """The logits [vocab] with their largest at 0; to be changed in place only where that stays so."""
        if self._untouched:
            self._logits = np.subtract(self._raw, self._top, dtype=np.float64)
        elif not self._lowered:
            logits = self.logits() if self._logits is None else self._logits
            logits -= self._largest(logits)
        self._lowered = True
        assert self._logits is not None
        temperature, self._temperature = self._temperature, 1.0
        return self._logits if temperature == 1.0 else _divide(self._logits, temperature)

    def keep(self, kept: Mask) -> None:
        """Drop all other tokens from p and renormalise; `kept` [vocab] holds at least one possible token."""
        from truedraw.sampling.kernels.softmax import keep

        keep(self.p, kept)

    def edit(self, edits: Edits, parameter: str | None = None) -> None:
        """Change single logits; `parameter` is in whose name tokens are banned, None where none are."""
        from truedraw.sampling.kernels.edit import edit_here

        if edits is not UNEDITED and not edit_here(self.logits(), tuple(edits)):
            raise IndexError(f"a token is beyond the row, which has {self._raw.size} logits")
        if parameter is not None:
            self._bans.append(parameter)

    def temper(self, temperature: float) -> None:
        """Divide the logits; temperature 0 is the limit, certainty of the first of the likeliest tokens."""
        if temperature == 0:
            self._choose_the_likeliest()
            return
        if self._temperature != 1.0 or self._p is not None:
            self.logits()
        self._temperature = float(temperature)

    @property
    def _untouched(self) -> bool:
        return self._p is None and self._logits is None

    def _softmax(self) -> Floats:
        from truedraw.sampling.kernels.softmax import softmax_here, softmax_into

        if self._logits is None:
            p = np.empty(self._raw.shape)
            softmax_into(self._raw, self._temperature, p)
            return self._settle(p)
        if not np.isfinite(softmax_here(self._logits, self._temperature)):
            self._largest(self._logits)
        return self._settle(self._logits)

    def _choose_the_likeliest(self) -> None:
        values = self._raw if self._untouched else self.lowered()
        self._settle(one_hot(int(values.argmax()), values.size))

    def _settle(self, p: Floats) -> Floats:
        self._p, self._logits, self._lowered, self._temperature = p, None, False, 1.0
        return p

    def _largest(self, logits: Floats) -> float:
        top = float(logits.max())
        if np.isfinite(top):
            return top
        if top != -np.inf:
            raise BadParameter("logit_bias", "with the penalties it makes a logit too large for a number; give less")
        names = ", ".join(dict.fromkeys(self._bans)) or "logit_bias"
        more = "more, or in a contrast a smaller contrastive_alpha" if np.isneginf(self._raw).any() else "more"
        raise BadParameter(
            names.split(", ")[-1],
            f"no token may follow the text here: together, {names} and the model rule out all of them. Allow {more}",
        )


def unusable(top: float) -> str:
    """What is wrong with logits whose largest is no number; a contrast is infinite in one case (engine/contrastive)."""
    ruled_out = "in a contrast the amateur gives probability 0 to a token that the expert finds plausible, else "
    cause = ruled_out if top == np.inf else ""
    return f"the model's logits are unusable: their largest is {top}; {cause}the model file may be damaged"


def one_hot(token: int, vocab_size: int) -> Floats:
    """The law of certainty."""
    p = np.zeros(vocab_size)
    p[token] = 1.0
    return p


def _divide(logits: Floats, temperature: float) -> Floats:
    with np.errstate(over="ignore"):  # a tiny temperature sends the quotient to -inf, which is what is meant
        logits /= temperature
    return logits


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logits: Floats = np.log(p)
    return logits
