"""What an n-gram model says behind a text: the counts on file and those of the running texts, as one law."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from threading import local
from typing import Any, NamedTuple

import numpy as np

from truedraw.draft.automaton import Cursor, SuffixAutomaton
from truedraw.draft.growth import Place as Growing
from truedraw.draft.known import law_over
from truedraw.draft.ngram_lm_counts import Column, NgramCounts, count_ngrams
from truedraw.draft.ngram_lm_file import MOST_OPEN
from truedraw.protocol import ROOT, Floats, Ints, Law, Logits

TOP = 512  # most frequent single tokens on file: what is rarer is left to the contexts that know it
DISCOUNTS = (0.75, 0.6)
"""Of counts on file, and of those in the running texts, which are fewer and nearer and are believed more.

Chosen by sum(min(p, q)) over 2,500 places in texts of SmolLM2-135M, with 82,000 tokens on file that it wrote to other
prompts: .252 at T = 1, .297 at T = 0.7. On one footing, a little below these, absolute discounting had .248 / .294, and
.244 / .297 with discounts estimated from the counts; Witten-Bell at its best .239 / .274, modified Kneser-Ney
.234 / .289."""


Board = tuple[Floats, Ints]


class Opinion(NamedTuple):
    """A law over the tokens that it knows; all others have the probability 0."""

    tokens: Ints  # [known]
    logits: Logits  # [known], logs of their probabilities


class Counted(NamedTuple):
    """The same, as probabilities."""

    tokens: Ints  # [known]
    chances: Floats  # [known], above 0, sum 1


class Place(NamedTuple):
    """Where a text stands: its last tokens, and its place among the running texts."""

    last: tuple[int, ...]  # at most order - 1
    automaton: SuffixAutomaton
    cursor: Cursor


class NgramSource:
    """Counts on file (None: there are none) for contexts of up to order - 1 tokens, over `vocab_size` tokens.

    Each thread has memory to work in, which its texts share.
    """

    def __init__(self, counts: NgramCounts | None, order: int, vocab_size: int) -> None:
        self.order, self.vocab_size = order, vocab_size
        self._file = columns_of(counts or nothing())

    def place(self, tokens: Sequence[int], view: tuple[SuffixAutomaton, Cursor]) -> Place:
        """The end of a text that is written through a cursor."""
        return Place(self._last(tuple(tokens)), *view)

    def behind(self, place: Place, tokens: Sequence[int]) -> Place:
        """The place behind tokens that are tried out."""
        cursor = place.automaton.behind(place.cursor, tokens)
        return Place(self._last((*place.last, *tokens)), place.automaton, cursor)

    def written(self, place: Place, tokens: Sequence[int]) -> Place:
        """The place behind tokens that the text has got."""
        place.automaton.write(place.cursor, tokens)
        return Place(self._last((*place.last, *tokens)), place.automaton, place.cursor)

    def reached(self, above: Sequence[Place], places: Sequence[Growing]) -> list[Place]:
        """The places behind the nodes of a tree's level, from those [places of the level above] of the level before."""
        return [above[p.row] if p.node == ROOT else self.behind(above[p.row], [p.token]) for p in places]

    def matched(self, place: Place) -> int:
        """Tokens of the longest context that the running texts went on behind, 0 to order - 1."""
        return place.automaton.match(place.cursor)

    def opinion(self, place: Place) -> Opinion | None:
        """What may follow; None where nothing was ever counted."""
        found = self.counted(place)
        return None if found is None else Opinion(found.tokens, np.log(found.chances).astype(np.float32))

    def counted(self, place: Place) -> Counted | None:
        """The same."""
        from truedraw.draft.ngram_lm_blend import blend, taken_from

        heard = place.automaton.place(place.cursor)
        board = _boards.take(self.vocab_size)
        size = blend(self._file, heard, np.array(place.last, np.int64), DISCOUNTS, board)
        found = None
        if size:
            found = Counted(np.empty(size, np.int64), np.empty(size))
            taken_from(board, *found)
        _boards.give_back(board)
        return found

    def _last(self, tokens: tuple[int, ...]) -> tuple[int, ...]:
        return tokens[max(0, len(tokens) - self.order + 1) :]


@cache
def nothing() -> NgramCounts:
    """Counts of no text."""
    return count_ngrams([], 1)


@lru_cache(maxsize=MOST_OPEN)
def columns_of(counts: NgramCounts) -> tuple[Any, ...]:
    """As `blend` takes them."""
    columns = counts.tokens, counts.counts, counts.begins, *top(counts)
    return (*map(unwritable, columns), counts.levels[0], counts.order - 1)


class Boards(local):
    """What `blend` writes to, of each thread one for each vocabulary, whose weights are all 0."""

    def __init__(self) -> None:
        self._held: dict[int, Board] = {}

    def take(self, vocab_size: int) -> Board:
        """Nobody else gets it: after an interruption, which may leave it full, nobody ever does."""
        return self._held.pop(vocab_size, None) or (np.zeros(vocab_size), np.empty(vocab_size, np.int64))

    def give_back(self, board: Board) -> None:
        """Once it is empty."""
        self._held[len(board[0])] = board


_boards = Boards()


def top(counts: NgramCounts) -> tuple[Column, Column]:
    """The TOP most frequent single tokens and their counts, in the order of their ids."""
    single = counts.counts[: counts.levels[0]]
    kept = np.sort(np.argsort(-single, kind="stable")[:TOP])
    return counts.tokens[kept], single[kept]


def unwritable(column: Column) -> Column:
    """As a mapped column is: compiled code takes the two for different types, and is compiled for one."""
    seen = column.view()
    seen.flags.writeable = False
    return seen


def known_law(opinion: Opinion, law: Law, vocab_size: int, level: float) -> Floats:
    """q [known] of the tokens that the opinion is on, all others have 0; raises BadParameter where none may come."""
    logits = opinion.logits
    if getattr(law, "transform", None) is None:  # what acts on the target's own logits asks how large these are
        logits = (logits + (level - logits.max())).astype(np.float32)
    return law_over(opinion.tokens, logits, law, vocab_size)
