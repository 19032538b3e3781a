"""What rows look back at while a head learns and is measured, where its network is one that Attends.

In a window these are the rows of their text that stand before them there. Rows that are measured lie scattered: keys
and values of all rows that they look at are computed once, and looked up for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.head import Head, Recall, scaled
from truedraw.distill.network import Attends, Past, Tensor, Weights
from truedraw.distill.rows import Rows
from truedraw.distill.windows import LENGTH, Windows
from truedraw.protocol import Ints

AT_ONCE = 4096  # rows whose keys and values are computed


def length_for(network: object) -> int:
    """Rows of a window that this network learns from."""
    return network.reach if isinstance(network, Attends) else LENGTH


def in_windows(head: Head, where: Windows) -> Recall | None:
    """Of all positions of these windows, in turn; None where nothing looks back."""
    network = head.network
    return InWindows(network, head.weights, where) if isinstance(network, Attends) else None


def looking_back(head: Head, data: Rows, rows: Ints) -> Callable[[Ints], Recall | None]:
    """Of some of these rows, whichever they are."""
    network = head.network
    return Scattered(head, network, data, rows).recall if isinstance(network, Attends) else lambda _: None


class InWindows:
    """Recall of a step: its first call is with states [windows, rows, width] of position 1, which are remembered; later
    ones are with those of as many windows or of the first of them."""

    def __init__(self, network: Attends, weights: Weights, where: Windows) -> None:
        data, length = where.data, where.rows.shape[1]
        texts, at = data.on(data.texts[where.rows]), data.on(np.arange(length))
        self._network, self._weights = network, weights
        self._distances = (at[:, None] - at)[None]
        near = (self._distances > 0) & (self._distances < network.reach)
        self._seen = near & (texts[:, :, None] == texts[:, None])
        self._past: Past | None = None

    def __call__(self, states: Tensor) -> Tensor:
        """See above."""
        if self._past is None:
            remembered = self._network.remembered(self._weights, states)
            self._past = Past(*remembered, self._distances, self._seen)
        return self._network.recalled(self._weights, states, self._past.of_first(len(states)))


class Looked(NamedTuple):
    """Rows [n, reach - 1] before some rows, the nearest last, and which of them are of the same text."""

    rows: Ints
    seen: NDArray[np.bool_]


class Scattered:
    """What some rows of a head's data look back at."""

    def __init__(self, head: Head, network: Attends, data: Rows, rows: Ints) -> None:
        self._head, self._network, self._data = head, network, data
        self._distances = np.arange(network.reach - 1, 0, -1)
        before, wanted = self._before(rows), np.zeros(data.count, bool)
        wanted[rows] = wanted[before.rows[before.seen]] = True
        self._places = np.cumsum(wanted) - 1
        self._keys, self._values = self._remembered(np.flatnonzero(wanted))

    def recall(self, rows: Ints) -> Recall:
        """Of states [n, width] behind these rows, at any position."""
        data, before, network, weights = self._data, self._before(rows), self._network, self._head.weights
        places = data.on(np.where(before.seen, self._places[before.rows], 0))
        distances, seen = data.on(self._distances)[None, None], data.on(before.seen)[:, None]
        past = Past(_at(self._keys, places), _at(self._values, places), distances, seen)
        return lambda states: network.recalled(weights, states[:, None], past)[:, 0]

    def _before(self, rows: Ints) -> Looked:
        texts, found = self._data.texts, rows[:, None] - self._distances
        there = np.maximum(found, 0)
        return Looked(there, (found >= 0) & (texts[there] == texts[rows][:, None]))

    def _remembered(self, rows: Ints) -> tuple[Tensor, Tensor]:
        """Keys and values of these rows, in parts; each has one row more, for what comes behind its last."""
        import torch

        keys, values = [], []
        with torch.no_grad():
            for start in range(0, len(rows), AT_ONCE):
                found = self._network.remembered(self._head.weights, self._first(rows[start : start + AT_ONCE + 1]))
                keys.append(found[0][:, :AT_ONCE])
                values.append(found[1][:, :AT_ONCE])
        return torch.cat(keys, 1), torch.cat(values, 1)

    def _first(self, rows: Ints) -> Tensor:
        """States behind the step of position 1."""
        head, data = self._head, self._data
        x = head.network.begin(head.weights, scaled(data, rows, head.scale))
        tokens = data.tokens[np.minimum(rows + 1, data.count - 1)]
        return head.network.step(head.weights, x, head.known.embedded[data.on(tokens)], 1)


def _at(numbers: Tensor, places: Tensor) -> Tensor:
    """[heads, n, rows, size] of [heads, any, size], for places [n, rows]."""
    return numbers.index_select(1, places.flatten()).unflatten(1, places.shape)
