"""Seeds that follow from another one: by the names of what they are for, or by counting on."""

from __future__ import annotations

from hashlib import sha256

from truedraw.sampling.randomness import SEED_BITS, check_seed


def derived_seed(seed: int, *names: int | str) -> int:
    """The first 8 bytes, most significant first, of the SHA-256 of the UTF-8 text "seed:name:name...".

    A line of a batch is named by its number, from 1: derived_seed(7, 3) is that of the text "7:3". A sample of a sweep
    is named by its prompt's number, its point and its own number. Raises BadParameter for a seed out of range.
    """
    check_seed(seed)
    text = ":".join(str(part) for part in (seed, *names))
    return int.from_bytes(sha256(text.encode()).digest()[: SEED_BITS // 8], "big")


def seed_after(seed: int, away: int) -> int:
    """The one so far away; behind the last one comes 0. Raises BadParameter for a seed out of range."""
    check_seed(seed)
    return (seed + away) % (1 << SEED_BITS)
