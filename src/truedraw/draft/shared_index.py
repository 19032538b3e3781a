"""Suffix automata that several texts share, and how much of them is kept.

The samples of a prompt write into one automaton and read from it what any of them wrote; the prompt is in it once.
What a text finds there depends on the others, so it may serve as certain drafts only (never with q: a sibling's token
was not drawn for this text, and a q for it makes copies of the samples).

Nothing can be taken out of an automaton, so old texts go with theirs: one that is full, by texts or by bytes, is
replaced by an empty one when the next text opens, and the one that was longest without a new text goes first. A text
that is still being written keeps the automaton it began with; so memory beyond the bound is that of running texts, at
about 80 bytes a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from truedraw.draft.automaton import Cursor, SuffixAutomaton
from truedraw.protocol import Floats, Ints

View = tuple[SuffixAutomaton, Cursor]
"""An automaton, and where a text stands in it."""


class Source(Protocol):
    """Known texts that a draft may come from; SuffixAutomaton is one. A cursor is a text's place in it."""

    def write(self, cursor: Any, tokens: Sequence[int]) -> None:
        """Go on behind these tokens."""
        ...

    def behind(self, cursor: Any, tokens: Sequence[int]) -> Any:
        """A cursor to read from, behind tokens that are not entered."""
        ...

    def match(self, cursor: Any) -> int:
        """Tokens of the longest suffix that something followed."""
        ...

    def draft(self, cursor: Any, budget: int, floor: float, is_tree: bool) -> tuple[Ints, Ints, Floats]:
        """(tokens [n], parents [n], estimated chances [n]) of what followed it."""
        ...


class Shelf:
    """The automata in use, by name; at most `max_texts` texts and about `max_bytes` bytes are kept for later texts."""

    def __init__(self, depth: int, max_texts: int, max_bytes: int) -> None:
        self._depth, self._max_texts, self._max_bytes = depth, max_texts, max_bytes
        self._kept: dict[bytes, _Shared] = {}  # the one that a text opened in last stands last

    @property
    def num_bytes(self) -> int:
        """Of all that is kept."""
        return sum(shared.automaton.num_bytes for shared in self._kept.values())

    @property
    def num_texts(self) -> int:
        """Opened so far in what is kept."""
        return sum(shared.num_texts for shared in self._kept.values())

    def open(self, name: bytes, prompt: bytes, tokens: Sequence[int]) -> View:
        """A text that begins with `tokens`, whose fingerprint is `prompt`, in the automaton of this name."""
        shared = self._kept.pop(name, None)
        if shared is None or shared.num_texts >= self._max_texts or shared.grown_bytes >= self._max_bytes:
            shared = _Shared(self._depth)
        self._kept[name] = shared
        view = shared.open(prompt, tokens)
        while len(self._kept) > 1 and (self.num_texts > self._max_texts or self.num_bytes > self._max_bytes):
            del self._kept[next(iter(self._kept))]
        return view


class _Shared:
    """One automaton and the prompts in it."""

    def __init__(self, depth: int) -> None:
        self.automaton = SuffixAutomaton(depth)
        self.num_texts = 0
        self._ends: dict[bytes, Cursor] = {}
        self._first_bytes = 0

    @property
    def grown_bytes(self) -> int:
        """Since the first prompt was entered: a long prompt alone makes an automaton large, but not full."""
        return self.automaton.num_bytes - self._first_bytes

    def open(self, prompt: bytes, tokens: Sequence[int]) -> View:
        """A text behind a prompt, which is entered once however many texts follow it."""
        if prompt not in self._ends:
            self._ends[prompt] = self.automaton.text()
            self.automaton.write(self._ends[prompt], tokens)
            self._first_bytes = self._first_bytes or self.automaton.num_bytes
        self.num_texts += 1
        return self.automaton, self.automaton.copy(self._ends[prompt])


def fingerprint(tokens: Sequence[int]) -> bytes:
    """16 bytes that tell one prompt from another."""
    return blake2b(np.asarray(tokens, np.int64).tobytes(), digest_size=16).digest()
