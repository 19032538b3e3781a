"""The network of a head, as the drafter sees it, whatever its kind (kinds/ has their formulas)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

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

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """States and logits [n, known] behind `last` [n], from features [n, streams, width] of the row before."""
        ...

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """The same one token further; never asked for behind the last level that the kind has."""
        ...


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

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._cell.begin(features[:, self._streams], last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._cell.step(states, tokens)

    def shown(self, states: States) -> States:
        """See Shows."""
        return shown(self._cell, states)
