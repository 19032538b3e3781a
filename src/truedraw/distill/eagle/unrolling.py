"""Drafts behind every row of a batch, each made of the network's own states, as when it drafts (training-time test).

Draft number i behind base b stands for the token at b + i - 1 and the one drawn behind it. It attends to the true rows
up to b, and to its own rows of drafts 2 to i. No base knows of another one's drafts, so that some can be left out of
later steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truedraw.distill.eagle.network import Part, Weights, attended, fused, passed, projected, read, said
from truedraw.distill.eagle.whole_rows import Batch
from truedraw.distill.independent.network import rotations
from truedraw.distill.known import Known
from truedraw.distill.rows import Rows
from truedraw.protocol import Ints, ModelConfig

Tensor = Any  # torch.Tensor


class Draft(NamedTuple):
    """The network, and all it works with. weights: what is learnt, by name.

    known: its `embedded` are e(t) themselves, which the layer norms, and its `readout` the target's output rows.
    """

    config: ModelConfig
    weights: Weights
    known: Known


class Unrolling:
    """One batch. `at` [bases]: the rows of the batch that drafts go on behind; `step`: how many there are so far."""

    def __init__(self, draft: Draft, data: Rows, batch: Batch) -> None:
        import torch

        self._draft, self._batch = draft, batch
        self._tokens = data.tokens[batch.rows]
        features = torch.tensor(data.features[batch.rows, :-1]).float().flatten(1)
        self._turns = rotations(draft.config, int(batch.places.max()) + 1)
        self.at, self.step = batch.bases, 0
        h = fused(draft.weights, features)
        a = read(draft.weights, h, self._behind(np.arange(len(batch.rows))))
        turn = self._turn(batch.places)
        weights, config = draft.weights, draft.config
        self._text = projected(weights, config, a, "k", turn), projected(weights, config, a, "v", None)
        bases = torch.from_numpy(self.at)
        self._h, self._a = h.index_select(0, bases), a.index_select(0, bases)
        self._own: list[tuple[Tensor, Tensor]] = []

    def keep(self, some: Ints) -> None:
        """Go on behind these bases alone, by their numbers, which rise."""
        import torch

        index = torch.from_numpy(some)
        self.at = self.at[some]
        self._h, self._a = self._h.index_select(0, index), self._a.index_select(0, index)
        self._own = [(keys.index_select(0, index), values.index_select(0, index)) for keys, values in self._own]

    def go_on(self) -> Tensor:
        """What output rows are multiplied with [bases, width], once the next drafts stand there.

        Behind the end of a text it is what nobody should look at.
        """
        import torch

        self.step += 1
        weights, config = self._draft.weights, self._draft.config
        turn = self._turn(self._batch.places[self.at] + self.step - 1)
        if self.step > 1:
            self._a = read(weights, self._h, self._behind(self.at + self.step - 1))
            own = projected(weights, config, self._a, "k", turn), projected(weights, config, self._a, "v", None)
            self._own.append(own)
        queries = projected(weights, config, self._a, "q", turn)
        mixed = attended(queries, self._text, self._own, torch.from_numpy(self.at), self._parts())
        self._h = passed(weights, self._h, mixed)
        return said(weights, self._h)

    def _behind(self, at: Ints) -> Tensor:
        """e(t) [n, width] of the tokens that follow rows of the batch, or of its last one's own."""
        import torch

        following = np.minimum(at + 1, len(self._tokens) - 1)
        return self._draft.known.embedded[torch.from_numpy(self._tokens[following])]

    def _turn(self, places: Ints) -> tuple[Tensor, Tensor]:
        import torch

        index = torch.from_numpy(np.minimum(places, len(self._turns[0]) - 1))
        return self._turns[0][index], self._turns[1][index]

    def _parts(self) -> list[Part]:
        ends = self._batch.ends
        lasts = np.searchsorted(self.at, ends)
        parts = zip([0, *ends[:-1]], ends, [0, *lasts[:-1]], lasts, strict=True)
        return [Part(*map(int, part)) for part in parts if part[3] > part[2]]
