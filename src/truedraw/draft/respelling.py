"""A text of one tokenizer in the tokens of another: the way goes over the bytes that both stand for.

Three things differ between vocabularies. A space is a byte of its own, or the mark "▁" in front of a piece, which some
tokenizers also put before a text that begins without one. A byte that no word covers is a byte-level letter or a piece
"<0x0A>". And control tokens stand for themselves, never for the characters they are written with. Tokenizer.token_bytes
has settled the first two; here only the mark before a text needs care.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from truedraw.text import Tokenizer

ANCHOR = "\n"
"""A text to stand before another one: no word goes on behind it, and the mark is put in front of it."""
PAIRS = 8
"""Pairs of tokenizers that are kept for the next run; one takes a tenth of a second to compare."""
BROKEN = re.compile("([\udc80-\udcff]+)")
"""Bytes that are no UTF-8, as "surrogateescape" writes them."""


class Speller:
    """Bytes to the ids of one tokenizer, anywhere in a text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._pieces = {data: i for i, data in ordinary(tokenizer) if len(data) == 1}

    def __call__(self, data: bytes, begins: bool = False) -> list[int]:
        """Ids in the middle of a text; half characters byte by byte, and without the bytes that have no token.

        `begins`: nothing stands before, and the mark of a beginning is put there where the tokenizer has one.
        """
        ids: list[int] = []
        for i, run in enumerate(BROKEN.split(data.decode("utf-8", "surrogateescape"))):
            if i % 2:
                half = run.encode("utf-8", "surrogateescape")
                ids += [self._pieces[bytes([byte])] for byte in half if bytes([byte]) in self._pieces]
            elif run:
                ids += self._encoded(run) if begins and i == 0 else self._words(run)
        return ids

    def bytes_of(self, ids: Sequence[int]) -> bytes:
        """What ids stand for."""
        return b"".join(self._tokenizer.token_bytes(i) for i in ids)

    def _words(self, text: str) -> list[int]:
        """The first spelling that says just this text; a tokenizer that rewrites texts has none, but some spelling."""
        wanted, some = text.encode(), None
        for ids in self._spellings(text):
            if self.bytes_of(ids) == wanted:
                return ids
            some = ids
        return some or []

    def _spellings(self, text: str) -> Iterator[list[int]]:
        if self._tokenizer.drops_first_space and text.startswith(" "):
            yield self._encoded(text[1:])
        yield self._encoded(text)
        if self._tokenizer.drops_first_space:
            head, whole = self._encoded(ANCHOR), self._encoded(ANCHOR + text)
            if whole[: len(head)] == head:
                yield whole[len(head) :]

    def _encoded(self, text: str) -> list[int]:
        ids = self._tokenizer.encode(text, add_special=False)
        return self._plain.encode(text, add_special=False) if any(map(self._tokenizer.is_special, ids)) else ids

    @cached_property
    def _plain(self) -> Tokenizer:
        """Reads the names of control tokens as text; made where such a name comes, for it takes a while."""
        from tokenizers import Tokenizer as Backend

        backend = Backend.from_str(self._tokenizer.to_json())
        backend.encode_special_tokens = True
        return Tokenizer(backend)


class Respelling:
    """Tokens of `source` to ids of another tokenizer, `to`; ids for which its model has no row, of so many, are left
    out: an embedding may be shorter than the vocabulary."""

    def __init__(self, source: Tokenizer, to: Tokenizer, rows: int | None = None) -> None:
        self._source, self._to, self.speller = source, to, speller(to)
        self._rows = to.vocab_size if rows is None else rows
        self.controls = control_ids(source, to)

    def opening(self, tokens: Sequence[int]) -> list[int]:
        """Of a text from its beginning, which `to` may frame; one id at least, so that there is something to open."""
        begins = [self._to.bos_id] if self._to.bos_id in self._to.encode("") else []
        rest = list(tokens)
        if rest and rest[0] == self._source.bos_id and self._source.encode("") == rest[:1]:
            del rest[0]
        ids = self._known(begins) + self.text(rest, begins=True)
        return ids or [*self._known([self._to.bos_id, *self._to.eos_ids]), 0][:1]

    def text(self, tokens: Sequence[int], begins: bool = False) -> list[int]:
        """Of tokens that may be spelled anew together; `begins` where nothing stands before them."""
        ids: list[int] = []
        data = b""
        for token in tokens:
            if token in self.controls:
                ids += [*self.speller(self._shown(data, begins), begins), *self.controls[token]]
                data, begins = b"", False
            else:
                data += self._source.token_bytes(token)
        return self._known([*ids, *self.speller(self._shown(data, begins), begins)])

    def _known(self, ids: Sequence[int | None]) -> list[int]:
        return [i for i in ids if i is not None and i < self._rows]

    def _shown(self, data: bytes, begins: bool) -> bytes:
        """Without the mark that only says that a text begins."""
        return data.removeprefix(b" ") if begins and self._source.drops_first_space else data


@lru_cache(PAIRS)
def speller(tokenizer: Tokenizer) -> Speller:
    """The speller of a tokenizer."""
    return Speller(tokenizer)


@lru_cache(PAIRS)
def respelling(source: Tokenizer, to: Tokenizer, rows: int | None = None) -> Respelling:
    """The way from one tokenizer to another, whose model has so many rows."""
    return Respelling(source, to, rows)


def ordinary(tokenizer: Tokenizer) -> Iterator[tuple[int, bytes]]:
    """Every id that stands for text, and its bytes; of two with the same bytes the better one comes last.

    A letter can be both a word of its own and a byte piece, which is only written where no word covers it.
    """
    pieces = {tokenizer.token_id(f"<0x{byte:02X}>") for byte in range(256)}
    tokens = range(tokenizer.vocab_size)
    for i in sorted(tokens, key=lambda i: (i not in pieces, -i)):
        if not tokenizer.is_special(i) and tokenizer.token_bytes(i):
            yield i, tokenizer.token_bytes(i)


def control_ids(source: Tokenizer, to: Tokenizer) -> dict[int, list[int]]:
    """Every control token of `source`: the one of `to` that is written alike, or ends a text too; none for the rest."""
    written = {to.token_bytes(i): i for i in range(to.vocab_size) if to.is_special(i)}
    found: dict[int, list[int]] = {}
    for i in range(source.vocab_size):
        if source.is_special(i):
            alike = written.get(source.token_bytes(i))
            ends = list(to.eos_ids[:1]) if i in source.eos_ids else []
            found[i] = ends if alike is None else [alike]
    return found
