"""A model of transformers as a function of ids, or of a batch with masks and a cache."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from truedraw.engine.pytorch.parts import Batch, Found
from truedraw.engine.pytorch.taps import Taps

if TYPE_CHECKING:
    from torch import Tensor


CACHES = ("cache", "past_key_values")
"""Names under which a model takes what it keeps of earlier rows, the newer one first (transformers 5.24)."""


class Network:
    """`hidden_layers` and `hidden_text` as for PyTorchEngine.load."""

    def __init__(self, model: Any, hidden_layers: tuple[int, ...] = (), *, hidden_text: bool = False) -> None:
        self.model = model
        self._takes = set(signature(model.forward).parameters)
        self._cache = next((name for name in CACHES if name in self._takes), None)
        self._taps = Taps(model, hidden_layers, whole=hidden_text) if hidden_layers else None

    def text(self, ids: list[int], keep: int) -> Found:
        """The last `keep` rows of a text, computed as transformers does it, with nothing before it."""
        return self.rows(*self._alone(ids, keep, keep), 0, keep)

    def hidden(self, ids: list[int]) -> Tensor | None:
        """Of all rows of such a text, [1, rows, layers, width]; to be asked for where it `shows_text`."""
        return self._alone(ids, 1, len(ids))[1]

    def batch(self, batch: Batch, cache: Any, keep: int, shown: int = 0) -> tuple[Tensor, Tensor | None]:
        """The last `keep` rows or more: logits [parts, rows, vocab], hidden [parts, rows, layers, width] or None.

        shown: of the last so many rows hidden states, where it `shows_text`. `cache` holds the past and is given the
        rows' own keys and values.
        """
        import torch

        device, dtype = self.model.device, self.model.dtype
        hidden = torch.from_numpy(~batch.visible).to(device)
        mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, torch.finfo(dtype).min)
        assert self._cache is not None
        return self._run(
            keep,
            max(keep, shown),
            input_ids=torch.from_numpy(batch.ids).to(device),
            position_ids=torch.from_numpy(batch.positions).to(device),
            attention_mask=mask,  # added to the scores, as transformers' own four-dimensional masks are
            use_cache=True,
            **{self._cache: cache},
        )

    @property
    def shows_text(self) -> bool:
        """Whether hidden states of rows without logits can be had, and were asked for."""
        return self._taps is not None and self._taps.reads_whole

    @property
    def takes_batches(self) -> bool:
        """Whether the model's forward has parameters for all that a batch needs."""
        return self._cache is not None and self._takes.issuperset(("position_ids", "attention_mask", "use_cache"))

    @staticmethod
    def rows(logits: Tensor, hidden: Tensor | None, part: int, count: int) -> Found:
        """The last `count` rows of a part, as float32 in the caller's memory."""
        return Found(as_array(logits[part, -count:]), None if hidden is None else as_array(hidden[part, -count:]))

    def _alone(self, ids: list[int], keep: int, shown: int) -> tuple[Tensor, Tensor | None]:
        import torch

        return self._run(keep, shown, input_ids=torch.tensor([ids], device=self.model.device), use_cache=False)

    def _run(self, keep: int, shown: int, **inputs: Any) -> tuple[Tensor, Tensor | None]:
        import torch

        if "logits_to_keep" in self._takes:
            inputs["logits_to_keep"] = max(1, keep)  # 0 would be all of them
        if "use_cache" not in self._takes:
            del inputs["use_cache"]
        with torch.inference_mode():
            logits = self.model(**inputs).logits
            return logits, None if self._taps is None else self._taps.read(max(1, shown))


def as_array(rows: Tensor) -> Any:
    """As float32 in the caller's memory."""
    return np.array(rows.float().cpu().numpy(), order="C")
