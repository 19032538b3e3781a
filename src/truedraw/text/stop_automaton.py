"""Many words looked for at once (Aho and Corasick, 1975): a character costs the same however many words there are."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from weakref import WeakValueDictionary

START = 0
CODE_BITS = 21  # of a character


class StopAutomaton:
    """A state is the longest beginning of a word that the text ends with; `depth` is how long that is."""

    def __init__(self, words: Sequence[str]) -> None:
        self._goes: dict[int, int] = {}  # state and character -> state
        self._else = array("q", [START])  # the longest shorter beginning that the text ends with, too
        self.depth = array("q", [0])
        self._length = array("q", [0])  # of the longest word that ends here
        for word in words:
            self._length[self._grown(word)] = len(word)
        self._connect()

    def step(self, state: int, character: str) -> int:
        """The state behind one more character."""
        code = ord(character)
        while (then := self._goes.get(state << CODE_BITS | code)) is None:
            if state == START:
                return START
            state = self._else[state]
        return then

    def word_length(self, state: int) -> int:
        """Of the longest word that is complete here, 0 for none."""
        return self._length[state]

    def _grown(self, word: str) -> int:
        state = START
        for character in word:
            key = state << CODE_BITS | ord(character)
            if key not in self._goes:
                self._goes[key] = len(self.depth)
                self.depth.append(self.depth[state] + 1)
                self._else.append(START)
                self._length.append(0)
            state = self._goes[key]
        return state

    def _connect(self) -> None:
        """Shorter states first: each is found by those before it."""
        edges = [(self.depth[state], key, state) for key, state in self._goes.items()]
        for depth, key, state in sorted(edges):
            before, character = key >> CODE_BITS, chr(key & (1 << CODE_BITS) - 1)
            shorter = START if depth == 1 else self.step(self._else[before], character)
            self._else[state] = shorter
            self._length[state] = self._length[state] or self._length[shorter]


_KEPT: WeakValueDictionary[tuple[str, ...], StopAutomaton] = WeakValueDictionary()


def stop_automaton(words: tuple[str, ...]) -> StopAutomaton:
    """The one of these words: samples of a request, and requests of a batch, mostly have the same, and share it as long
    as any of them is there."""
    found = _KEPT.get(words)
    if found is None:
        found = _KEPT.setdefault(words, StopAutomaton(words))
    return found
