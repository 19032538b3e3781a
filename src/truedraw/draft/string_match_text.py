"""A target's text in a draft model's tokens while it grows, and what the draft model wrote in the target's.

A text is settled up to where a word begins: its spelling there no longer depends on what follows. What stands open
behind that is spelled anew each time, in either direction, and rides in the draft model's first pass of the round.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from truedraw.draft.model import ModelState
from truedraw.draft.respelling import Respelling, Speller
from truedraw.protocol import Floats, Proposal, Scores
from truedraw.text import Tokenizer

LONGEST = 48
"""Tokens that may stand open. Some languages have no spaces; there the text is settled somewhere else, and the draft
model may see a word spelled oddly, which costs drafts and nothing else."""
ENOUGH = 16  # tokens of a prompt from which its length in the other tokens can be told
SPREAD = (0.5, 2.0)  # that a ratio of lengths is believed between
SURE = 1.0 - 1e-6  # of a token that the draft model never had a choice about


class Beginning:
    """A prompt: `settled` [ids] in the draft model's tokens, then `open` tokens of the target."""

    def __init__(self, respelling: Respelling, target: Tokenizer, tokens: Sequence[int]) -> None:
        self.respelling, self.target, self.tokens = respelling, target, tuple(tokens)
        cut = self.cut(self.tokens) or len(self.tokens)
        self.settled, self.open = respelling.opening(self.tokens[:cut]), self.tokens[cut:]
        ratio = (len(self.settled) + len(respelling.text(self.open))) / max(1, len(tokens))
        self.ratio = float(np.clip(ratio, *SPREAD)) if len(tokens) >= ENOUGH else 1.0

    def cut(self, tokens: Sequence[int]) -> int:
        """How many of the tokens can be settled: up to the last place where a word begins."""
        if tokens and self.target.is_special(tokens[-1]):
            return len(tokens)
        for i in range(len(tokens) - 1, 0, -1):
            if self._begins_word(tokens[i - 1], tokens[i : i + 2]):
                return i
        return len(tokens) // 2 if len(tokens) > LONGEST else 0

    def _begins_word(self, before: int, behind: Sequence[int]) -> bool:
        """A single space between letters; the place behind a control token."""
        if self.target.is_special(before):
            return True
        left, right = self.target.token_bytes(before), b"".join(map(self.target.token_bytes, behind))
        return right[:1] == b" " and right[1:2].strip() != b"" and not left[-1:].isspace()


class StringMatchState:
    """protocol.DraftState: the settled text in the draft model's cache, and the target's tokens behind it."""

    def __init__(self, begins: Beginning, text: ModelState, tail: Sequence[int]) -> None:
        self.begins, self.text, self.tail = begins, text, tuple(tail)

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on."""
        self.tail = (*self.tail, *tokens)
        cut = self.begins.cut(self.tail)
        if cut:
            self.text.commit(self.begins.respelling.text(self.tail[:cut]))
            self.tail = self.tail[cut:]

    def ahead(self, tokens: Sequence[int]) -> StringMatchState:
        """protocol.LooksAhead."""
        return StringMatchState(self.begins, self.text, (*self.tail, *tokens))

    def writing(self) -> ModelState:
        """The draft model's view of the text."""
        return self.text.ahead(self.begins.respelling.text(self.tail))

    def close(self) -> None:
        """Give the pages back."""
        self.text.close()


class Written:
    """What a draft model wrote: the bytes up to its first control token, and where each of its tokens begins."""

    def __init__(self, tokenizer: Tokenizer, draft: Proposal) -> None:
        ids = draft.tokens.tolist()
        stop = next((i for i, each in enumerate(ids) if tokenizer.is_special(each)), len(ids))
        parts = [tokenizer.token_bytes(each) for each in ids[:stop]]
        self.data = b"".join(parts)
        self.starts = np.cumsum([0, *map(len, parts)])[:-1]  # [tokens]
        self.sure = np.ones(len(parts)) if draft.confidence is None else draft.confidence[:stop]  # [tokens]
        self.ends_text = stop < len(ids) and ids[stop] in tokenizer.eos_ids
        self.settled = self._whole(len(self.data) if stop < len(ids) or not parts else int(self.starts[-1]))

    def confidence(self, target: Tokenizer, tokens: Sequence[int]) -> Floats:
        """[tokens] of the target: a token stands where all do that the draft model began inside it."""
        ends = np.cumsum([0, *(0 if target.is_special(each) else len(target.token_bytes(each)) for each in tokens)])
        inside = [(self.starts >= low) & (self.starts < high) for low, high in pairwise(ends)]
        return np.array([min(SURE, float(self.sure[each].prod())) for each in inside])

    def _whole(self, length: int) -> int:
        """So many bytes, without half a character at their end."""
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        decoder.decode(self.data[:length])
        return length - len(decoder.getstate()[0])


def offered(spell: Speller, target: Tokenizer, tail: Sequence[int], written: Written) -> list[int]:
    """The target's tokens for what was written behind its open `tail`, as far as their spelling is settled.

    The two are spelled together where the tail keeps its own tokens then, otherwise apart.
    """
    together = spell(spell.bytes_of(tail) + written.data)
    kept = tuple(together[: len(tail)]) == tuple(tail)
    tokens = together[len(tail) :] if kept else spell(written.data)
    ends = np.cumsum([len(target.token_bytes(each)) for each in tokens])
    settled = tokens[: int(np.searchsorted(ends, written.settled, side="right"))]
    complete = len(settled) == len(tokens) and written.ends_text
    return [*settled, *target.eos_ids[:1]] if complete else settled
