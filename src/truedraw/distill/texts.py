"""The texts of a run, in a journal: each is written once it is whole, so that a kill loses none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.clock import Clock
from truedraw.distill.plan import TEXTS, Tell, TextPlan
from truedraw.distill.read_values import are_whole, is_number, is_temperature
from truedraw.errors import BadFile

if TYPE_CHECKING:
    from truedraw.distill.watching import Keeping, Watch
    from truedraw.generate.model import Model
    from truedraw.generate.offline.journal import Journal

NAME = "texts.jsonl"
KEY = 2  # numbers that a text is known by: round and number in it, or document and place
WATCH = "watch"  # in a record that was just drawn: what was seen meanwhile
Record = dict[str, Any]


class Text(NamedTuple):
    """One text to learn from: the answer's tokens follow the prompt."""

    prompt: list[int]
    answer: list[int]
    temperature: float | None  # that the answer was drawn at; None: it was not


class Gathered(NamedTuple):
    """How many there are."""

    texts: int
    tokens: int  # of answers
    seconds: float  # that they took


def gather(model: Model, plan: TextPlan, folder: Path, settings: Mapping[str, Any], limit: tuple[float | None, Tell],
           overwrite: bool = False, keeping: Keeping | None = None) -> Gathered:  # fmt: skip
    """Write texts until there are `plan.tokens`, the time is up or the documents have ended.

    `keeping`: takes what the model knows of each text while it writes it.
    Raises BadFile for other settings than those it was begun with, and where no text is to be had.
    """
    from truedraw.generate.offline.journal import Journal

    seconds, tell = limit
    with Journal(folder / NAME, settings, overwrite) as journal:
        journal.renew()
        found = _counted(checked(journal.records(), folder / NAME))
        clock = Clock(found.seconds, seconds)
        if not _enough(found, plan, clock):
            done = [tuple(record["key"]) for record in journal.records()]
            source = _source(model, plan, done, keeping.watched if keeping else None)
            found = _written(source, journal, found, plan, (clock, tell, keeping))
    if not found.tokens:
        raise BadFile("there is no text to train on, zero tokens; give more time, or documents with text")
    return found


def read_texts(folder: Path) -> Iterator[Text]:
    """Those that are there, in their order; raises BadFile."""
    from truedraw.generate.offline.journal import read_records

    for record in checked(read_records(folder / NAME), folder / NAME):
        yield _text(record)


def checked(records: Iterable[Record], path: Path) -> Iterator[Record]:
    """The lines of a journal of texts; raises BadFile for what no run wrote."""
    for number, record in enumerate(records, start=1):
        if not _is_ours(record):
            raise BadFile(f"{path}, line {number}, is no text of ours; give another --work, or --overwrite")
        yield record


def _source(
    model: Model, plan: TextPlan, done: Sequence[tuple[int, int]], watched: Callable[[], Watch | None] | None
) -> Iterator[Record]:
    if plan.documents:
        from truedraw.distill.documents import document_texts

        seen = set(done)
        pieces = document_texts(model.tokenizer, plan.documents, model.engine.context_length)
        return (record for record in pieces if tuple(record["key"]) not in seen)
    from truedraw.distill.own_texts import OPENERS, Plan, own_texts

    openers = OPENERS if plan.openers is None else plan.openers
    how = Plan(plan.seed, temperatures=plan.temperatures, answer_tokens=plan.answer_tokens, asked=plan.prompts,
               openers=openers)  # fmt: skip
    return own_texts(model, how, done, watched)


def _written(
    source: Iterator[Record], journal: Journal, found: Gathered, plan: TextPlan,
    means: tuple[Clock, Tell, Keeping | None],
) -> Gathered:  # fmt: skip
    clock, tell, keeping = means
    tell(TEXTS, _share(found, plan, clock), _words(found))
    for record in source:
        watch = record.pop(WATCH, None)
        journal.append({**record, "seconds": round(clock.seconds, 3)})
        if keeping is not None:
            keeping.add(found.texts, _text(record), watch)
        found = Gathered(found.texts + 1, found.tokens + len(record["answer"]), clock.seconds)
        tell(TEXTS, _share(found, plan, clock), _words(found))
        if _enough(found, plan, clock):
            break
    return found


def _counted(records: Iterable[Record]) -> Gathered:
    texts = tokens = 0
    seconds = 0.0
    for record in records:
        texts, tokens = texts + 1, tokens + len(record["answer"])
        seconds = float(record["seconds"])
    return Gathered(texts, tokens, seconds)


def _text(record: Record) -> Text:
    return Text(record["prompt"], record["answer"], record["temperature"])


def _is_ours(record: Record) -> bool:
    key, seconds = record.get("key"), record.get("seconds")
    tokens = are_whole(record.get("prompt")) and are_whole(record.get("answer"))
    return tokens and are_whole(key) and len(record["key"]) == KEY and is_number(seconds) and is_temperature(record)


def _enough(found: Gathered, plan: TextPlan, clock: Clock) -> bool:
    return clock.over or (plan.tokens is not None and found.tokens >= plan.tokens)


def _share(found: Gathered, plan: TextPlan, clock: Clock) -> float:
    return max(clock.share, found.tokens / plan.tokens if plan.tokens else 0.0)


def _words(found: Gathered) -> str:
    speed = found.tokens / found.seconds if found.seconds else 0.0
    return f"{found.texts:,} texts, {found.tokens:,} tokens, {speed:,.0f} tokens/s"
