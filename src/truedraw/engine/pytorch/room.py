"""Whether the memory for keys and values has room for a pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from truedraw.engine.pytorch.sequence import TorchSequence
from truedraw.errors import OutOfPages


@dataclass(frozen=True, slots=True)
class Room:
    """For the rows of all texts together; what forks share counts once, and what a pass takes meanwhile does not."""

    cache_bytes: int
    row_bytes: int  # 0: nothing is kept

    def fits(self, texts: Iterable[TorchSequence], wanted: Mapping[TorchSequence, int]) -> bool:
        """Whether `texts`, all that are open, have room after a pass in which some of them come to `wanted` rows."""
        return self._bytes(texts, wanted) <= self.cache_bytes

    def check(self, texts: Iterable[TorchSequence], wanted: Mapping[TorchSequence, int]) -> None:
        """Raises OutOfPages where they do not fit."""
        needed = self._bytes(texts, wanted)
        if needed > self.cache_bytes:
            raise OutOfPages(
                f"the cache has no room: keys and values of {needed // self.row_bytes} tokens are wanted and "
                f"{self.cache_bytes // self.row_bytes} fit; run fewer or shorter texts at once, or raise cache_bytes "
                f"from {self.cache_bytes} to at least {needed}"
            )

    def _bytes(self, texts: Iterable[TorchSequence], wanted: Mapping[TorchSequence, int]) -> int:
        others = {text.kept for text in texts if text.kept is not None and text not in wanted}
        return self.row_bytes * (sum(kept.rows for kept in others) + sum(wanted.values()))
