"""Texts to learn from are written, or read from documents, until there are enough or the time is up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.asking import left_out
from truedraw.distill.clock import Clock
from truedraw.distill.documents import document_texts
from truedraw.distill.folders import WITH_OTHERS
from truedraw.distill.own_texts import LEAST, OPENERS, PROMPTS, own_texts
from truedraw.distill.own_texts import Plan as Asking
from truedraw.distill.plan import TEXTS, Plan, Tell, TextPlan
from truedraw.distill.store import Shape
from truedraw.distill.texts import NAME, WATCH, Gathered, Record, checked, text_of
from truedraw.distill.watching import Keeping, Watch
from truedraw.errors import BadFile

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.generate.offline.journal import Journal


class Manner(NamedTuple):
    """prompts: that a model writes in a round. least: of them are answered also when their time is up.

    ready: whether further texts are taken when the time is up, until there are none; a model that writes many side by
    side has begun them, and what it has begun is not thrown away.
    """

    prompts: int = PROMPTS
    least: int = LEAST
    ready: Callable[[], bool] = lambda: True


SIDE_BY_SIDE = Manner()


def gather(model: Model, plan: TextPlan, folder: Path, settings: Mapping[str, Any], limit: tuple[float | None, Tell],
           overwrite: bool = False, keeping: Keeping | None = None,
           manner: Manner = SIDE_BY_SIDE) -> Gathered:  # fmt: skip
    """Write texts until there are `plan.tokens`, the time is up or no further ones can come.

    `keeping`: takes what the model knows of each text while it writes it. manner: how the model writes.
    Raises BadFile for other settings than those it was begun with, and where no text is to be had, BadParameter where
    no prompt can be answered.
    """
    from truedraw.distill.work_journal import WorkJournal

    seconds, tell = limit
    too_long = 0 if plan.prompts is None else left_out(model, plan.prompts)
    with WorkJournal(folder / NAME, settings, overwrite, WITH_OTHERS) as journal:
        journal.renew()
        found = _counted(checked(journal.records(), folder / NAME))
        clock = Clock(found.seconds, seconds)
        if not _enough(found, plan, clock):
            watched = keeping.watched if keeping else None
            source = _source(model, (plan, manner), journal.records(), watched, clock)
            ready = manner.ready if not plan.documents else lambda: False
            found = _written(source, journal, found, plan, (clock, tell, keeping), ready)
    if not found.tokens:
        raise BadFile(
            "there is no text to train on, zero tokens; give more time (--budget), other prompts, or documents with "
            "text"
        )
    return found._replace(left_out=too_long)


def fitting(plan: Plan, shape: Shape) -> TextPlan:
    """Its texts, of no more tokens than there is room for what the model knows at them: nothing learns from others.

    One more shows that there were more. Of documents, which take no time, all.
    """
    texts, most = plan.texts, plan.limits.disk_bytes // shape.row_bytes + 1
    if texts.documents:
        return texts
    return replace(texts, tokens=most if texts.tokens is None else min(texts.tokens, most))


def _source(
    model: Model, wanted: tuple[TextPlan, Manner], done: Iterable[Record], watched: Callable[[], Watch | None] | None,
    clock: Clock,
) -> Iterator[Record]:  # fmt: skip
    plan, manner = wanted
    if plan.documents:
        seen = {tuple(record["key"]) for record in done}
        pieces = document_texts(model, plan.documents)
        return (record for record in pieces if tuple(record["key"]) not in seen)
    openers = OPENERS if plan.openers is None else plan.openers
    how = Asking(plan.seed, manner.prompts, temperatures=plan.temperatures, answer_tokens=plan.answer_tokens,
                 asked=plan.prompts, least_begun=manner.least, openers=openers)  # fmt: skip
    return own_texts(model, how, done, watched, lambda: not clock.over)


def _written(
    source: Iterator[Record], journal: Journal, found: Gathered, plan: TextPlan,
    means: tuple[Clock, Tell, Keeping | None], ready: Callable[[], bool],
) -> Gathered:  # fmt: skip
    clock, tell, keeping = means
    tell(TEXTS, _share(found, plan, clock), _words(found))
    for record in source:
        watch = record.pop(WATCH, None)
        journal.append({**record, "seconds": round(clock.seconds, 3)})
        if keeping is not None:
            keeping.add(found.texts, text_of(record), watch)
        found = Gathered(found.texts + 1, found.tokens + len(record["answer"]), clock.seconds)
        tell(TEXTS, _share(found, plan, clock), _words(found))
        if _has_all(found, plan) or (clock.over and not ready()):
            break
    return found


def _counted(records: Iterable[Record]) -> Gathered:
    texts = tokens = 0
    seconds = 0.0
    for record in records:
        texts, tokens = texts + 1, tokens + len(record["answer"])
        seconds = float(record["seconds"])
    return Gathered(texts, tokens, seconds)


def _enough(found: Gathered, plan: TextPlan, clock: Clock) -> bool:
    return clock.over or _has_all(found, plan)


def _has_all(found: Gathered, plan: TextPlan) -> bool:
    return plan.tokens is not None and found.tokens >= plan.tokens


def _share(found: Gathered, plan: TextPlan, clock: Clock) -> float:
    return max(clock.share, found.tokens / plan.tokens if plan.tokens else 0.0)


def _words(found: Gathered) -> str:
    speed = found.tokens / found.seconds if found.seconds else 0.0
    return f"{found.texts:,} texts, {found.tokens:,} tokens, {speed:,.0f} tokens/s"
