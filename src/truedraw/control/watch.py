"""Who is asked where nothing is drafted: of many texts a few, in turns, who stand for all.

What makes drafts pay is mostly common to the texts of a batch. So it is seen a little later, at a fraction of what it
takes that everybody listens and is asked. What a few are offered is too little to decide by: where it would pay, if all
were offered the same, all are asked in the next round, and those offers count.
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
        self._unable: Set[int] = frozenset()  # texts that nobody can draft for, when all were asked last
        self.is_alarmed = False

    def among(self, samples: Sequence[int], gain: float, looked: int | None) -> Collection[int]:
        """Those who are asked next.

        gain: of drafting, in speeds of plain sampling; looked: a text at which a look goes on, and which stays.
        """
        able = [sample for sample in samples if sample not in self._unable]
        if len(able) <= WATCHED or gain >= FAR or self.is_alarmed:
            return samples
        few = {able[(self._turn + each) % len(able)] for each in range(WATCHED)}
        return few if looked is None else few | {looked}

    def share(self, askers: Sequence[Asker], present: Set[int]) -> float:
        """What those who are asked in this round are of all who can draft; others have their turn in the next one."""
        self._turn += WATCHED
        self.is_alarmed = False
        if len(askers) >= len(present):
            self._unable = {asker.sample for asker in askers if not (asker.room and asker.sources)}
            return 1.0
        return min(1.0, len(askers) / max(1, len(present - self._unable)))
