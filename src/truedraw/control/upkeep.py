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
        self._heard: dict[int, Average] = {}  # of plain rounds to which drafters listened
        self._drafting: dict[int, Slope] = {}

    def add(self, texts: int, drafts: int, seconds: float, rounds: int = 1, *, heard: bool = False) -> None:
        """Rounds of so many texts each, with so many draft rows; `seconds` of one. Plain ones may have been heard."""
        kind, each = step(texts), max(0.0, seconds) / texts
        if drafts:
            self._drafting.setdefault(kind, Slope(SHARE)).add(further(texts, drafts), each, rounds)
        else:
            plain = self._heard if heard else self._plain
            plain[kind] = warmed(plain.get(kind, Average()), each, rounds)

    def knows(self, texts: int, drafts: int, *, heard: bool = False) -> bool:
        """Whether enough rounds of such a kind were seen to say what one takes."""
        plain = self._heard if heard else self._plain
        found = (self._drafting if drafts else plain).get(step(texts))
        return found is not None and found.count >= FIRST

    def fade(self, share: float) -> None:
        """What was measured with drafts counts for so much of what it did: it was long ago."""
        for each in self._drafting.values():
            each.fade(share)

    def seconds(self, texts: int, drafts: int) -> float:
        """Of a round; 0 where hardly any with so many texts was seen. Plain sampling is what is done while nobody
        listens, where such rounds were seen."""
        kind = step(texts)
        plain, drafting = self._plainly(texts), self._drafting.get(kind)
        if drafting is not None and drafting.count >= FIRST and (drafts or plain is None):
            return texts * drafting.at(further(texts, drafts))
        return texts * plain.value if plain is not None else 0.0

    def _plainly(self, texts: int) -> Average | None:
        heard = not self.knows(texts, 0)
        return (self._heard if heard else self._plain)[step(texts)] if self.knows(texts, 0, heard=heard) else None


def further(texts: int, drafts: int) -> float:
    """Drafts of each text beside its first."""
    return max(0.0, drafts / texts - 1.0)
