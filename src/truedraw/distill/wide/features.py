"""From texts to rows on the device, by one pass over each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.clock import Clock
from truedraw.distill.computing import Computed
from truedraw.distill.halves import LARGEST
from truedraw.distill.plan import FEATURE_BYTES, FEATURES, Tell
from truedraw.distill.store import ROW, TEMPERATURES, Shape
from truedraw.distill.texts import Text
from truedraw.distill.wide.cards import free_bytes, is_card
from truedraw.distill.wide.rows import DeviceRows
from truedraw.engine.pytorch.wide import Seen, seen
from truedraw.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from truedraw.engine.pytorch.taps import Taps

Tensor = Any  # torch.Tensor
TEXTS_OF_CARD, TEXTS_OF_PROCESSOR = 4096, 64
"""Seen before it is asked whether the time is up; those of like length stand in one pass."""


class Material(NamedTuple):
    """Rows that are filled as passes come."""

    features: Tensor
    rows: NDArray[Any]
    starts: list[int]  # of each text's rows, and behind the last one
    texts: Sequence[Text]

    def take(self, found: Seen, before: int = 0) -> None:
        """What a pass saw of texts behind so many."""
        import torch

        longest = found.top.shape[1]
        here, there = [], []
        for place, number in enumerate(found.texts):
            text, start = self.texts[before + number], self.starts[before + number]
            first = place * longest + len(text.prompt) - 1
            here.append(np.arange(first, first + len(text.answer)))
            there.append(np.arange(start, start + len(text.answer)))
        at, to = np.concatenate(here), np.concatenate(there)
        index = torch.from_numpy(at).to(self.features.device)
        states = found.features.flatten(0, 1)[index].clamp(-LARGEST, LARGEST)
        self.features[torch.from_numpy(to).to(self.features.device)] = states.to(self.features.dtype)
        self.rows["top"][to] = found.top.flatten()[index].cpu().numpy()
        self.rows["normaliser"][to] = found.normaliser.flatten(0, 1)[index].cpu().numpy()


class Limit(NamedTuple):
    """bytes: of features; None: what is free of a card. seconds: of computing them; None: no limit."""

    num_bytes: int | None
    seconds: float | None
    tell: Tell


def rows_on(
    network: tuple[Any, Taps], texts: Iterable[Text], shape: Shape, limit: Limit
) -> tuple[DeviceRows, Computed]:
    """Of the first texts, as many as there is room and time for. network: the model, and what reads its streams.

    Raises BadParameter where there is room for none.
    """
    import torch

    model, _ = network
    clock, every = Clock(0.0, limit.seconds), list(texts)
    room = _room(model.device, limit.num_bytes)
    some = _that_fit(every, room // (shape.row_bytes - ROW.itemsize))
    if every and not some:
        raise BadParameter(
            "--feature-bytes", f"{room:,} bytes of {model.device} hold no text: a token takes {shape.row_bytes:,}; "
            "give more, or a device with more memory"
        )  # fmt: skip
    counts = [len(text.answer) for text in some]
    features = torch.empty(sum(counts), *shape, dtype=torch.float16, device=model.device)
    material = Material(features, np.zeros(len(features), ROW), [0, *accumulate(counts)], some)
    material.rows["token"] = [token for text in some for token in (text.prompt[-1], *text.answer[:-1])]
    seen_texts = _fill(material, network, clock, limit.tell)
    return _of_first(material, seen_texts), _computed(material, seen_texts, every, (clock, shape))


def _fill(material: Material, network: tuple[Any, Taps], clock: Clock, tell: Tell) -> int:
    """Text by text in their order, some at once, until all are seen or the time is up: how many were."""
    model, taps = network
    at_once = TEXTS_OF_CARD if is_card(model.device) else TEXTS_OF_PROCESSOR
    total, done = len(material.rows), 0
    for first in range(0, len(material.texts), at_once):
        if clock.over and first:
            return first
        some = material.texts[first : first + at_once]
        ids = [[*text.prompt, *text.answer[:-1]] for text in some]
        for found in seen(model, taps, ids, TEMPERATURES):
            material.take(found, first)
            done += sum(len(some[number].answer) for number in found.texts)
            tell(FEATURES, done / max(total, 1), f"{done:,} rows")
    return len(material.texts)


def _of_first(material: Material, texts: int) -> DeviceRows:
    """Raises BadFile where the target's numbers are none."""
    rows = material.rows[: material.starts[texts]]
    if not np.isfinite(rows["normaliser"]).all():
        raise BadFile("the model's logits are no finite numbers in half precision; train with another engine")
    return DeviceRows(material.features[: len(rows)], rows, material.texts[:texts])


def _computed(material: Material, texts: int, every: Sequence[Text], means: tuple[Clock, Shape]) -> Computed:
    clock, shape = means
    fitted = len(material.texts) == len(every)
    needed = None if fitted else sum(len(text.answer) for text in every) * shape.row_bytes
    return Computed(texts, material.starts[texts], clock.seconds, texts == len(every), needed)


def _that_fit(texts: Sequence[Text], rows: int) -> list[Text]:
    """The first ones that have so many rows together."""
    ends = accumulate(len(text.answer) for text in texts)
    return [text for text, end in zip(texts, ends, strict=True) if end <= rows]


def _room(device: Any, asked: int | None) -> int:
    free = free_bytes(device)
    if free is None:
        return FEATURE_BYTES if asked is None else asked
    return free if asked is None else min(asked, free)
