"""The n-grams of lookahead decoding, by their first token, the latest first."""

from __future__ import annotations

from collections.abc import Sequence

Gram = tuple[int, ...]

MOST_BEHIND = 16  # n-grams of one first token: more than a round verifies, and a comma cannot fill the pool


class NgramPool:
    """At most `most` n-grams of `length` tokens; the oldest of the first token that was longest without a new one goes.

    Memory is 100 to 400 bytes an n-gram.
    """

    def __init__(self, length: int, most: int) -> None:
        self.length, self._most, self._num = length, most, 0
        self._behind: dict[int, dict[Gram, None]] = {}  # the first token that got one last, and its latest, stand last

    def __len__(self) -> int:
        return self._num

    def add(self, gram: Gram) -> None:
        """As the latest, also one that is there already."""
        behind = self._behind.pop(gram[0], {})
        self._num -= len(behind)
        behind.pop(gram[1:], None)
        behind[gram[1:]] = None
        if len(behind) > MOST_BEHIND:
            del behind[next(iter(behind))]
        self._behind[gram[0]] = behind
        self._num += len(behind)
        if self._num > self._most:
            self._forget()

    def read(self, text: Sequence[int]) -> None:
        """Every n-gram of a text."""
        for start in range(len(text) - self.length + 1):
            self.add(tuple(text[start : start + self.length]))

    def behind(self, token: int) -> list[Gram]:
        """What followed a token, length - 1 tokens each, the latest first."""
        return list(reversed(self._behind.get(token, ())))

    def copy(self) -> NgramPool:
        """Another one that knows the same."""
        twin = NgramPool(self.length, self._most)
        twin._num, twin._behind = self._num, {first: dict(behind) for first, behind in self._behind.items()}
        return twin

    def _forget(self) -> None:
        first, behind = next(iter(self._behind.items()))
        del behind[next(iter(behind))]
        if not behind:
            del self._behind[first]
        self._num -= 1
