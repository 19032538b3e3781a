"""Texts whose rows in the store are all of their tokens but the last, prompts included, and the batches of a training.

A row's features are what the target knew of its token; the row behind has the token that followed, and its law is that
of the first draft. Drafts begin where they begin when a text is written: behind rows that a token of the answer
follows.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from truedraw.distill.independent.whole_texts import MOST_TOKENS, in_turn
from truedraw.distill.rows import Rows
from truedraw.distill.texts import MORE_TEXT, stored_texts
from truedraw.errors import BadFile
from truedraw.protocol import Ints

ROWS_A_STEP = 1024  # about, those of prompts included: each is learnt from at several positions
FEWEST = 5  # rows from the first one that drafts begin behind: it, and a chain of four


class Batch(NamedTuple):
    """Some texts, one behind the other.

    rows [rows]: where in the store; ends [texts]: where in `rows` each text ends; places [rows]: of each in its text.
    bases [bases]: where in `rows` drafts begin, of which the last row of a text is none.
    """

    rows: Ints
    ends: Ints
    places: Ints
    bases: Ints

    def end_of(self, at: Ints) -> Ints:
        """[n]: where the texts end that rows [n] of `rows` are of."""
        found: Ints = self.ends[np.searchsorted(self.ends, at, "right")]
        return found


class WholeRows:
    """The texts of a store; raises BadFile where the journal of texts is not the store's, or too little is there.

    firsts [texts]: where in the store the rows of answers begin, the last of the prompt being their first; sizes
    [texts]: how many there are. Of a text that is longer than MOST_TOKENS what stands further before is cut off.
    """

    def __init__(self, folder: Path, data: Rows) -> None:
        self.data = data
        starts, self._ends = data.bounds[:-1], data.bounds[1:]
        texts = stored_texts(folder, data.by_text(), lambda text: [*text.prompt, *text.answer[:-1]])
        self.firsts = np.array(
            [start + len(text.prompt) - 1 for start, text in zip(starts, texts, strict=True)], np.int64
        )
        self.sizes = self._ends - self.firsts
        self._starts = np.maximum(starts, self._ends - MOST_TOKENS)
        enough, held = self.sizes >= FEWEST, data.held[starts]
        self.held, self.learnt = np.flatnonzero(held & enough), np.flatnonzero(~held & enough)
        if not len(self.held) or not len(self.learnt):
            raise BadFile(
                f"there is too little text to train on: of {data.num_texts} texts {len(self.learnt)} can be learnt "
                f"from and {len(self.held)} held out; both need answers of {FEWEST} tokens or more; {MORE_TEXT}"
            )
        mean = float((self._ends - self._starts)[self.learnt].mean())
        self.at_once = min(max(1, round(ROWS_A_STEP / mean)), len(self.learnt))

    @property
    def tokens(self) -> int:
        """Of all answers."""
        return int(self.sizes.sum())

    @property
    def held_tokens(self) -> int:
        """Of those held out."""
        return int(self.sizes[self.data.held[self.firsts]].sum())

    def answer_rows(self, held: bool = False) -> Ints:
        """Of the store: those of all answers that may be learnt from, or that are held out."""
        some = np.flatnonzero(self.data.held[self.firsts] == held)
        return np.concatenate([np.arange(self.firsts[number], self._ends[number]) for number in some])

    def commonest(self, most: int, vocab_size: int) -> Ints:
        """See Rows, of the answers alone."""
        return self.data.commonest(most, vocab_size, self.answer_rows())

    def step(self, seed: int, number: int) -> Batch:
        """The texts of a step, by its number alone: all of them once, in an order of chance, then all in another."""
        return self.batch(in_turn(self.learnt, self.at_once, seed, number))

    def batch(self, numbers: list[int]) -> Batch:
        """These texts."""
        sizes = (self._ends - self._starts)[numbers]
        ends = np.cumsum(sizes)
        begins = ends - sizes
        rows = [np.arange(self._starts[number], self._ends[number]) for number in numbers]
        first = np.maximum(self.firsts - self._starts, 0)[numbers]
        bases = [np.arange(begin + own, end - 1) for begin, own, end in zip(begins, first, ends, strict=True)]
        places = np.concatenate([np.arange(size) for size in sizes])
        return Batch(np.concatenate(rows), ends, places, np.concatenate(bases))
