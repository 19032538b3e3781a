"""The network of a head, as the drafter sees it, whatever its kind (kinds/ has their formulas)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Ints, Logits

States = NDArray[np.float32]
"""[n, any width]: a kind keeps in a state what it needs to go on, which may be more or less than a hidden state of the
target, and another width at each level."""


class Cell(Protocol):
    """What it returns may be overwritten by its next call; states are of the texts that `begin` was last called with.

    The rows of one call are at one level: so many tokens behind what the target has scored.
    """

    tokens: Ints  # [known] rising: what logits are of

    def begin(self, features: NDArray[np.float32], last: Ints, *pasts: Any) -> tuple[States, Logits]:
        """States and logits [n, known] behind `last` [n], from features [n, streams, width] of the row before.

        pasts: of a cell that Remembers, and of no other.
        """
        ...

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """The same one token further; never asked for behind the last level that the kind has."""
        ...


class Memory(Protocol):
    """What a cell remembers of one text, which goes when nobody holds it any more."""

    slot: int

    def place(self, first: int, count: int) -> tuple[int, bool]:
        """Rows of the text come, of which the last one may have come before."""
        ...

    def close(self) -> None:
        """The text is gone."""
        ...


class Past(NamedTuple):
    """Rows of one text, the last of which is drafted behind."""

    memory: Memory
    first: int  # its number in the text
    rows: int


@runtime_checkable
class Remembers(Protocol):
    """A cell that looks back at the rows before. Optional.

    Its `begin` takes the pasts of all texts behind features and tokens of all their rows, and returns what is behind
    each text's last one. Without pasts each row is a text of which nothing is remembered.
    """

    def memory(self) -> Memory | None:
        """For a text that begins; None: this cell does not look back."""
        ...

    def begin(self, features: NDArray[np.float32], last: Ints, *pasts: Past) -> tuple[States, Logits]:
        """See Cell."""
        ...


def memory_of(cell: Cell) -> Memory | None:
    """For a text that begins, where the cell looks back."""
    return cell.memory() if isinstance(cell, Remembers) else None


@runtime_checkable
class Shows(Protocol):
    """A cell that can tell what its logits are made from, for what is learnt on top of it. Optional."""

    def shown(self, states: States) -> States:
        """[n, some width, the same at each level] of states [n, any width] that it returned with its logits."""
        ...


def shown(cell: Cell, states: States) -> States:
    """What a cell shows of states [n, any width]; [n, 0] where it shows nothing."""
    return cell.shown(states) if isinstance(cell, Shows) else states[:, :0]


class Chosen:
    """A cell that reads some of the streams that an engine returns, by their numbers."""

    def __init__(self, cell: Cell, streams: Ints) -> None:
        self.tokens, self._cell, self._streams = cell.tokens, cell, streams

    def memory(self) -> Memory | None:
        """See Remembers."""
        return memory_of(self._cell)

    def begin(self, features: NDArray[np.float32], last: Ints, *pasts: Past) -> tuple[States, Logits]:
        """See Cell and Remembers."""
        return self._cell.begin(features[:, self._streams], last, *pasts)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._cell.step(states, tokens)

    def shown(self, states: States) -> States:
        """See Shows."""
        return shown(self._cell, states)
