"""What definitions.py is made of: numbers of a whole vocabulary, as plain lists."""

from __future__ import annotations

import math
from collections.abc import Sequence

IMPOSSIBLE = -math.inf


def softmax(z: Sequence[float]) -> list[float]:
    """Of logits, some of which may be IMPOSSIBLE."""
    top = max(z)
    weights = [math.exp(x - top) for x in z]
    total = math.fsum(weights)
    return [w / total for w in weights]


def entropy(p: Sequence[float]) -> float:
    """In nats."""
    return -math.fsum(w * math.log(w) for w in p if w)


def ranked(z: Sequence[float]) -> list[int]:
    """Possible tokens, the likeliest first, equal ones by id."""
    p = softmax(z)
    return sorted((i for i, w in enumerate(p) if w), key=lambda i: (-p[i], i))


def until(p: Sequence[float], order: Sequence[int], mass: float) -> list[int]:
    """Tokens in this order, until their mass is reached."""
    kept: list[int] = []
    total = 0.0
    for i in order:
        kept.append(i)
        total += p[i]
        if total >= mass:
            break
    return kept


def only(z: Sequence[float], kept: Sequence[int]) -> list[float]:
    """The rest is IMPOSSIBLE."""
    left = {*kept}
    return [x if i in left else IMPOSSIBLE for i, x in enumerate(z)]
