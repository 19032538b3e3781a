"""How many rows of a text meet its keys and values together."""

from __future__ import annotations

from typing import NamedTuple

from truedraw.engine.native.chunks import CHUNK, are_shared

QUERIES = 18  # that meet a head's keys together, about: each is read once for all of them, and their scores stay near
ROWS = 4  # of a span, at least
MANY = 12  # queries, whose sums take a thread longer than their keys take to come
EVEN = 1.25  # the most that a thread may have to do, in shares of what all have in the mean


class Sharing(NamedTuple):
    """Heads of keys, the queries of a row that share one, and the threads that share all of them."""

    heads: int
    queries: int
    threads: int

    @property
    def most(self) -> int:
        """Rows of a span."""
        return max(ROWS, QUERIES // self.queries)

    def span(self, rows: int, longest: int) -> int:
        """Rows of a span of a text that is alone: fewer where all would be one, of which threads would have parts that
        are too different."""
        if rows > self.most or rows * self.queries < MANY or are_shared(self.heads, longest // CHUNK + 1, self.threads):
            return self.most
        return -(-rows // next(parts for parts in range(1, self.threads + 1) if self._is_even(self.heads * parts)))

    def _is_even(self, pieces: int) -> bool:
        return -(-pieces // self.threads) * self.threads <= EVEN * pieces
