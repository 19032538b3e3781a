"""The kernels over many rows at once, and on several threads where that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import compiled
from truedraw.errors import EngineError
from truedraw.protocol import Floats, Ints, Logits, Purpose
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.kernels.clocks import chance_of
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.draw import Edits, draw_edited, draw_row, law_row
from truedraw.sampling.kernels.judge import judge_row
from truedraw.sampling.philox import Words
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform

MIN_ROWS = 8  # of a thread: for fewer, waking it costs about as much as it saves


class Names(NamedTuple):
    """The names of the draws of some rows."""

    counters: Words  # [rows, 4]
    keys: Words  # [rows, 2]


class RowEdits(NamedTuple):
    """Edits of many rows; those of row r stand from offsets[r] to offsets[r + 1]. No offsets: nothing is edited."""

    offsets: Ints  # [rows + 1] or [0]
    edits: Edits


Memory = tuple[Floats, Floats, Ints]
"""A Scratch as a plain tuple."""

UNEDITED = RowEdits(np.empty(0, np.int64), Edits(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0)))


def memory(vocab_size: int) -> Memory:
    """Of one thread."""
    return np.empty(vocab_size), np.empty(vocab_size), np.empty(vocab_size, np.int64)


def names(randomness: Sequence[PhiloxRandomness], purpose: Purpose, positions: Sequence[int]) -> Names:
    """Those under which the samples' own randomness would draw, one sample and one position a row, node 0."""
    counters = [one.counter(purpose, place, 0) for one, place in zip(randomness, positions, strict=True)]
    return Names(np.array(counters), np.array([one.key for one in randomness]))


class RowKernels:
    """Draws and judges rows of one vocabulary, with memory of its own; so it serves one caller at a time.

    A row's result is the same alone, in any batch, and on any number of threads. Close it, or use it in a `with` block.
    """

    def __init__(self, vocab_size: int, threads: int = 1) -> None:
        self._scratch = [memory(vocab_size) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def draw(
        self, logits: Logits, how: Transform, named: Names, edits: RowEdits | None = None, logprobs: bool = False
    ) -> tuple[Ints, Floats]:
        """Tokens [rows] drawn from logits [rows, vocab], and logs [rows, 2]: of their probabilities, and before `how`.

        The draws are those that PhiloxRandomness.choose makes under these names; the logs may be NaN if not asked for.
        Raises EngineError where a row has no law: NaN, or nothing possible.
        """
        changes = UNEDITED if edits is None else edits
        job = (tuple(how), changes.offsets, tuple(changes.edits), logprobs)
        tokens, logs = np.empty(len(logits), np.int64), np.empty((len(logits), 2))

        def some(low: int, high: int, scratch: Memory) -> None:
            bad = draw_rows(logits, job, tuple(named), (low, high), scratch, (tokens, logs))
            if bad >= 0:
                raise EngineError(
                    f"row {bad} has no law: its largest logit is {logits[bad].max()}, or the edits rule out all tokens"
                )

        self._each(len(logits), some)
        return tokens, logs

    def judge(self, p: Floats, q: Floats, tokens: Ints, coins: Names, draws: Names) -> tuple[Ints, NDArray[np.bool_]]:
        """Token-wise verification of one draft token a row: what stands there in the end, and whether it is the draft.

        p, q [rows, vocab]; tokens [rows] drawn from q.
        """
        verdicts = np.empty(len(p), np.int64)

        def some(low: int, high: int, _: Memory) -> None:
            judge_rows((p, q), tokens, (coins, draws), (low, high), verdicts)

        self._each(len(p), some)
        return np.where(verdicts < 0, -1 - verdicts, verdicts), verdicts >= 0

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> RowKernels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _each(self, rows: int, some: Callable[[int, int, Memory], None]) -> None:
        """Run `some` over all rows, in as many parts as pay; the caller's thread does the first."""
        parts = max(1, min(len(self._scratch), rows // MIN_ROWS))
        if parts == 1:
            some(0, rows, self._scratch[0])
            return
        ends = [rows * k // parts for k in range(parts + 1)]
        todo = list(zip(ends[:-1], ends[1:], self._scratch[:parts], strict=True))
        others = [] if self._pool is None else [self._pool.submit(some, *part) for part in todo[1:]]
        some(*todo[0])
        for other in others:
            other.result()


@compiled(nogil=True, error_model="numpy")
def draw_rows(logits, job, named, part, scratch, out):  # type: ignore[no-untyped-def]
    """Rows part[0] to part[1] of a batch; returns the first without a law, -1 if all have one.

    Arguments are plain tuples, since a named one takes half a microsecond on its way into compiled code.
    """
    how, offsets, (ids, before, factor, after), wanted = job
    counters, keys = named
    tokens, logs = out
    for row in range(part[0], part[1]):
        draw = (chance_of(counters[row], keys[row]), wanted, DRAWN)
        low, high = (offsets[row], offsets[row + 1]) if offsets.shape[0] > 0 else (0, 0)
        if low == high:
            found = draw_row(logits[row], Transform(*how), draw, Scratch(*scratch))
        else:
            own = Edits(ids[low:high], before[low:high], factor[low:high], after[low:high])
            found = draw_edited(logits[row], Transform(*how), own, draw, Scratch(*scratch))
        tokens[row], logs[row, 0], logs[row, 1] = found
        if tokens[row] < 0:
            return row
    return -1


@compiled(nogil=True, error_model="numpy")
def draw_one(logits, how, counter, key, given, scratch):  # type: ignore[no-untyped-def]
    """draw_row; `given` is a token, where nothing is cut, or DRAWN."""
    draw = (chance_of(counter, key), True, given)
    return draw_row(logits, Transform(*how), draw, Scratch(*scratch))


@compiled(nogil=True, error_model="numpy")
def law_into(logits, how, scratch, out):  # type: ignore[no-untyped-def]
    """law_row."""
    return law_row(logits, Transform(*how), Scratch(*scratch), out)


@compiled(nogil=True, error_model="numpy")
def judge_rows(laws, tokens, named, part, out):  # type: ignore[no-untyped-def]
    """Rows part[0] to part[1] of a batch."""
    p, q = laws
    coins, draws = named
    for row in range(part[0], part[1]):
        coin, draw = (coins.counters[row], coins.keys[row]), (draws.counters[row], draws.keys[row])
        out[row] = judge_row(p[row], q[row], tokens[row], coin, draw)
