"""Texts that grow together, a token each a step, until they have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from truedraw.engine.pytorch.wide.columns import Where, columns_of, keep
from truedraw.engine.pytorch.wide.sampling import drawn
from truedraw.errors import EngineError

Tensor = Any  # torch.Tensor
PART, SQUARES = 512, 1 << 24
"""Texts whose prompts are computed in one pass, and squares of the longest one's length: scores have as many numbers
a head."""
LOOK_EVERY = 16  # steps, after which it is looked whose text has ended
FEWER = 0.8  # of the texts: when no more go on, the others' columns are let go
NO_TOKEN = -1

Told = Callable[[int, int], None]
"""Called at each step with the tokens that each text has, and how many it may have."""


def silent(_count: int, _most: int) -> None:
    """Tells nobody."""


class Wanted(NamedTuple):
    """A text to be continued."""

    prompt: Sequence[int]
    most: int  # tokens
    temperature: float = 1.0
    top_p: float = 1.0


class Drawing:
    """A model of transformers, on its device and in its type, that continues texts.

    end_ids: tokens behind which a text goes no further.
    """

    def __init__(self, model: Any, end_ids: Iterable[int]) -> None:
        import torch

        self._model, self._device = model, model.device
        self._ends = torch.tensor(sorted(end_ids), dtype=torch.long, device=self._device)
        self._num_layers = int(model.config.get_text_config().num_hidden_layers)
        self.column_bytes = _column_bytes(model)  # what a token of a text takes while it is written
        self._cache_name = "cache" if "cache" in _parameters(model) else "past_key_values"

    def continued(self, texts: Sequence[Wanted], seed: int, told: Told = silent) -> list[list[int]]:
        """Tokens of each, its end among them. The same ones for the same texts and seed on a device."""
        import torch

        with torch.inference_mode():
            batch = _Batch(self, texts, seed)
            batch.begin()
            while batch.goes_on():
                told(*batch.count)
                batch.step()
            return batch.found()

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, cache: Any) -> Tensor:
        """Of each text's last row [n, vocab]."""
        found = self._model(
            input_ids=ids,
            position_ids=positions,
            attention_mask=mask,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: cache},
        )
        return found.logits[:, -1]


class _Batch:
    """Prompts stand at the right end of the columns that the longest one takes; new tokens follow."""

    def __init__(self, drawing: Drawing, texts: Sequence[Wanted], seed: int) -> None:
        import torch

        self._drawing, device = drawing, drawing._device
        lengths = np.array([len(each.prompt) for each in texts])
        self._first, most = int(lengths.max()), max(each.most for each in texts)
        self._most, self._room = most, torch.tensor([each.most for each in texts], device=device)
        ids = np.zeros((len(texts), self._first), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[len(row) - len(text.prompt) :] = text.prompt
        self._ids, self._pads = torch.from_numpy(ids).to(device), torch.from_numpy(self._first - lengths).to(device)
        self._temperature = torch.tensor([each.temperature for each in texts], device=device)
        self._top_p = torch.tensor([each.top_p for each in texts], device=device)
        self._noise = torch.Generator(device).manual_seed(seed)
        self._where = Where(len(texts), self._first + most)
        self._cache = columns_of(self._where, drawing._num_layers)
        self._tokens = torch.full((len(texts), most), NO_TOKEN, device=device)
        self._numbers, self._alive = torch.arange(len(texts), device=device), torch.ones(len(texts), device=device) > 0
        self._count, self._last, self._finite = 0, self._ids[:, -1], torch.tensor(True, device=device)

    def begin(self) -> None:
        """Prompts, and the first tokens."""
        import torch

        rows = []
        part = max(1, min(PART, SQUARES // self._first**2))
        for start in range(0, len(self._ids), part):
            self._where.part = slice(start, min(start + part, len(self._ids)))
            rows.append(self._prompts(self._where.part))
        self._where.part, self._where.at = slice(0, len(self._ids)), self._first
        self._take(torch.cat(rows))

    def goes_on(self) -> bool:
        """Whether any text does; the others are let go of."""
        if self._count >= self._most:
            return False
        if self._count % LOOK_EVERY:
            return True
        self._check()
        alive = int(self._alive.sum())
        if alive < FEWER * len(self._alive):
            self._only(self._alive.nonzero()[:, 0])
        return alive > 0

    @property
    def count(self) -> tuple[int, int]:
        """Tokens that each text has, and how many it may have at most."""
        return self._count, self._most

    def step(self) -> None:
        """A token for each."""
        import torch

        columns = torch.arange(self._where.at + 1, device=self._pads.device)
        mask = self._hidden(columns[None] < self._pads[:, None])[:, None, None]
        positions = (self._where.at - self._pads)[:, None]
        logits = self._drawing.logits(self._last[:, None], positions, mask, self._cache)
        self._where.at += 1
        self._take(logits)

    def found(self) -> list[list[int]]:
        """The tokens of each."""
        self._check()
        return [[token for token in row if token != NO_TOKEN] for row in self._tokens.tolist()]

    def _prompts(self, part: slice) -> Tensor:
        import torch

        ids, pads = self._ids[part], self._pads[part]
        columns = torch.arange(self._first, device=ids.device)
        hidden = (columns[None, None] > columns[None, :, None]) | (columns[None, None] < pads[:, None, None])
        positions = (columns[None] - pads[:, None]).clamp_min(0)
        return self._drawing.logits(ids, positions, self._hidden(hidden)[:, None], self._cache)

    def _check(self) -> None:
        """Raises EngineError."""
        if not self._finite:
            kind = str(self._drawing._model.dtype).removeprefix("torch.")
            raise EngineError(f"the model's logits are no finite numbers in {kind}; take the engine openvino")

    def _hidden(self, which: Tensor) -> Tensor:
        """To be added to scores."""
        import torch

        kind = self._drawing._model.dtype
        low = torch.finfo(kind).min / 2  # with any score still a number: a row of padding sees nothing else
        return torch.zeros(which.shape, dtype=kind, device=which.device).masked_fill_(which, low)

    def _take(self, logits: Tensor) -> None:
        """Draw the next token of each text that goes on."""
        import torch

        self._finite &= logits.isfinite().all()
        self._last = drawn(logits, self._temperature, self._top_p, self._noise)
        self._tokens[self._numbers, self._count] = self._last.where(self._alive, NO_TOKEN)
        self._count += 1
        self._alive = self._alive & ~torch.isin(self._last, self._drawing._ends) & (self._count < self._room)

    def _only(self, texts: Tensor) -> None:
        if not len(texts):
            return
        keep(self._cache, self._where, texts)
        for name in ("_pads", "_room", "_temperature", "_top_p", "_numbers", "_alive", "_last"):
            setattr(self, name, getattr(self, name)[texts])


def _column_bytes(model: Any) -> int:
    """Keys and values of one row in all layers, by the most that its heads can take."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * model.dtype.itemsize)


def _parameters(model: Any) -> Iterable[str]:
    from inspect import signature

    return signature(model.forward).parameters
