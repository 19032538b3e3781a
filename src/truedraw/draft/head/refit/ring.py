"""Places of rounds that have ended, the last so many bytes of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.refit.correction import Reals
from truedraw.protocol import Logits

BYTES = 1 << 25  # 960 places of a head of 8,192 tokens; as many as the trials had that chose RATES
HALF = np.float16  # how a place is kept: ten bits of a logit are more than a step of learning can tell
FURTHEST = -6e4  # below the highest logit; what is further off, float16 does not hold


class Place(NamedTuple):
    """What both said at one place."""

    z: Reals  # [width] that the head's cell shows there
    drafted: Logits  # [known] the head's logits, without a correction
    said: Logits  # [known] the target's
    temperature: float  # of its law
    weight: float  # of how many places it is one


class Places(NamedTuple):
    """Several of them, all float32."""

    z: Reals  # [n, width]
    drafted: Logits  # [n, known]
    said: Logits  # [n, known]
    temperature: Reals  # [n, 1]
    weight: Reals  # [n, 1]


class Ring:
    """Holds at most `size_bytes` of places, at least one; a further one takes the place of the oldest."""

    def __init__(self, width: int, known: int, size_bytes: int = BYTES) -> None:
        each = (width + 2 * known) * np.dtype(HALF).itemsize + 2 * np.dtype(np.float32).itemsize
        self.room = max(1, size_bytes // each)
        self.count = 0  # of all places that ever came
        self._halves: tuple[NDArray[np.float16], ...] = tuple(
            np.empty((self.room, size), HALF) for size in (width, known, known)
        )
        self._numbers = np.empty((self.room, 2), np.float32)

    def __len__(self) -> int:
        return min(self.count, self.room)

    @property
    def size_bytes(self) -> int:
        """That are taken once it is full."""
        return sum(part.nbytes for part in self._halves) + self._numbers.nbytes

    def put(self, place: Place) -> None:
        """Keep a place; one with something in it that is no number, or none for float16, is left out."""
        halves = (normal(place.z), shifted(place.drafted), shifted(place.said))
        if not all(np.isfinite(part).all() for part in halves):
            return
        slot = self.count % self.room
        for held, part in zip(self._halves, halves, strict=True):
            held[slot] = part
        self._numbers[slot] = place.temperature, place.weight
        self.count += 1

    def newest(self, count: int) -> list[int]:
        """The slots of the last so many places."""
        return [number % self.room for number in range(self.count - min(count, len(self)), self.count)]

    def at(self, slots: list[int]) -> Places:
        """What they hold."""
        z, drafted, said = (held[slots].astype(np.float32) for held in self._halves)
        return Places(z, drafted, said, *self._numbers[slots].T[:, :, None])


def shifted(logits: Logits) -> Logits:
    """With a highest logit of 0, as no softmax minds; what has no chance stays a number. NaN where it is none."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.maximum(logits - logits.max(), FURTHEST))


def normal(z: Reals) -> Reals:
    """With a largest number of at most 1: a correction reads n(z), which is the same."""
    return z / max(float(np.abs(z).max(initial=0.0)), 1.0)
