"""gain [width], and for each position k: block.k.1 [width, width], block.k.1.bias [width], output.k [width, width]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.network import GAIN, Network, Numbers, Sizes, Tensor, Weights
from truedraw.draft.head.card import MEDUSA


class Medusa(Network):
    """`heads` positions over the target's final state, each with weights of its own."""

    kind, reads_streams = MEDUSA, False

    def __init__(self, heads: int) -> None:
        self.levels, self.positions = heads, heads
        each = range(1, heads + 1)
        self.matrices = tuple(name for level in each for name in (f"block.{level}.1", f"output.{level}"))
        self.vectors = (GAIN, *(f"block.{level}.1.bias" for level in each))

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """See Network; nothing is left to chance."""
        import torch

        width, levels = sizes.width, range(1, self.positions + 1)
        found = {GAIN: torch.ones(width)}
        for level in levels:
            found |= {f"block.{level}.1": torch.zeros(width, width), f"block.{level}.1.bias": torch.zeros(width)}
            found[f"output.{level}"] = torch.eye(width)
        return found

    def bridge(self, weights: Weights, matrix: Tensor, last_scale: float) -> None:
        """See Network."""
        import torch

        with torch.no_grad():
            for level in range(1, self.positions + 1):
                weights[f"output.{level}"].copy_(matrix / last_scale)

    def begin(self, weights: Weights, features: Tensor) -> Tensor:
        """z_0, of the last stream."""
        return features[..., -len(weights[GAIN]) :] * weights[GAIN]

    def step(self, weights: Weights, state: Tensor, embedded: Tensor, position: int) -> Tensor:
        """Whatever the token is."""
        return state

    def read(self, weights: Weights, state: Tensor, position: int) -> Tensor:
        """O_k z_k."""
        from torch.nn.functional import linear, silu

        own = silu(linear(state, weights[f"block.{position}.1"], weights[f"block.{position}.1.bias"]))
        return linear(state + own, weights[f"output.{position}"])

    def folded(self, arrays: Numbers, scale: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """See Network."""
        return {**arrays, GAIN: np.asarray(arrays[GAIN] * scale[-1], np.float32)}
