"""The networks of draft/head/kinds/ in torch, by the names under which a head's file keeps their parts.

Hidden states come in multiplied by `scale` [streams], about 1 / rms of each stream, so that one rate of learning fits
all; `folded` puts that into the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.compiled import EPSILON

Tensor = Any  # torch.Tensor
Weights = dict[str, Tensor]
Numbers = Mapping[str, NDArray[np.float32]]
INPUT, GAIN = "input", "gain"
START = 0.02  # standard deviation of what is random at the beginning


class Sizes(NamedTuple):
    """Of a network: its target's hidden states, how many of them it reads, and its inner width; 0: it has none."""

    width: int
    streams: int
    inner: int


class Network(Protocol):
    """One kind. States are [..., any width]; positions count from 1, the first token behind what the target scored."""

    kind: str  # of a card
    levels: int | None  # the last position that it can draft; None: there is none
    positions: int  # that are learnt
    reads_streams: bool  # beside the final norm's output, which comes last
    matrices: tuple[str, ...]
    vectors: tuple[str, ...]

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """Before anything is learnt."""
        ...

    def bridge(self, weights: Weights, matrix: Tensor, last_scale: float) -> None:
        """Begin with saying again what the target said last, a better start than chance.

        The rows of the embedding times `matrix` [width, width] are the target's output; `last_scale` is that of its
        final state.
        """
        ...

    def begin(self, weights: Weights, features: Tensor) -> Tensor:
        """States [n, any] from scaled features [n, streams * width]."""
        ...

    def step(self, weights: Weights, state: Tensor, embedded: Tensor, position: int) -> Tensor:
        """States behind the token of this position, n(e(t)) [..., width]."""
        ...

    def read(self, weights: Weights, state: Tensor, position: int) -> Tensor:
        """What the rows of the embedding are multiplied with [..., width] there."""
        ...

    def folded(self, arrays: Numbers, scale: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """All weights, for features that are not scaled; by the inverse of `scale` it is undone."""
        ...


class Past(NamedTuple):
    """What places look back at: keys and values [heads, n, rows, size], how far behind each place each row is [n or 1,
    places, rows], and whether it is looked at [n, places, rows]."""

    keys: Tensor
    values: Tensor
    distances: Tensor
    seen: Tensor

    def of_first(self, count: int) -> Past:
        """That of the first so many of n."""
        return Past(self.keys[:, :count], self.values[:, :count], self.distances, self.seen[:count])


@runtime_checkable
class Attends(Protocol):
    """A network that looks back at the rows before. Optional."""

    reach: int  # rows of a text that are looked at, the one that looks included

    def remembered(self, weights: Weights, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [heads, ..., rows, size] of neighbouring rows, whose states [..., rows, width] are those
        behind the step of position 1. Values of the last one may be of no use: nothing behind it is known."""
        ...

    def recalled(self, weights: Weights, states: Tensor, past: Past) -> Tensor:
        """States [n, places, width] behind a step, with what is found behind them."""
        ...


def normed(x: Tensor) -> Tensor:
    """n(x) = x / rms(x)."""
    return x * (x.pow(2).mean(-1, keepdim=True) + EPSILON).rsqrt()


def fed(x: Tensor, stacked: Tensor, down: Tensor) -> Tensor:
    """D (silu(G x) * (U x)), `stacked` being G and U."""
    from torch.nn.functional import linear, silu

    gate, up = linear(x, stacked).chunk(2, -1)
    return linear(silu(gate) * up, down)


def fused(sizes: Sizes) -> Tensor:
    """What `input` begins as: the target's final state alone."""
    import torch

    found = torch.zeros(sizes.width, sizes.streams * sizes.width)
    found[:, -sizes.width :] = torch.eye(sizes.width)
    return found


class Fused(Network):
    """Features come in through `input` [width, streams * width], and logits are made of O (g * n(x))."""

    reads_streams = True

    def bridge(self, weights: Weights, matrix: Tensor, last_scale: float) -> None:
        """See Network."""
        import torch

        with torch.no_grad():
            weights["output"].copy_(matrix)
            weights[GAIN].fill_(1 / last_scale)

    def begin(self, weights: Weights, features: Tensor) -> Tensor:
        """x, in which all streams are."""
        from torch.nn.functional import linear

        return linear(features, weights[INPUT])

    def folded(self, arrays: Numbers, scale: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """See Network."""
        width = arrays[INPUT].shape[1] // len(scale)
        return {**arrays, INPUT: np.asarray(arrays[INPUT] * np.repeat(scale, width)[None], np.float32)}


def inverse(scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of scales."""
    return np.asarray(1 / scale, np.float32)
