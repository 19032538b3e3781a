"""What is done to single logits of a row before anything else, as data: bias, penalties and bans.

A step says here which tokens it changes, and compiled code, kernels/edit.py, changes them: of one step alone or of all
together. So a step has one meaning whether a law is computed step by step or in one piece, and names no more tokens
than it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Floats, Ints

Bits = NDArray[np.uint8]
"""[bytes], read-only: one bit a token, lowest first; those beyond are 0."""

NO_IDS: Ints = np.empty(0, np.int64)
NO_NUMBERS: Floats = np.empty(0)

Seen = tuple[Ints, Ints, Ints]
"""The tokens of a text: ids [n] of those in its older part, each once; how often all do so [vocab]; the rest [m]."""

NOTHING_SEEN: Seen = (NO_IDS, NO_IDS, NO_IDS)


def fixed_bits(bits: Bits) -> Bits:
    """The same, read-only: compiled code takes the two for different types, and is compiled for one."""
    bits.flags.writeable = False
    return bits


EVERYTHING = fixed_bits(np.empty(0, np.uint8))
"""No bits at all: every token is allowed."""
NOTHING = fixed_bits(np.zeros(1, np.uint8))


class Edits(NamedTuple):
    """Changes of logits z, in this order; a token that is not named stays as it is.

    Token biased[k] has bias[k] added. One in `text` has z / repetition where z > 0 and z repetition elsewhere. One that
    stands c > 0 times in `output` loses frequency c + presence. One banned, or not allowed, is impossible.
    """

    biased: Ints = NO_IDS  # [n] each once
    bias: Floats = NO_NUMBERS  # [n]
    text: Seen = NOTHING_SEEN
    repetition: float = 1.0
    output: Seen = NOTHING_SEEN
    frequency: float = 0.0
    presence: float = 0.0
    banned: Ints = NO_IDS  # some perhaps several times
    allowed: Bits = EVERYTHING

    def banning(self, ids: Ints) -> Edits:
        """With further bans."""
        return self._replace(banned=np.concatenate((self.banned, ids)) if self.banned.size else ids)

    def allowing(self, bits: Bits) -> Edits:
        """With all others banned as well."""
        if self.allowed.size:
            both = min(self.allowed.size, bits.size)
            bits = fixed_bits(self.allowed[:both] & bits[:both])
        return self._replace(allowed=bits)


UNEDITED = Edits()
