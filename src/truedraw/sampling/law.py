"""Logits to p. A law is a tuple of steps, each of which knows its place in the text; sampling/order.py has their order.

One function for plain and speculative sampling, and one row at a time, so a row's p depends on its own text alone.
"""

from __future__ import annotations

from truedraw.protocol import Floats, Logits
from truedraw.sampling.grammar import Grammar
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row, one_hot
from truedraw.sampling.step import Fixed, Opening, Step
from truedraw.sampling.steps import steps


class SamplingLaw:
    """protocol.Law for one set of parameters, at one place of a text.

    Parameters that look at the text need the `opening`; raises BadParameter where one does not fit the vocabulary.
    """

    __slots__ = ("_moves", "_steps")

    def __init__(self, params: SamplingParams, opening: Opening | None = None) -> None:
        self._steps: tuple[Step, ...] = steps(params, opening or Opening())
        self._moves = not all(isinstance(step, Fixed) for step in self._steps)

    def __call__(self, logits: Logits) -> Floats:
        """p [vocab] float64 of one row of logits [vocab].

        Raises EngineError on NaN or where the model allows nothing, BadParameter where the parameters leave nothing.
        """
        row = Row(logits)
        for step in self._steps:
            step(row)
        return row.p

    def after(self, token: int, p: Floats | None = None) -> SamplingLaw:
        """The law once `token` stands here, in O(1); `p` as in protocol.Law."""
        if not self._moves:
            return self
        law = SamplingLaw.__new__(SamplingLaw)
        law._steps, law._moves = tuple(step.after(token, p) for step in self._steps), True
        return law

    def forced(self, limit: int) -> tuple[int, ...]:
        """As protocol.Law: what a grammar leaves no choice about."""
        grammars = (step for step in self._steps if isinstance(step, Grammar))
        return next((grammar.forced(limit) for grammar in grammars), ())


def softmax(logits: Logits, temperature: float) -> Floats:
    """softmax(logits / temperature) in float64; temperature 0 is its limit, one-hot at the first of the largest."""
    row = Row(logits)
    row.temper(temperature)
    return row.p


def log_probability(logits: Logits, token: int) -> float:
    """Natural log of softmax(logits)[token], before any transform."""
    from truedraw.sampling.kernels.softmax import log_normaliser

    return float(logits[token]) - float(log_normaliser(logits))


__all__ = ["SamplingLaw", "log_probability", "one_hot", "softmax"]
