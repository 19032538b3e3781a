"""input [width, streams * width], output [width, width], gain [width], and for each position k: token.k [width, width],
up.k [2 * inner, (k + 1) * width], down.k [width, inner], whose inner width is what was asked for by the number of
heads."""

from __future__ import annotations

from truedraw.distill.kinds.recurrent import written
from truedraw.distill.network import GAIN, INPUT, START, Fused, Sizes, Tensor, Weights, fed, fused, normed
from truedraw.draft.head.card import HYDRA


class Hydra(Fused):
    """`heads` positions, each with weights of its own. A state is x and the embedded tokens so far."""

    kind = HYDRA

    def __init__(self, heads: int) -> None:
        self.levels, self.positions = heads, heads
        each = tuple(f"{name}.{level}" for level in range(1, heads + 1) for name in ("token", "up", "down"))
        self.matrices, self.vectors = (INPUT, "output", *each), (GAIN,)

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """See Network."""
        import torch

        width, inner = sizes.width, max(1, sizes.inner // self.positions)
        chance = torch.Generator().manual_seed(seed)
        found = {INPUT: fused(sizes), "output": torch.eye(width), GAIN: torch.ones(width)}
        for level in range(1, self.positions + 1):
            read = (level + 1) * width
            found[f"token.{level}"] = torch.randn(width, width, generator=chance) * START
            found[f"up.{level}"] = torch.randn(2 * inner, read, generator=chance) / read**0.5
            found[f"down.{level}"] = torch.zeros(width, inner)
        return found

    def step(self, weights: Weights, state: Tensor, embedded: Tensor, position: int) -> Tensor:
        """The state with one token more."""
        import torch

        return torch.cat([state, embedded], -1)

    def read(self, weights: Weights, state: Tensor, position: int) -> Tensor:
        """O (g * n(y_k))."""
        import torch
        from torch.nn.functional import linear

        width = len(weights[GAIN])
        x, tokens = state[..., :width], state[..., width:]
        u = torch.cat([normed(x), tokens], -1)
        own = linear(tokens[..., -width:], weights[f"token.{position}"])
        return written(weights, x + own + fed(u, weights[f"up.{position}"], weights[f"down.{position}"]))
