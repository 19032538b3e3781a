"""What a round takes beside its pass and its drafters: laws, verification and everybody's notes."""

from __future__ import annotations

from truedraw.control.average import FIRST, Average, warmed
from truedraw.control.table import step

NOTHING = Average()


class Upkeep:
    """Seconds a text, by the number of texts, with drafts and without: how many drafts there are matters less."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, bool], Average] = {}

    def add(self, texts: int, drafts: int, seconds: float) -> None:
        """One round of so many texts, with so many draft rows."""
        kind = step(texts), drafts > 0
        self._texts[kind] = warmed(self._texts.get(kind, Average()), max(0.0, seconds) / texts)

    def seconds(self, texts: int, drafts: int) -> float:
        """Of a round; 0 where hardly any with so many texts was seen."""
        same, other = (self._texts.get((step(texts), with_drafts), NOTHING) for with_drafts in (drafts > 0, not drafts))
        found = same if same.count >= FIRST else other
        return texts * found.value if found.count >= FIRST else 0.0
