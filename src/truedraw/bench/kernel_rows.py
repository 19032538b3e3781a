"""Made-up rows for the kernel benchmark: logits shaped like a language model's, and pairs of laws that differ a little.

Every timed call gets rows that were not touched lately: there are more than fit a processor's cache, so that everyone
reads them from memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Floats, Ints, Logits

SPREAD = 3.4  # standard deviation of a small model's logits over its vocabulary
PEAKS, RISE = 40, 9.0  # tokens that the context speaks for, and how far they stand out at most
EDITS = 200  # tokens a row whose logits are biased, and as many that stand in its text
LEAST_VOCAB = 256  # more than EDITS; and the smaller the rows, the more there are
DISTANCE = 0.5  # standard deviation of a draft's logits around the target's


@dataclass(frozen=True, slots=True)
class Rows:
    """Batches of rows, and what is done to them."""

    logits: list[Logits]  # [rows, vocab] each
    uniforms: Floats  # [rows], the chance of those who draw by inverse distribution function
    ids: Ints  # [rows, EDITS]
    addends: Floats  # [rows, EDITS]
    seen: Ints  # [rows, EDITS]

    def at(self, call: int) -> Logits:
        """The batch of a call."""
        return self.logits[call % len(self.logits)]


def made_up_rows(rows: int, vocab_size: int, total_bytes: int) -> Rows:
    """Batches of `rows` rows that take up total_bytes or a little more, at least two."""
    rng = np.random.default_rng(0)
    batch_bytes = rows * vocab_size * np.dtype(np.float32).itemsize
    batches = [_batch(rng, rows, vocab_size) for _ in range(max(2, -(-total_bytes // batch_bytes)))]
    ids, seen = (np.array([rng.choice(vocab_size, EDITS, replace=False) for _ in range(rows)]) for _ in range(2))
    return Rows(batches, rng.random(rows), ids, rng.normal(0, 1, (rows, EDITS)), seen)


def laws(logits: Logits, seed: int = 0) -> tuple[Floats, Floats, Ints]:
    """p and q [rows, vocab], q around p, and a token [rows] drawn from each q."""
    rng = np.random.default_rng(seed)
    near = logits + rng.normal(0, DISTANCE, logits.shape)
    p, q = (np.exp(z - z.max(axis=1, keepdims=True), dtype=np.float64) for z in (logits, near))
    p, q = (weights / weights.sum(axis=1, keepdims=True) for weights in (p, q))
    tokens = (q.cumsum(axis=1) < rng.random((len(q), 1))).sum(axis=1)
    return p, q, np.minimum(tokens, logits.shape[1] - 1)


def _batch(rng: np.random.Generator, rows: int, vocab_size: int) -> Logits:
    logits = rng.standard_normal((rows, vocab_size), dtype=np.float32) * np.float32(SPREAD)
    for row in logits:
        row[rng.choice(vocab_size, PEAKS)] += rng.uniform(0, RISE, PEAKS).astype(np.float32)
    return logits
