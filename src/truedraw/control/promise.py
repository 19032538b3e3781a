"""What drafts are worth that nobody has made yet, and what making them takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from truedraw.control.experience import Record


class Promise(NamedTuple):
    """Of one source: the first n tokens bring sum(gains[:n]) and take seconds[n - 1]."""

    gains: Sequence[float]
    depths: Sequence[int]  # level of each token, () where they are a chain
    seconds: Sequence[float]

    @classmethod
    def of(cls, record: Record, worths: Sequence[tuple[float, int]] | None, texts: int = 1) -> Promise:
        """By what the drafter says of its trees, or by acceptance at each position of its chains; of one of so many
        texts, that draft together or not at all."""
        part = record.pace.part(texts)
        if worths is None:
            gains = record.acceptance.gains().tolist()
            return cls(gains, (), [part * record.pace.chain(n) for n in range(1, len(gains) + 1)])
        depths = list(accumulate((depth for _, depth in worths), max))
        return cls([gain for gain, _ in worths], depths, [part * each for each in record.pace.trees(depths)])

    def gain(self, tokens: int) -> float:
        """Of the first so many."""
        return sum(self.gains[:tokens])

    def price(self, tokens: int) -> float:
        """Seconds that the first so many take."""
        return self.seconds[min(tokens, len(self.seconds)) - 1] if len(self.seconds) and tokens else 0.0

    def levels(self, tokens: int) -> int:
        """Of a tree of so many tokens; 0 for a chain."""
        return self.depths[min(tokens, len(self.depths)) - 1] if self.depths and tokens else 0

    def net(self, rate: float) -> list[float]:
        """Tokens that each is worth less its price, at `rate` tokens a second; falls, and ends where it is not above 0.

        A token that begins a level is dear and those beside it are cheap: what is worth taking together has one price.
        """
        total = [gain - rate * took for gain, took in zip(accumulate(self.gains), self.seconds, strict=True)]
        slopes: list[tuple[float, int]] = []  # of the least concave curve above the totals, and tokens of each part
        for n, value in enumerate(total):
            slope, tokens = value - (total[n - 1] if n else 0.0), 1
            while slopes and slopes[-1][0] <= slope:
                above, more = slopes.pop()
                slope, tokens = (slope * tokens + above * more) / (tokens + more), tokens + more
            slopes.append((slope, tokens))
        return [slope for slope, tokens in slopes for _ in range(tokens) if slope > 0.0]
