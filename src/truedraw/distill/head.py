"""A head while it learns."""

from __future__ import annotations

from typing import NamedTuple

from truedraw.distill.known import Known
from truedraw.distill.network import Network, Tensor, Weights


class Head(NamedTuple):
    """A network and all it works with. scale [streams]: what hidden states are multiplied with."""

    network: Network
    weights: Weights
    known: Known
    scale: Tensor

    def behind(self, state: Tensor, embedded: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """States once the token of this position stands there, and what the embedding's rows are multiplied with."""
        after = self.network.step(self.weights, state, embedded, position)
        return after, self.network.read(self.weights, after, position)
