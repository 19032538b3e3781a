"""Seeds that come again under rules whose texts depend on the drafts.

What earlier requests wrote, and what was learnt from them, drafts for later ones. If the same noise decided both, a
draft would depend on the very numbers that judge it, and the text would have another law. Under the coupled rule no
draft changes a text, so there a seed always names the same noise.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from threading import Lock

from truedraw.sampling.randomness import SEED_BITS


class Seeds:
    """Of one target's requests with such rules; any thread may ask."""

    def __init__(self) -> None:
        self._uses: Counter[int] = Counter()
        self._lock = Lock()

    def next(self, seed: int) -> int:
        """The seed whose noise the next such request takes: itself the first time, another one each time after."""
        with self._lock:
            uses = self._uses[seed]
            self._uses[seed] += 1
        return another(seed, uses) if uses else seed


def another(seed: int, uses: int) -> int:
    """A seed that nobody else is likely to name."""
    return int.from_bytes(blake2b(f"{seed} {uses}".encode(), digest_size=SEED_BITS // 8).digest(), "little")
