"""The network of draft/head/cell.py in torch, by the names under which a head's file keeps its parts.

    input [width, streams * width], token [width, width], up [2 * inner, 2 * width], down [width, inner],
    output [width, width], gain [width]

Hidden states come in multiplied by `scale` [streams], about 1 / rms of each stream, so that one rate of learning fits
all; `folded` puts that into `input`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = Any  # torch.Tensor
Weights = dict[str, Tensor]
EPSILON = 1e-5  # of mean squares, as in draft/head/compiled.py
MATRICES = ("input", "token", "up", "down", "output")
GAIN = "gain"
START = 0.02  # standard deviation of what is random at the beginning


def beginning(width: int, streams: int, inner: int, seed: int) -> Weights:
    """A head that says again what the target said last: a better start than chance."""
    import torch

    chance = torch.Generator().manual_seed(seed)
    found = {
        "input": torch.zeros(width, streams * width),
        "token": torch.randn(width, width, generator=chance) * START,
        "up": torch.randn(2 * inner, 2 * width, generator=chance) / (2 * width) ** 0.5,
        "down": torch.zeros(width, inner),
        "output": torch.eye(width),
        GAIN: torch.ones(width),
    }
    found["input"][:, -width:] = torch.eye(width)
    return found


def normed(x: Tensor) -> Tensor:
    """n(x) = x / rms(x)."""
    return x * (x.pow(2).mean(-1, keepdim=True) + EPSILON).rsqrt()


def begin(weights: Weights, features: Tensor) -> Tensor:
    """x_0 [n, width] from scaled features [n, streams * width]."""
    from torch.nn.functional import linear

    return linear(features, weights["input"])


def step(weights: Weights, x: Tensor, embedded: Tensor) -> Tensor:
    """x_i [..., width] from x_{i-1} and n(e(t_i))."""
    import torch
    from torch.nn.functional import linear, silu

    gate, up = linear(torch.cat([normed(x), embedded], -1), weights["up"]).chunk(2, -1)
    return x + linear(embedded, weights["token"]) + linear(silu(gate) * up, weights["down"])


def read(weights: Weights, x: Tensor) -> Tensor:
    """What the rows of the embedding are multiplied with: O (g * n(x))."""
    from torch.nn.functional import linear

    return linear(normed(x) * weights[GAIN], weights["output"])


def folded(matrix: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """`input` [width, streams * width] for features that are not scaled by `scale` [streams]."""
    width = matrix.shape[1] // len(scale)
    return np.asarray(matrix * np.repeat(scale, width)[None], np.float32)


def unfolded(matrix: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """The reverse."""
    return folded(matrix, np.asarray(1 / scale, np.float32))
