"""An engine that counts what it is asked for."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Any

from truedraw.bench.pairs import apart
from truedraw.generate.model import Model
from truedraw.protocol import Abreast, Engine, Fill, Scores, Sequence, Work


class Counted:
    """protocol.Engine around another, which it does not close.

    `passes` counts calls of forward, and those that compiled code runs for texts abreast; `rows` the tokens of text and
    of drafts that they had to compute. All others come through forward.
    """

    stride = None

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.vocab_size, self.context_length = engine.vocab_size, engine.context_length
        self.passes = self.rows = 0

    def __getattr__(self, name: str) -> Any:
        """Whatever else the engine has."""
        return getattr(self._engine, name)

    def open(self, tokens: Seq[int]) -> Sequence:
        """As the engine."""
        return self._engine.open(tokens)

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """As the engine; the text that it computes for this counts as rows."""
        before = sequence.num_uncached
        forks = self._engine.fork(sequence, n)
        self.rows += before - sequence.num_uncached
        return forks

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """As the engine."""
        return self._engine.fits(works, fills)

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """As the engine, counted where it succeeds."""
        rows = sum(work.sequence.num_uncached + len(work.proposal) for work in works) + sum(
            fill.count for fill in fills
        )
        scores = self._engine.forward(works, fills)
        self.passes += 1
        self.rows += rows
        return scores

    def abreast(self, sequences: Seq[Sequence], tokens: Seq[int], drafts: Seq[int]) -> CountedAbreast | None:
        """As the engine; none with drafts, of which nobody says afterwards how many rows they took."""
        opens = getattr(self._engine, "abreast", None)
        found = None if opens is None or any(drafts) else opens(sequences, tokens, drafts)
        return None if found is None else CountedAbreast(found, self)

    def close(self) -> None:
        """Nothing: the engine belongs to whoever opened it."""


class CountedAbreast:
    """protocol.Abreast around another, without drafts: each text has a row in every pass until it ends."""

    def __init__(self, passes: Abreast, engine: Counted) -> None:
        self._passes, self._engine, self.job = passes, engine, passes.job

    def end(self, kept: Seq[Seq[int]]) -> None:
        """As the other, counted."""
        self._passes.end(kept)
        self._engine.passes += max(map(len, kept), default=0)
        self._engine.rows += sum(map(len, kept))


def counted(model: Model) -> tuple[Model, Counted]:
    """The same model on the same engine, and the engine's counter; close the model that was given, not this one."""
    watched, engine = apart(model), Counted(model.engine)
    watched.engine, watched.experience = engine, model.experience
    return watched, engine
