"""Seeds that come again under rules whose texts depend on the drafts.

What other requests wrote, and what was learnt from them, drafts for later ones, and decides whether they draft at all.
If the same noise decided both, a draft would depend on the very numbers that judge it, and the text would have another
law. Without drafts, and under the coupled rule, no draft changes a text, so there a seed always names its own noise;
all others take noise that is theirs alone.
"""

from __future__ import annotations

from collections import Counter
from threading import Lock

from truedraw.generate.derived_seeds import derived_seed

MOST_KEPT = 1 << 16  # seeds whose uses are counted at a time


class Seeds:
    """Of one target's requests with such rules; any thread may ask."""

    def __init__(self) -> None:
        self._uses: Counter[int] = Counter()
        self._forgotten = 0  # times that all were forgotten: any seed may have been used before then
        self._lock = Lock()

    def next(self, seed: int) -> int:
        """The seed by which the next such request goes: itself the first time, another one each time after.

        None comes twice, also where somebody gives one that he was told.
        """
        with self._lock:
            if len(self._uses) >= MOST_KEPT:
                self._uses.clear()
                self._forgotten += 1
            found = self._again(seed)
            while found != seed and found in self._uses:
                found = self._again(seed)
            if found != seed:
                self._uses[found] += 1
            return found

    def _again(self, seed: int) -> int:
        names = self._forgotten, self._uses[seed]
        self._uses[seed] += 1
        return derived_seed(seed, "again", *names) if any(names) else seed


def judged_seed(seed: int) -> int:
    """Whose noise a request takes that goes by this seed and whose drafts change its text: that of no other kind."""
    return derived_seed(seed, "judged")
