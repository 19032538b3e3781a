"""What a sampling law is made of: steps that change a row one after the other and know their place in the text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import Floats, Ints, Randomness
from truedraw.sampling.edits import UNEDITED, Edits
from truedraw.sampling.row import Row
from truedraw.sampling.values import shown


class Step(Protocol):
    """One step of a law at one place of a text. It never changes: one token later it is another object, or the same."""

    def __call__(self, row: Row) -> None:
        """Change the row in place."""
        ...

    def after(self, token: int, p: Floats | None) -> Step:
        """The step once `token` stands here, in O(1); `p` [vocab] is what the whole law said here, None if unknown."""
        ...


@runtime_checkable
class Editing(Step, Protocol):
    """A step on the model's own logits that can also say what it does: compiled code then does all of them at once.

    One that `is_counted` edits the same from here on, but for how often tokens stand in the text.
    """

    def edited(self, edits: Edits) -> Edits:
        """With what this step changes, after `edits`; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Opening:
    """The text a law starts from, and what its steps may need to know."""

    prompt: tuple[int, ...] = ()
    vocab_size: int | None = None
    end_ids: tuple[int, ...] = ()  # end tokens, also where they end nothing
    randomness: Randomness | None = None  # the sample's own
    encode: Callable[[str], Sequence[int]] | None = None  # text to ids, nothing added
    masks: tuple[Step, ...] = ()  # further bans, a grammar's for instance; they stand with ours, before any truncation

    def vocabulary(self) -> int:
        """The vocabulary's size; raises ValueError where the law was opened without it."""
        if self.vocab_size is None:
            raise ValueError("these sampling parameters look at the text: open the law with its prompt and vocab_size")
        return self.vocab_size

    def ids(self, parameter: str, tokens: Sequence[int]) -> Ints:
        """Token ids as an array; raises BadParameter naming the first one outside the vocabulary."""
        for token in tokens:
            if token >= self.vocabulary():
                raise BadParameter(
                    parameter, f"got token id {shown(token)}; the model's token ids are 0 to {self.vocabulary() - 1}"
                )
        return np.array(tokens, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A step that is the same at every place; `value` is its number, where a number is all there is to it."""

    change: Callable[[Row], None]
    value: float | None = None

    def __call__(self, row: Row) -> None:
        """Change the row."""
        self.change(row)

    def after(self, token: int, p: Floats | None) -> Fixed:
        """The same."""
        return self


@dataclass(frozen=True, slots=True)
class FixedEdits:
    """An Editing that is the same at every place; `parameter` is in whose name it bans, None where it does not."""

    is_counted: ClassVar[bool] = True
    change: Callable[[Edits], Edits]
    parameter: str | None = None

    def __call__(self, row: Row) -> None:
        """Change the row."""
        row.edit(self.change(UNEDITED), self.parameter)

    def after(self, token: int, p: Floats | None) -> FixedEdits:
        """The same."""
        return self

    def edited(self, edits: Edits) -> Edits:
        """As Editing."""
        return self.change(edits)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A step whose number is a piecewise linear function of the number of tokens generated so far.

    `points` are (tokens, value) with rising tokens; before the first and after the last the value stays.
    """

    change: Callable[[Row, float], None]
    points: tuple[tuple[int, float], ...]
    generated: int = 0

    def __call__(self, row: Row) -> None:
        """Change the row by the value of this place."""
        self.change(row, at(self.points, self.generated))

    def after(self, token: int, p: Floats | None) -> Scheduled:
        """One token further."""
        return Scheduled(self.change, self.points, self.generated + 1)


def at(points: Sequence[tuple[int, float]], generated: int) -> float:
    """The value of a piecewise linear function; exact at its points."""
    before, value = points[0]
    for after, target in points:
        if generated < after:
            share = (generated - before) / (after - before) if after > before else 0.0
            return value + share * (target - value) if generated > before else value
        before, value = after, target
    return value
