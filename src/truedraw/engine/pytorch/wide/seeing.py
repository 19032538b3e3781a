"""What a model knew and said at each row of a text, for many texts a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from truedraw.engine.pytorch.taps import Taps

Tensor = Any  # torch.Tensor
NUMBERS = {"cuda": 1 << 30}
FEW_NUMBERS = 1 << 28
"""Logits of a pass, padding included, and of one on a device that is no card: each row has the whole vocabulary's."""
LOGITS = 1 << 11  # rows whose logits stand in memory as float32


class Seen(NamedTuple):
    """Of a pass: `texts`, which ones by number; features [texts, longest, streams, width]; top [texts, longest], the
    likeliest token; normaliser [texts, longest, temperatures], of the whole vocabulary."""

    texts: list[int]
    features: Tensor
    top: Tensor
    normaliser: Tensor


def seen(model: Any, taps: Taps, texts: Sequence[Sequence[int]], temperatures: Sequence[float]) -> Iterator[Seen]:
    """All texts, those of like length together; rows behind a text's last one mean nothing."""
    import torch

    rows = NUMBERS.get(model.device.type, FEW_NUMBERS) // model.get_output_embeddings().weight.shape[0]
    for batch in _batches(texts, rows):
        longest = len(texts[batch[-1]])
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, number in zip(ids, batch, strict=True):
            row[: len(texts[number])] = torch.tensor(texts[number])
        with torch.inference_mode():
            logits = model(input_ids=ids.to(model.device), use_cache=False, logits_to_keep=longest).logits
            yield Seen(batch, taps.read(longest), *_laws(logits, temperatures))


def _batches(texts: Sequence[Sequence[int]], rows: int) -> Iterator[list[int]]:
    """Numbers of texts, rising in length."""
    batch: list[int] = []
    for number in sorted(range(len(texts)), key=lambda each: len(texts[each])):
        if batch and (len(batch) + 1) * len(texts[number]) > rows:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _laws(logits: Tensor, temperatures: Sequence[float]) -> tuple[Tensor, Tensor]:
    import torch

    rows = logits.flatten(0, 1)
    found = []
    for start in range(0, len(rows), LOGITS):
        some = rows[start : start + LOGITS].float()
        found.append(torch.stack([torch.logsumexp(some / each, -1) for each in temperatures], -1))
    return logits.argmax(-1), torch.cat(found).view(*logits.shape[:2], -1)
