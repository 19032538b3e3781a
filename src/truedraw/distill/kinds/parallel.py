"""A recurrent step, the trunk, and for each position k: up.k [2 * inner, width], down.k [width, inner]. Their inner
width is the trunk's by the number of heads."""

from __future__ import annotations

from truedraw.distill.kinds.recurrent import Recurrent, block, moved, written
from truedraw.distill.network import Fused, Sizes, Tensor, Weights, fed, normed
from truedraw.draft.head.card import PARALLEL


class Parallel(Fused):
    """One trunk, `heads` positions of it."""

    kind = PARALLEL

    def __init__(self, heads: int) -> None:
        self.levels, self.positions = heads, heads
        each = tuple(f"{name}.{level}" for level in range(1, heads + 1) for name in ("up", "down"))
        self.matrices, self.vectors = (*Recurrent.matrices, *each), Recurrent.vectors

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """See Network."""
        import torch

        chance = torch.Generator().manual_seed(seed)
        found, inner = block(sizes, chance), max(1, sizes.inner // self.positions)
        for level in range(1, self.positions + 1):
            found[f"up.{level}"] = torch.randn(2 * inner, sizes.width, generator=chance) / sizes.width**0.5
            found[f"down.{level}"] = torch.zeros(sizes.width, inner)
        return found

    def step(self, weights: Weights, state: Tensor, embedded: Tensor, position: int) -> Tensor:
        """z, of the first token alone."""
        return moved(weights, state, embedded) if position == 1 else state

    def read(self, weights: Weights, state: Tensor, position: int) -> Tensor:
        """O (g * n(y_k))."""
        own = fed(normed(state), weights[f"up.{position}"], weights[f"down.{position}"])
        return written(weights, state + own)
