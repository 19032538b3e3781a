"""A head while it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from truedraw.distill.known import Known
from truedraw.distill.network import Network, Tensor, Weights
from truedraw.distill.rows import Rows
from truedraw.protocol import Ints

Recall = Callable[[Tensor], Tensor]
"""From states behind a step to these with what is found by looking back: see looking_back.py."""


class Head(NamedTuple):
    """A network and all it works with. scale [streams]: what hidden states are multiplied with."""

    network: Network
    weights: Weights
    known: Known
    scale: Tensor

    def behind(
        self, state: Tensor, embedded: Tensor, position: int, recall: Recall | None = None
    ) -> tuple[Tensor, Tensor]:
        """States once the token of this position stands there, and what the embedding's rows are multiplied with.

        recall: of a network that Attends; None: there is nothing to look back at.
        """
        after = self.network.step(self.weights, state, embedded, position)
        after = after if recall is None else recall(after)
        return after, self.network.read(self.weights, after, position)


def scaled(data: Rows, at: Ints, scale: Tensor) -> Tensor:
    """Features of rows [n, streams * width] as the network takes them."""
    return (data.states(at.reshape(-1)) * scale[None, :, None]).flatten(1)
