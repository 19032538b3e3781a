"""A sample's way through the cache of logits: rows that are known need no pass, rows that were computed are offered.

A row belongs to a text, not to how it is sampled, and comes back bit for bit, so a text is the same with the cache and
without it. What few others will pass is neither offered nor asked for: a sample reaches a place with the product of
the probabilities of its tokens since the prompt, and once that is small the trail ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from truedraw.engine.logits_cache import LogitsCache
from truedraw.protocol import Logits, Scores

LEAST_REACH = log(1 / 256)  # storing and looking up must cost less than the share of a pass that it saves


class Trail:
    """Where one sample stands; `cold` once it has left the ways that others take."""

    def __init__(self, cache: LogitsCache, prompt: Sequence[int]) -> None:
        self._cache = cache
        self._place = cache.enter(prompt)
        self._reach = 0.0  # natural log

    @property
    def cold(self) -> bool:
        """Whether nothing is to be found or left here any more."""
        return self._reach < LEAST_REACH

    def scores(self) -> Scores | None:
        """What the target says here, if it is known."""
        row = self._cache.logits(self._place)
        return None if row is None else Scores(row[None])

    def follow(self, tokens: Sequence[int], rows: Sequence[Logits] | None, logprobs: Sequence[float]) -> None:
        """Go on by `tokens` of these log probabilities; the rows they were drawn from are kept, if any are given."""
        for number, (token, logprob) in enumerate(zip(tokens, logprobs, strict=True)):
            if self.cold:
                return
            if rows is not None:
                self._cache.store(self._place, rows[number], exp(self._reach))
            self._place = self._cache.step(self._place, token)
            self._reach += logprob
