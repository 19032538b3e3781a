"""Logits to p. A law is a tuple of steps, each of which knows its place in the text; sampling/order.py has their order.

One function for plain and speculative sampling, and one row at a time, so a row's p depends on its own text alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from truedraw.compiled import later
from truedraw.protocol import Floats, Ints, Logits
from truedraw.sampling.edits import UNEDITED, Edits
from truedraw.sampling.grammar import Grammar
from truedraw.sampling.order import steps_of
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row, one_hot
from truedraw.sampling.step import Editing, Fixed, FixedEdits, Opening, Step
from truedraw.sampling.steps import steps
from truedraw.sampling.temperature import times
from truedraw.sampling.transform import Fused, FusedLaw, Transform, fused, fused_steps, suits
from truedraw.threads import NOBODY

LAW_INTO = later("truedraw.sampling.kernels.entry", "law_into")
EDITED_LAW = later("truedraw.sampling.kernels.entry", "edited_law")
LAW_OF_KNOWN = later("truedraw.sampling.kernels.entry", "edited_law_of_known")
NONE: tuple[Floats, Ints] = np.empty(0), np.empty(0, np.int64)
"""Where nothing is listed."""
TEMPERATURE = "temperature"
"""The name of a step."""


class SamplingLaw:
    """protocol.Law for one set of parameters, at one place of a text.

    Parameters that look at the text need the `opening`; raises BadParameter where one does not fit the vocabulary.
    """

    __slots__ = ("_moves", "_names", "_order", "_steps", "fused")

    def __init__(self, params: SamplingParams, opening: Opening | None = None) -> None:
        self._set(steps(params, opening or Opening()), steps_of(params.sampler_order))

    def _set(self, named: Sequence[tuple[str, Step]], order: tuple[str, ...]) -> None:
        self._names, self._order = tuple(name for name, _ in named), order
        self._steps: tuple[Step, ...] = tuple(step for _, step in named)
        self._moves = not all(isinstance(step, Fixed | FixedEdits) for step in self._steps)
        self.fused: Fused | None = fused_steps(named)

    def __call__(self, logits: Logits) -> Floats:
        """p [vocab] float64 of one row of logits [vocab].

        Raises EngineError on NaN or where the model allows nothing, BadParameter where the parameters leave nothing.
        """
        found = fused(self, logits)
        p = None if found is None else law_of(logits, found.fused.how, found.edits())
        return self.step_by_step(logits) if p is None else p

    def step_by_step(self, logits: Logits) -> Floats:
        """The same, each step on its own: what compiled code is held to, and the way of all other laws."""
        row = Row(logits)
        for step in self._steps:
            step(row)
        return row.p

    def edits(self) -> Edits | None:
        """What a law that is `fused` edits at this place, None where it edits nowhere."""
        if self.fused is None or not self.fused.num_edits:
            return None
        edits = UNEDITED
        for step in self._steps[: self.fused.num_edits]:
            edits = cast(Editing, step).edited(edits)
        return edits

    @property
    def is_counted(self) -> bool:
        """Whether a law that is `fused` edits the same from here on, but for how often tokens stand in the text."""
        edits = 0 if self.fused is None else self.fused.num_edits
        return all(getattr(step, "is_counted", False) for step in self._steps[:edits])

    @property
    def transform(self) -> Transform | None:
        """The whole law, where it is that simple: it is the same over all of the text, and asks for no token's name."""
        return None if self.fused is None or self.fused.num_edits else self.fused.how

    def after(self, token: int, p: Floats | None = None) -> SamplingLaw:
        """The law once `token` stands here, in O(1); `p` as in protocol.Law."""
        if not self._moves:
            return self
        law = SamplingLaw.__new__(SamplingLaw)
        law._steps, law._moves = tuple(step.after(token, p) for step in self._steps), True
        law._names, law._order, law.fused = self._names, self._order, self.fused
        return law

    def replacing(self, changed: Mapping[str, Step | None]) -> SamplingLaw:
        """The law with other steps in place of those of these names, None = none; a drafter's own temperature is one.

        What acts on the model's own logits stays, and so do the places of the order; a name outside it comes last.
        """
        named = list(zip(self._names, self._steps, strict=True))
        then: dict[str, Step | None] = {**dict(named), **changed}
        order = (*self._order, *(name for name in changed if name not in self._order))
        law = SamplingLaw.__new__(SamplingLaw)
        found = [(name, step) for name in order if (step := then.get(name)) is not None]
        law._set([(name, step) for name, step in named if not name] + found, order)
        return law

    @property
    def temperature(self) -> float | None:
        """What logits are divided by, None where that is no one number."""
        step = dict(zip(self._names, self._steps, strict=True)).get(TEMPERATURE)
        return 1.0 if step is None else step.value if isinstance(step, Fixed) else None

    def numbers(self) -> dict[str, float | None]:
        """The steps of the order that are switched on, each with its number; None where that is no one number."""
        named = zip(self._names, self._steps, strict=True)
        return {name: step.value if isinstance(step, Fixed) else None for name, step in named if name}

    def tempered(self, ratio: float) -> SamplingLaw:
        """The law at `ratio` > 0 times its temperature, whatever decides that."""
        step = dict(zip(self._names, self._steps, strict=True)).get(TEMPERATURE)
        return self.replacing({TEMPERATURE: times(step, ratio)})

    def forced(self, limit: int) -> tuple[int, ...]:
        """As protocol.Law: what a grammar leaves no choice about."""
        if not self._moves:
            return ()
        grammars = (step for step in self._steps if isinstance(step, Grammar))
        return next((grammar.forced(limit) for grammar in grammars), ())


def law_of(logits: Logits, how: Transform, edits: Edits | None = None) -> Floats | None:
    """p [vocab] from a row that `suits` the kernels, None where it has no law."""
    vocab = len(logits)
    p = np.empty(vocab)
    listed = NONE if edits is None and not how.cuts else (np.empty(vocab), np.empty(vocab, np.int64))
    memory = p, *listed, NOBODY
    if edits is None:
        top = LAW_INTO()(logits, tuple(how), memory)
    else:
        top = EDITED_LAW()(logits, tuple(how), tuple(edits), memory)
    return p if np.isfinite(top) else None


def law_of_known(logits: Logits, tokens: Ints, vocab_size: int, law: FusedLaw) -> Floats | None:
    """p [known] by logits [known] of some tokens, as if all others had -inf; None where there is no law.

    The tokens rise; the logits suit the kernels, and the law edits something.
    """
    known, how, edits = len(tokens), law.fused.how, law.edits()
    p = np.empty(known)
    listed = (np.empty(known), np.empty(known, np.int64)) if how.cuts else NONE
    given = tokens, tuple(how), tuple(edits or UNEDITED), (p, *listed, NOBODY), np.empty(vocab_size)
    return p if np.isfinite(LAW_OF_KNOWN()(logits, *given)) else None


def softmax(logits: Logits, temperature: float) -> Floats:
    """softmax(logits / temperature) in float64; temperature 0 is its limit, one-hot at the first of the largest."""
    row = Row(logits)
    row.temper(temperature)
    return row.p


def log_probability(logits: Logits, token: int) -> float:
    """Natural log of softmax(logits)[token], before any transform."""
    from truedraw.sampling.kernels.softmax import log_normaliser

    return float(logits[token]) - float(log_normaliser(np.ascontiguousarray(logits)))


def likeliest(logits: Logits, count: int) -> Ints:
    """Ids of the `count` largest logits [vocab] in descending order, of equal ones the lower first; none of -inf."""
    from truedraw.sampling.kernels.likeliest import likeliest_into

    ids = np.empty(min(count, len(logits)), np.int64)
    return ids[: likeliest_into(logits if suits(logits) else np.array(logits, np.float64), ids)]


__all__ = ["SamplingLaw", "likeliest", "log_probability", "one_hot", "softmax"]
