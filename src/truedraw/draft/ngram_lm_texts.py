"""What an n-gram model knows in one run: the counts on file, and the texts that are counted while they grow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truedraw.draft.automaton import SuffixAutomaton
from truedraw.draft.ngram_lm_counts import MOST_ORDER
from truedraw.draft.ngram_lm_file import counts_for, shipped
from truedraw.draft.ngram_lm_source import NgramSource, Place
from truedraw.draft.shared_index import Shelf, View, fingerprint
from truedraw.draft.site import Models
from truedraw.draft.suffix import EVERYONE
from truedraw.draft.suffix_settings import ALL, CACHED_BYTES, PROMPT, TEXT
from truedraw.errors import BadParameter
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import is_one_of, shown

NOBODY = "none"
SCOPES = (NOBODY, TEXT, PROMPT, ALL)
CACHED_TEXTS = 10_000  # counted for texts that open later


class CountedTexts:
    """For a target of `vocab_size` tokens; settings as of NgramLMDrafter. Raises BadParameter and BadFile."""

    def __init__(
        self, vocab_size: int, *, order: int, path: str | Path | None, online: str, models: Models | None
    ) -> None:
        check(order, path, online)
        chosen = (shipped(models.tokenizer) if models else None) if path is None else path
        counts = counts_for(chosen, vocab_size, models) if chosen else None
        if counts is None and online == NOBODY:
            raise BadParameter("ngram_lm_online", f'"{NOBODY}" without ngram_lm_path leaves nothing to draft from')
        self.source = NgramSource(counts, order, vocab_size)
        self.is_counting = online != NOBODY
        self._scope = online
        self._shelf = self._new_shelf()

    def place(self, tokens: Sequence[int]) -> Place:
        """A text behind its prompt, which is counted with it."""
        return self.source.place(tokens, self._view(tokens))

    def written(self, place: Place, tokens: Sequence[int]) -> Place:
        """The place behind tokens that the text has got."""
        return self.source.written(place, tokens) if self.is_counting else self.source.behind(place, tokens)

    def _view(self, tokens: Sequence[int]) -> View:
        """Where the text begins among those that are counted."""
        if not self.is_counting:
            empty = SuffixAutomaton(self.source.order)
            return empty, empty.text()
        prompt = fingerprint(tokens)
        shelf = self._new_shelf() if self._scope == TEXT else self._shelf
        return shelf.open(EVERYONE if self._scope == ALL else prompt, prompt, tokens)

    def _new_shelf(self) -> Shelf:
        return Shelf(self.source.order, CACHED_TEXTS, CACHED_BYTES)


def check(order: object, path: object, online: object) -> None:
    """The settings; raises BadParameter."""
    Wholes(1, f"1 to {MOST_ORDER}", MOST_ORDER).check("ngram_lm_order", order)
    if not is_one_of(online, SCOPES):
        raise BadParameter("ngram_lm_online", f"got {shown(online)}; give one of: {', '.join(SCOPES)}")
    if not isinstance(path, str | Path | None):
        raise BadParameter("ngram_lm_path", f"got {shown(path)}; give a file that `truedraw ngrams build` wrote")
