"""How the rows of one pass are shared out: texts that are being written first, then what has to be computed for others.

Prompts, and texts that gave up their pages, are computed in chunks beside the texts that are being written, so that a
long one holds nobody up for long. Half of the rows go by age, so that none waits for ever, and half to the shortest
rest, so that a short prompt need not wait until a long one is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from truedraw.generate.sample import Sample, Turn
from truedraw.protocol import Fill
from truedraw.protocol import Sequence as Text
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import plain_number

MOST = 1 << 20  # samples, or rows of a pass
NEAR = 8  # rows of text that ride along in any pass: they cost next to nothing
LOGITS_CACHE_BYTES = 64 << 20  # of a batch: more than 300 rows of a vocabulary of 50 thousand, whatever their form


class Limits(NamedTuple):
    """Of one scheduler."""

    max_running: int = 64  # samples; 64 rows run fifteen times as many tokens a second as one
    max_rows: int = 256  # of text to compute where nothing is being written: more would not be faster a token
    fill_rows: int = 64  # beside texts that are being written: their passes take about twice as long, not ten times


LIMITS = Limits()


def limits(max_running: int, max_rows: int, fill_rows: int) -> Limits:
    """Raises BadParameter naming one that is not a whole number above 0, or beyond what any machine holds."""
    found = Limits(*map(plain_number, (max_running, max_rows, fill_rows)))
    for name, value in found._asdict().items():
        Wholes(1, f"1 to {MOST}", MOST).check(name, value)
    return found


def check_bytes(name: str, value: object) -> None:
    """Raises BadParameter for what is no amount of memory."""
    Wholes(0, "bytes, 0 for none").check(name, value)


class Pending(NamedTuple):
    """A text that is not computed yet."""

    number: int  # its place in the order of arrival
    text: Text
    rows: int  # to be computed before, or while, the first token is drawn
    sample: Sample | None  # whose text it is; None: a prompt that samples wait for


def plan(samples: Sequence[Sample], prompts: Sequence[tuple[int, Text]], limits: Limits) -> Turn:
    """The pass for these samples, and for prompts that others wait for, with their places in the order of arrival."""
    turn = Turn([sample for sample in samples if sample.sequence.num_uncached <= NEAR])
    pending = [Pending(number, text, rows, None) for number, text in prompts if (rows := text.num_uncached - 1)]
    if len(turn.samples) == len(samples) and not pending:
        return turn
    if len(turn.samples) < len(samples):
        pending += [Pending(sample.number, sample.sequence, rows, sample) for sample in samples
                    if (rows := sample.sequence.num_uncached) > NEAR]  # fmt: skip
    pending.sort(key=lambda each: each.number)
    given = shares([each.rows for each in pending], limits.fill_rows if turn.samples else limits.max_rows)
    for each, count in zip(pending, given, strict=True):
        if each.sample is not None and count == each.rows:
            turn.samples.append(each.sample)
        elif count:
            turn.fills.append(Fill(each.text, count))
    return turn


def shares(wanted: Sequence[int], rows: int) -> list[int]:
    """Of so many rows those that each gets, the oldest first: half go by age, what is left to who needs the fewest."""
    given = [0] * len(wanted)
    by_age = range(len(wanted))

    def hand_out(order: Iterable[int], count: int) -> int:
        for index in order:
            more = min(wanted[index] - given[index], count)
            given[index] += more
            count -= more
        return count

    left = hand_out(by_age, rows - rows // 2)
    hand_out(sorted(by_age, key=lambda index: wanted[index] - given[index]), rows // 2 + left)
    return given
