"""A model that answers requests thousands at once: what own_texts.py asks of one, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.wide.cards import is_card
from truedraw.engine.pytorch.engine import CACHE_BYTES
from truedraw.engine.pytorch.wide import Drawing, Wanted
from truedraw.errors import BadPrompt
from truedraw.generate.request import Request

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.text.tokenizer import Tokenizer

OF_CARD = 0.55  # of what is free of a card: keys and values of a batch
TEXTS, TEXTS_OF_PROCESSOR = 1 << 13, 32
"""Of a batch: beyond, a step takes as many times longer as there are more. A batch is finished also when the time is
up, so that a processor has few."""
TAKEN = ("temperature", "top_p")
NOISE_BITS = 32  # of a seed, that every generator of torch tells apart


class Choice(NamedTuple):
    """As generate.result has it, so far as training asks."""

    tokens: tuple[int, ...]
    finish_reason: str
    tokenizer: Tokenizer

    @property
    def text(self) -> str:
        """Without the end token; made when it is asked for, since nobody asks for an answer's."""
        return self.tokenizer.decode(self.tokens[:-1] if self.finish_reason == "stop" else self.tokens)


class Result(NamedTuple):
    """The samples of a request."""

    choices: tuple[Choice, ...]


class WideModel:
    """Stands in for generate.Model where texts are written.

    Of a request it takes the prompt, temperature, top_p, max_tokens and n, and top_p of the model's own defaults; other
    defaults are told by `ignored`. Its noise is a whole batch's, begun with the first request's seed: the same command
    writes the same texts where batches are the same, on the same device, and others elsewhere.
    """

    def __init__(self, model: Model, network: Any, told: Callable[[str], None] = lambda _: None) -> None:
        self.name, self.tokenizer, self.engine = model.name, model.tokenizer, model.engine
        self.chat_prompt = model.chat_prompt
        self._drawing = Drawing(network, model.tokenizer.eos_ids)
        self._told, self._defaults = told, model.defaults
        self._left = 0  # texts of a batch that are to be handed out
        engine: Any = model.engine
        self._texts = TEXTS if is_card(network.device) else TEXTS_OF_PROCESSOR
        self._columns = _room_of(engine, network.device) // self._drawing.column_bytes
        self._longest = min(engine.context_length, engine.batched_tokens)
        self._top_p = float(model.defaults.get("top_p", 1.0))

    def generate_many(self, requests: Iterable[Request], **_: Any) -> Iterator[tuple[Request, Any]]:
        """Each request with its Result, or with BadPrompt where it leaves no room in the context."""
        batch = _Batch([], 0, 0)
        for request in requests:
            if self._room(request) < 1:
                yield request, BadPrompt(f"{len(self._prompt(request)):,} tokens leave no room for an answer")
                continue
            more = batch.with_one(request, self._columns_of(request))
            if batch.requests and not more.fits(self._texts, self._columns):
                yield from self._answered(batch.requests)
                more = _Batch([], 0, 0).with_one(request, self._columns_of(request))
            batch = more
        if batch.requests:
            yield from self._answered(batch.requests)

    @property
    def ignored(self) -> list[str]:
        """The model's own sampling settings that its texts are drawn without."""
        return sorted(name for name in self._defaults if name not in TAKEN)

    def ready(self) -> bool:
        """Whether the next text is there."""
        return self._left > 0

    def _answered(self, batch: Sequence[Request]) -> Iterator[tuple[Request, Result]]:
        texts = [self._wanted(request) for request in batch for _ in range(_many(request))]
        found = iter(self._continued(texts, (batch[0].params["seed"], batch[0].key)))
        self._left = len(batch)
        for request in batch:
            self._left -= 1
            yield request, Result(tuple(self._choice(next(found)) for _ in range(_many(request))))

    def _continued(self, texts: Sequence[Wanted], purpose: object) -> Iterator[list[int]]:
        """In as many parts as the room asks for: a request may have thousands of samples."""
        longest = max(len(text.prompt) + text.most for text in texts)
        size = max(1, min(self._texts, self._columns // longest))
        for start in range(0, len(texts), size):
            some = texts[start : start + size]

            def told(count: int, most: int, texts: int = len(some)) -> None:
                self._told(f"{texts:,} texts at once, {count} of {most} tokens")

            yield from self._drawing.continued(some, noise_of(purpose, start), told)

    def _choice(self, tokens: list[int]) -> Choice:
        ended = bool(tokens) and tokens[-1] in self.tokenizer.eos_ids
        return Choice(tuple(tokens), "stop" if ended else "length", self.tokenizer)

    def _prompt(self, request: Request) -> Sequence[int]:
        assert isinstance(request.prompt, Sequence)
        assert not isinstance(request.prompt, str)
        return request.prompt

    def _columns_of(self, request: Request) -> int:
        """At most, of one of its texts."""
        return len(self._prompt(request)) + self._wanted(request).most

    def _room(self, request: Request) -> int:
        return int(self._longest) - len(self._prompt(request))

    def _wanted(self, request: Request) -> Wanted:
        most = min(request.params["max_tokens"], self._room(request))
        return Wanted(
            self._prompt(request), most, request.params["temperature"], request.params.get("top_p", self._top_p)
        )


class _Batch(NamedTuple):
    """Requests that are answered together: their texts, and the columns of the longest."""

    requests: list[Request]
    texts: int
    longest: int

    def with_one(self, request: Request, columns: int) -> _Batch:
        return _Batch([*self.requests, request], self.texts + _many(request), max(self.longest, columns))

    def fits(self, texts: int, columns: int) -> bool:
        return self.texts <= texts and self.texts * self.longest <= columns


def _many(request: Request) -> int:
    return int(request.params.get("n", 1))


def noise_of(*purpose: object) -> int:
    """A seed of torch's for a batch. Its generator on a processor looks at the lowest bits alone, which seeds of
    requests that are far apart share."""
    return int.from_bytes(sha256(repr(purpose).encode()).digest()[: NOISE_BITS // 8], "big")


def _room_of(engine: Any, device: Any) -> int:
    """Bytes for keys and values: as the engine was told, or, where that is the usual, a part of what is free."""
    import torch

    if not is_card(device) or engine.cache_bytes != CACHE_BYTES:
        return int(engine.cache_bytes)
    torch.cuda.empty_cache()
    return int(torch.cuda.mem_get_info(device)[0] * OF_CARD)
