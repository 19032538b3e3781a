"""Who is asked where nothing is drafted: of many texts a few, in turns, who stand for all.

What makes drafts pay is mostly common to the texts of a batch. So it is seen a little later, at a fraction of what it
takes that everybody listens and is asked. What a few are offered is too little to decide by: where it would pay, if all
were offered the same, all listen to the next round and are asked in the one behind it, and those offers count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from truedraw.protocol import Asker

WATCHED = 4  # texts that stand for all
FAR = 0.92  # as fast as plain sampling drafts may be thought to be at best, or everybody is asked


class Watch:
    """Whose turn it is. `is_alarmed`: what a few were offered last would pay."""

    def __init__(self) -> None:
        self._turn = 0
        self._unable: set[int] = set()  # texts that nobody could draft for when they were asked last
        self.is_alarmed = False

    def among(self, samples: Sequence[int], gain: float, looked: int | None) -> Collection[int]:
        """Those who are asked next, and one of those who could not draft: that may have changed.

        gain: of drafting, in speeds of plain sampling; looked: a text at which a look goes on, and which stays.
        """
        unable = [sample for sample in samples if sample in self._unable]
        if len(samples) - len(unable) <= WATCHED or gain >= FAR or self.is_alarmed:
            return samples
        able = [sample for sample in samples if sample not in self._unable]
        few = {able[(self._turn * WATCHED + each) % len(able)] for each in range(WATCHED)}
        more = [unable[self._turn % len(unable)]] if unable else []
        return few.union(more, () if looked is None else (looked,))

    def share(self, askers: Sequence[Asker], present: Set[int]) -> float:
        """What those who are asked in this round are of all who can draft."""
        self.is_alarmed = False
        self._unable &= present
        for asker in askers:
            (self._unable.discard if asker.room and asker.sources else self._unable.add)(asker.sample)
        if len(askers) >= len(present):
            return 1.0
        able = sum(asker.sample not in self._unable for asker in askers)
        return min(1.0, max(1, able) / max(1, len(present - self._unable)))

    def pass_on(self) -> None:
        """The next ones' turn."""
        self._turn += 1
