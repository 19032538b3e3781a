"""How the rows of one pass are shared out: texts that are being written first, then what has to be computed for others.

Prompts, and texts that gave up their pages, are computed in chunks beside the texts that are being written, the oldest
first, so that a long one holds nobody up for long and is itself held up by nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from truedraw.generate.sample import Sample, Turn
from truedraw.protocol import Fill
from truedraw.protocol import Sequence as Text
from truedraw.sampling.ranges import Wholes

NEAR = 8  # rows of text that ride along in any pass: they cost next to nothing
LOGITS_CACHE_BYTES = 64 << 20  # of a batch: more than 300 rows of a vocabulary of 50 thousand, whatever their form


class Limits(NamedTuple):
    """Of one scheduler."""

    max_running: int = 64  # samples; 64 rows run fifteen times as many tokens a second as one
    max_rows: int = 256  # of text to compute where nothing is being written: more would not be faster a token
    fill_rows: int = 64  # beside texts that are being written: their passes take about twice as long, not ten times


LIMITS = Limits()


def limits(max_running: int, max_rows: int, fill_rows: int) -> Limits:
    """Raises BadParameter naming one that is not a whole number above 0."""
    found = Limits(max_running, max_rows, fill_rows)
    for name, value in found._asdict().items():
        Wholes(1, "1 or more").check(name, value)
    return found


def check_bytes(name: str, value: object) -> None:
    """Raises BadParameter for what is no amount of memory."""
    Wholes(0, "bytes, 0 for none").check(name, value)


def plan(samples: Sequence[Sample], prompts: Sequence[Text], limits: Limits) -> Turn:
    """The pass for these samples and for prompts that others wait for, both the oldest first."""
    writing = [sample for sample in samples if sample.sequence.num_uncached <= NEAR]
    shares = Shares(limits.fill_rows if writing else limits.max_rows)
    turn = Turn(writing)
    for sample in samples if len(writing) < len(samples) else ():
        uncached = sample.sequence.num_uncached
        if uncached <= NEAR:
            continue
        count = shares.take(uncached)
        if count == uncached:
            turn.samples.append(sample)
        elif count:
            turn.fills.append(Fill(sample.sequence, count))
    for text in prompts:
        if count := shares.take(text.num_uncached - 1):
            turn.fills.append(Fill(text, count))
    return turn


class Shares:
    """Rows that are left in a pass."""

    def __init__(self, rows: int) -> None:
        self._left = rows

    def take(self, wanted: int) -> int:
        """As many of the rows as there are."""
        count = min(wanted, self._left)
        self._left -= count
        return count
