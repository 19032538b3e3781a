"""Features in the memory of the device that learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape
from truedraw.distill.texts import Text
from truedraw.protocol import Ints

Tensor = Any  # torch.Tensor
ON_CARD = 128, 16_000
"""Windows of a step, and held-out rows that are looked at: with fewer a card waits for its orders."""
HELD_ROWS = 40_000  # of held-out text that figures are taken from at last, on the processor


class DeviceRows(Rows):
    """Rows whose features [rows, streams, width] float16 are a tensor; see Rows for the rest."""

    def __init__(self, features: Tensor, rows: NDArray[Any], texts: Sequence[Text]) -> None:
        self.features: Any = features
        self.device = str(features.device)
        if self.device != "cpu":
            self.windows, self.looked = ON_CARD
        self.count, self.num_texts = len(rows), len(texts)
        self.shape = Shape(*features.shape[1:])
        counts = np.array([len(text.answer) for text in texts], np.int64)
        self._tell(rows, counts, [text.temperature for text in texts])

    def states(self, at: Ints) -> Tensor:
        """See Rows."""
        return self.features[self.on(at)].float()

    def finals(self, at: Ints) -> Tensor:
        """See Rows."""
        return self.features[self.on(at), -1].float()

    def _numbers(self, at: Ints) -> NDArray[np.float16]:
        """See Rows."""
        found: NDArray[np.float16] = self.features[self.on(at)].cpu().numpy()
        return found

    def check_tokens(self, vocab_size: int) -> None:
        """They were checked as texts."""

    def held_part(self) -> DeviceRows:
        """Held-out texts, evenly spread, on the processor."""
        every = -(-int(self.held.sum()) // HELD_ROWS)
        chosen = np.unique(self.texts[self.held])[::every]
        at = np.flatnonzero(np.isin(self.texts, chosen))
        found = copy(self)
        found.features, found.device = self.features[self.on(at)].cpu(), "cpu"
        found.count, found.num_texts = len(at), len(np.unique(self.texts[at]))
        for name in ("tokens", "tops", "normaliser", "texts", "held", "temperature"):
            setattr(found, name, getattr(self, name)[at])
        return found
