"""From texts to rows on the device, by one pass over each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.clock import Clock
from truedraw.distill.computing import Computed
from truedraw.distill.plan import FEATURES, Tell
from truedraw.distill.store import ROW, TEMPERATURES, Shape
from truedraw.distill.texts import Text
from truedraw.distill.wide.rows import DeviceRows
from truedraw.engine.pytorch.wide import Seen, seen
from truedraw.errors import BadFile

if TYPE_CHECKING:
    from truedraw.engine.pytorch.taps import Taps

Tensor = Any  # torch.Tensor
LARGEST = 65504.0  # float16
KEEP_FREE = 8 << 30  # bytes of a card, for what learning needs beside


class Material(NamedTuple):
    """Rows that are filled as passes come."""

    features: Tensor
    rows: NDArray[Any]
    starts: list[int]  # of each text's rows
    texts: Sequence[Text]

    def take(self, found: Seen) -> None:
        """What a pass saw."""
        import torch

        longest = found.top.shape[1]
        here, there = [], []
        for place, number in enumerate(found.texts):
            text, start = self.texts[number], self.starts[number]
            first = place * longest + len(text.prompt) - 1
            here.append(np.arange(first, first + len(text.answer)))
            there.append(np.arange(start, start + len(text.answer)))
        at, to = np.concatenate(here), np.concatenate(there)
        index = torch.from_numpy(at).to(self.features.device)
        states = found.features.flatten(0, 1)[index].clamp(-LARGEST, LARGEST)
        self.features[torch.from_numpy(to).to(self.features.device)] = states.to(self.features.dtype)
        self.rows["top"][to] = found.top.flatten()[index].cpu().numpy()
        self.rows["normaliser"][to] = found.normaliser.flatten(0, 1)[index].cpu().numpy()


def rows_on(
    network: tuple[Any, Taps], texts: Iterable[Text], shape: Shape, limit: tuple[int, float, Tell]
) -> tuple[DeviceRows, Computed]:
    """Of as many texts as `limit` has bytes for; it is bytes, seconds that were spent before, and who is told.

    network: the model and what reads its streams.
    """
    import torch

    model, taps = network
    most_bytes, before, tell = limit
    clock = Clock(before, None)
    every = list(texts)
    some = _that_fit(every, min(most_bytes, _free(model.device)) // (shape.row_bytes - ROW.itemsize))
    counts = [len(text.answer) for text in some]
    total = sum(counts)
    features = torch.empty(total, *shape, dtype=torch.float16, device=model.device)
    material = Material(features, np.zeros(total, ROW), [0, *accumulate(counts)][:-1], some)
    done = 0
    for found in seen(model, taps, [[*text.prompt, *text.answer[:-1]] for text in some], TEMPERATURES):
        material.take(found)
        done += sum(counts[number] for number in found.texts)
        tell(FEATURES, done / max(total, 1), f"{done:,} rows")
    material.rows["token"] = [token for text in some for token in (text.prompt[-1], *text.answer[:-1])]
    _check(material)
    whole = len(some) == len(every)
    needed = None if whole else sum(len(text.answer) for text in every) * shape.row_bytes
    return DeviceRows(features, material.rows, some), Computed(len(some), total, clock.seconds, whole, needed)


def _that_fit(texts: Sequence[Text], rows: int) -> list[Text]:
    """The first ones that have so many rows together."""
    ends = accumulate(len(text.answer) for text in texts)
    return [text for text, end in zip(texts, ends, strict=True) if end <= rows]


def _free(device: Any) -> int:
    """Bytes that features may take of a card; of a processor's memory whatever is asked for."""
    import torch

    if device.type != "cuda":
        return 1 << 62
    torch.cuda.empty_cache()
    return max(0, int(torch.cuda.mem_get_info(device)[0]) - KEEP_FREE)


def _check(material: Material) -> None:
    """Raises BadFile where the target's numbers are none in half precision."""
    if not np.isfinite(material.rows["normaliser"]).all():
        raise BadFile("the model's logits are no finite numbers in half precision; train on another engine")
