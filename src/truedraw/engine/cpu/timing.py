"""What passes take on this machine, by their rows and texts: measured when first asked for, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple, Protocol

from truedraw.engine.meaningless import meaningless
from truedraw.engine.record_files import drop_record, read_record, write_record
from truedraw.errors import OutOfPages
from truedraw.protocol import Engine, PassTable, Proposal, Sequence, Work

ROWS = (1, 2, 4, 6, 8, 12, 16, 32, 64)  # of one text
TEXTS = (4, 16, 32)  # with one row each; what they take more than rows of one text grows evenly in between
TEXT_TOKENS = 100
FURTHER = (1, 2, 4, 8)  # rows of one text, of which it is measured what its length costs: the sums of each row grow
LONG_TOKENS, LONG_SECONDS = 2000, 2.0  # of a text for that, and what reading it may take, or passes behind it: it is
SHORT_TOKENS = 1000  # shorter where that is slow, and below this, or where passes are too slow, nothing is measured
REPEATS = 3  # a median needs them; a model of 135M parameters takes six seconds or so for it all on two cores
SETTLING = 0.05  # seconds of passes of a shape before any counts: behind wide ones a narrow one takes longer
COUNTING = 0.02  # seconds of those that count, one at least: a machine that others use delays single ones
MAX_SECONDS = 4.0  # after these only narrow passes are still measured, once each: models of billions are slow
NARROW = 16  # rows, up to which a table is never cut off
MIN_AGE_SECONDS = 3600.0  # of a record that is dropped: what is wrong about a fresh one, measuring may not mend

Clock = Callable[[], float]
Kind = Literal["rows", "texts"]


class Timeable(Engine, Protocol):
    """An engine whose row counts are padded."""

    def open(self, tokens: Seq[int], *, alone: bool = False) -> Sequence:
        """See PagedEngine."""
        ...

    def forget_row_counts(self) -> None:
        """Pad the next pass as if none had been before it."""
        ...


class Pass(NamedTuple):
    """One to be timed."""

    kind: Kind
    size: int  # rows, or texts
    works: list[Work]


def measure(engine: Timeable, clock: Clock = time.perf_counter) -> PassTable | None:
    """Medians over sweeps through all counts, each pass after others of its own shape.

    The texts are forks of one: samples of one prompt. None where the cache has no room for them.
    """
    length = min(TEXT_TOKENS, engine.context_length // 2)
    room = min(ROWS[-1], engine.context_length - length)
    tokens = meaningless(length + room, engine.vocab_size).tolist()
    texts = [engine.open(tokens[:length], alone=True)]
    try:
        texts += engine.fork(texts[0], TEXTS[-1] - 1)
        table = _table(_swept(engine, _passes(texts, tokens[length:]), clock))
        return replace(table, further=_further(engine, texts[0], table, clock), length=length)
    except OutOfPages:
        return None
    finally:
        for text in texts:
            text.close()


def _further(engine: Timeable, short: Sequence, table: PassTable, clock: Clock) -> dict[int, float]:
    """Seconds that each token more of a text takes, by rows of it: a long one and a short one in turns; {} where there
    is no room for a long one, or no time to read it."""
    widest = max(table.rows)
    most = min(LONG_TOKENS, engine.context_length // 2, int(LONG_SECONDS * widest / table.rows[widest]))
    sweeps = 0 if most < SHORT_TOKENS else min(REPEATS, int(LONG_SECONDS / _seconds_of_a_sweep(table)))
    if not sweeps:
        return {}
    tokens = meaningless(most, engine.vocab_size).tolist()
    text = engine.open(tokens, alone=True)
    try:
        found = [{rows: _longer(engine, (text, short), tokens[: rows - 1], clock) for rows in FURTHER}
                 for _ in range(sweeps)]  # fmt: skip
    except OutOfPages:
        return {}
    finally:
        text.close()
    more = most - len(short.tokens)
    values = _rising(median(each[rows] for each in found) / more for rows in FURTHER)
    return dict(zip(FURTHER, (max(0.0, each) for each in values), strict=True))


def _seconds_of_a_sweep(table: PassTable) -> float:
    """Of long texts, at least."""
    return sum(2 * max(SETTLING + COUNTING, 2 * table.rows[rows]) for rows in FURTHER)


def _longer(engine: Timeable, texts: tuple[Sequence, Sequence], draft: Seq[int], clock: Clock) -> float:
    """Seconds that a pass of the first text takes more than one of the second."""
    first, second = (_seconds(engine, [Work(text, Proposal.chain(draft))], clock) for text in texts)
    return first - second


def _passes(texts: Seq[Sequence], draft: Seq[int]) -> list[Pass]:
    """The narrow ones first."""
    chains = [Pass("rows", rows, [Work(texts[0], Proposal.chain(draft[: rows - 1]))])
              for rows in ROWS if rows <= len(draft)]  # fmt: skip
    many = [Pass("texts", count, [Work(text) for text in texts[:count]]) for count in TEXTS]
    return sorted(chains + many, key=lambda each: each.size)


def _swept(engine: Timeable, passes: Seq[Pass], clock: Clock) -> dict[tuple[Kind, int], list[float]]:
    """Seconds by kind and size. Up and down, so that no narrow pass comes right behind the widest."""
    found: dict[tuple[Kind, int], list[float]] = {}
    started = clock()
    for sweep in range(REPEATS):
        for kind, size, works in passes if sweep % 2 == 0 else reversed(passes):
            is_known = (kind, size) in found
            if clock() - started < MAX_SECONDS or (size <= NARROW and not is_known):
                found.setdefault((kind, size), []).append(_seconds(engine, works, clock))
    return found


def _seconds(
    engine: Timeable, works: list[Work], clock: Clock, settling: float = SETTLING, counting: float = COUNTING
) -> float:
    """The median of as many passes as take `counting` seconds, one at least, behind those of their shape that it takes
    for the processor to settle."""
    engine.forget_row_counts()
    engine.forward(works)
    settled = clock() + settling
    found: list[float] = []
    while not found or clock() < settled + counting:
        before = clock()
        engine.forward(works)
        after = clock()
        if after >= settled:
            found.append(after - before)
    return median(found)


def _table(found: Mapping[tuple[Kind, int], list[float]]) -> PassTable:
    """The medians."""
    of: dict[Kind, dict[int, float]] = {"rows": {}, "texts": {}}
    for (kind, size), seconds in found.items():
        of[kind][size] = median(seconds)
    return PassTable(dict(zip(of["rows"], _rising(of["rows"].values()), strict=True)), of["texts"])


def _rising(values: Iterable[float]) -> list[float]:
    """More rows of one text never take less time: neighbours of which it seems so take their mean."""
    alike: list[list[float]] = []
    for value in values:
        alike.append([value])
        while len(alike) > 1 and fmean(alike[-2]) > fmean(alike[-1]):
            alike[-2:] = [alike[-2] + alike[-1]]
    return [fmean(values) for values in alike for _ in values]


class Costs:
    """The table of one model and way of computing on this machine, in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def table(self, engine: Timeable, anew: bool = False) -> PassTable | None:
        """The recorded one, or one measured now, which is recorded; None where it could not be measured."""
        recorded = None if anew else self._recorded()
        if recorded is not None:
            return recorded
        table = measure(engine)
        if table is not None:
            write_record(self._file, asdict(table))
        return table

    def doubt(self, now: float | None = None) -> None:
        """Drop the record, unless it is fresh; `now` in seconds since the epoch."""
        drop_record(self._file, MIN_AGE_SECONDS, time.time() if now is None else now)

    def _recorded(self) -> PassTable | None:
        try:
            return _checked(read_record(self._file))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError):  # none, or damaged
            return None


def _checked(values: dict[str, Any]) -> PassTable:
    """Of a record; raises one of several errors where it is damaged."""
    rows, texts, further = (
        {int(count): float(seconds) for count, seconds in values[kind].items()} for kind in ("rows", "texts", "further")
    )
    table = PassTable(rows, texts, further, int(values["length"]))
    if len(rows) < 2 or min((*rows, *texts, *further)) < 1 or not table.is_sound:
        raise ValueError("not a table of seconds")
    return table
