"""What a recurrent head has (recurrent.py), and asking [3 * heads * size, width], found [width, heads * size], slope
and sink [heads]."""

from __future__ import annotations

from truedraw.distill.kinds.recurrent import Recurrent, block
from truedraw.distill.network import Past, Sizes, Tensor, Weights, normed
from truedraw.draft.head.card import ASKING, ATTENTION, ATTENTIVE, FOUND
from truedraw.draft.head.kinds.attentive_step import JOINED, REACH, SIZE, WIDTH

SLOPE, SINK = "slope", "sink"
SLOPES = (-6.0, -4.0, -3.0, -2.0) * 2
"""At the beginning, before softplus, of each head: some look far, some near, in both halves."""


class Attentive(Recurrent):
    """network.Attends as well: a recurrent step, and what the rows before say to what it comes to."""

    kind, reach = ATTENTIVE, REACH
    matrices = (*Recurrent.matrices, ASKING, FOUND)
    vectors = (*Recurrent.vectors, SLOPE, SINK)

    def beginning(self, sizes: Sizes, seed: int) -> Weights:
        """See Network; what is found says nothing yet."""
        import torch

        chance = torch.Generator().manual_seed(seed)
        return {
            **block(sizes, chance),
            ASKING: torch.randn(3 * WIDTH, sizes.width, generator=chance) / sizes.width**0.5,
            FOUND: torch.zeros(sizes.width, WIDTH),
            SLOPE: torch.tensor(SLOPES),
            SINK: torch.zeros(len(SLOPES)),
        }

    def remembered(self, weights: Weights, states: Tensor) -> tuple[Tensor, Tensor]:
        """See Attends: K n(s) and V n(s), in the second half of the heads the next row's."""
        import torch
        from torch.nn.functional import linear

        keys, values = (_by_heads(each) for each in linear(normed(states), weights[ASKING][WIDTH:]).chunk(2, -1))
        return keys.contiguous(), torch.cat([values[:JOINED], values[JOINED:].roll(-1, -2)])

    def recalled(self, weights: Weights, states: Tensor, past: Past) -> Tensor:
        """x + A (sum_j a(j) v_j)."""
        from torch.nn.functional import linear

        query = _by_heads(linear(normed(states), weights[ASKING][:WIDTH]))
        found = _shares(weights, query @ past.keys.mT, past).to(past.values.dtype) @ past.values
        return states + linear(found.movedim(0, -2).flatten(-2), weights[FOUND])


def _by_heads(numbers: Tensor) -> Tensor:
    """[heads, ..., size] of [..., heads * size]."""
    return numbers.unflatten(-1, ATTENTION).movedim(-2, 0)


def _shares(weights: Weights, products: Tensor, past: Past) -> Tensor:
    """a [heads, n, places, rows] of products q k; what is left of 1 is the sink's."""
    import torch
    from torch.nn.functional import softplus

    slopes, sinks = (each[:, None, None, None] for each in (softplus(weights[SLOPE]), weights[SINK]))
    scores = (products * SIZE**-0.5 - slopes * past.distances).masked_fill(~past.seen, -torch.inf)
    sink = sinks.expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, sink], -1), -1)[..., :-1]
