"""input [width, streams * width], token [width, width], up [2 * inner, 2 * width], down [width, inner],
output [width, width], gain [width]."""

from __future__ import annotations

from truedraw.distill.network import GAIN, INPUT, START, Fused, Sizes, Tensor, Weights, fed, fused, normed
from truedraw.distill.windows import POSITIONS
from truedraw.draft.head.card import RECURRENT


class Recurrent(Fused):
    """One step for all positions."""

    kind, levels, positions = RECURRENT, None, POSITIONS
    matrices: tuple[str, ...] = (INPUT, "token", "up", "down", "output")
    vectors: tuple[str, ...] = (GAIN,)

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """See Network."""
        import torch

        return block(sizes, torch.Generator().manual_seed(seed))

    def step(self, weights: Weights, state: Tensor, embedded: Tensor, position: int) -> Tensor:
        """x_i from x_{i-1}."""
        return moved(weights, state, embedded)

    def read(self, weights: Weights, state: Tensor, position: int) -> Tensor:
        """O (g * n(x))."""
        return written(weights, state)


def block(sizes: Sizes, chance: Tensor) -> Weights:
    """All weights of one step, at the beginning."""
    import torch

    width, inner = sizes.width, sizes.inner
    return {
        INPUT: fused(sizes),
        "token": torch.randn(width, width, generator=chance) * START,
        "up": torch.randn(2 * inner, 2 * width, generator=chance) / (2 * width) ** 0.5,
        "down": torch.zeros(width, inner),
        "output": torch.eye(width),
        GAIN: torch.ones(width),
    }


def moved(weights: Weights, x: Tensor, embedded: Tensor) -> Tensor:
    """x + T n(e) + D (silu(G u) * (U u)), u = (n(x), n(e))."""
    import torch
    from torch.nn.functional import linear

    u = torch.cat([normed(x), embedded], -1)
    return x + linear(embedded, weights["token"]) + fed(u, weights["up"], weights["down"])


def written(weights: Weights, x: Tensor) -> Tensor:
    """O (g * n(x))."""
    from torch.nn.functional import linear

    return linear(normed(x) * weights[GAIN], weights["output"])
