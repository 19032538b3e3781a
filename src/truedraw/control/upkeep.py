"""What a round takes beside its pass, its drafters and what is decided: laws, verification and everybody's notes."""

from __future__ import annotations

from truedraw.control.average import FIRST, Average, warmed
from truedraw.control.slope import Slope
from truedraw.control.table import step

SHARE = 0.1  # of what a text's first draft takes here, each further one: before it was seen


class Upkeep:
    """Seconds a text, by the number of texts: without drafts, and with so many; where a pass takes milliseconds, each
    further draft of a text takes a few hundredths of it here."""

    def __init__(self) -> None:
        self._plain: dict[int, Average] = {}
        self._drafting: dict[int, Slope] = {}

    def add(self, texts: int, drafts: int, seconds: float, rounds: int = 1) -> None:
        """Rounds of so many texts each, with so many draft rows; `seconds` of one."""
        kind, each = step(texts), max(0.0, seconds) / texts
        if drafts:
            self._drafting.setdefault(kind, Slope(SHARE)).add(further(texts, drafts), each, rounds)
        else:
            self._plain[kind] = warmed(self._plain.get(kind, Average()), each, rounds)

    def knows(self, texts: int, drafts: int) -> bool:
        """Whether enough rounds of such a kind were seen to say what one takes."""
        found = (self._drafting if drafts else self._plain).get(step(texts))
        return found is not None and found.count >= FIRST

    def fade(self, share: float) -> None:
        """What was measured with drafts counts for so much of what it did: it was long ago."""
        for each in self._drafting.values():
            each.fade(share)

    def seconds(self, texts: int, drafts: int) -> float:
        """Of a round; 0 where hardly any with so many texts was seen."""
        kind = step(texts)
        plain, drafting = self._plain.get(kind), self._drafting.get(kind)
        plain_known = plain is not None and plain.count >= FIRST
        if drafting is not None and drafting.count >= FIRST and (drafts or not plain_known):
            return texts * drafting.at(further(texts, drafts))
        return texts * plain.value if plain is not None and plain_known else 0.0


def further(texts: int, drafts: int) -> float:
    """Drafts of each text beside its first."""
    return max(0.0, drafts / texts - 1.0)
