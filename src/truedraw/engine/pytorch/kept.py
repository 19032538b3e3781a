"""Keys and values of a text's rows. Never written to, so that forks share them; whoever adds rows makes new ones."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """`layers` holds keys and values [heads, rows, head width] of every layer that keeps some."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    rows: int

    @property
    def row_bytes(self) -> int:
        """What one token takes."""
        return sum(each[:, 0].numel() * each.element_size() for pair in self.layers for each in pair)

    def take(self, rows: Seq[int]) -> Kept:
        """These rows, in this order; the first ones are a view."""
        import torch

        if list(rows) == list(range(len(rows))):
            layers = [(keys[:, : len(rows)], values[:, : len(rows)]) for keys, values in self.layers]
        else:
            index = torch.tensor(rows, device=self.layers[0][0].device)
            layers = [(keys.index_select(1, index), values.index_select(1, index)) for keys, values in self.layers]
        return Kept(tuple(layers), len(rows))

    def joined(self, more: Kept) -> Kept:
        """With the rows of `more` behind; a copy."""
        import torch

        layers = [
            (torch.cat([keys, new_keys], 1), torch.cat([values, new_values], 1))
            for (keys, values), (new_keys, new_values) in zip(self.layers, more.layers, strict=True)
        ]
        return Kept(tuple(layers), self.rows + more.rows)

    def copied(self) -> Kept:
        """In memory of its own, where it was a view of a whole batch."""
        return Kept(tuple((keys.clone(), values.clone()) for keys, values in self.layers), self.rows)
