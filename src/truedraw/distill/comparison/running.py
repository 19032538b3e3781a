"""The trainings of a comparison: each ends where the others do, and what is done stays done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.checkpoint import forget_checkpoints
from truedraw.distill.comparison.prompts import test_rows
from truedraw.distill.comparison.results import checked
from truedraw.distill.comparison.seen import by_temperature
from truedraw.distill.comparison.told import HELD_OUT, PROMPTS
from truedraw.distill.comparison.wanted import Wanted, all_alike, folder_of, settings_of
from truedraw.distill.folders import worked_in
from truedraw.distill.learner import HeadLearner, head_training
from truedraw.distill.plan import Plan, Tell
from truedraw.distill.preparing import Prepared, left, prepared
from truedraw.distill.read_values import is_number, is_whole
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape
from truedraw.distill.training import Training
from truedraw.distill.work_journal import WorkJournal
from truedraw.errors import BadFile, TrainingError

if TYPE_CHECKING:
    from truedraw.generate.model import Model

RESULTS = "results.jsonl"
TURNS = 8  # of each loss where time is shared: a machine that others use is fast now and slow then
Record = dict[str, Any]


class Begun(NamedTuple):
    """What all losses have in common, settled when the first one begins; the first line of the results."""

    tokens: int  # of texts
    rows: int  # of features
    seconds: float | None  # of training for each; None: they end by steps

    @classmethod
    def found(cls, record: Mapping[str, Any], path: Path) -> Begun:
        """Raises BadFile."""
        counted = is_whole(record.get("tokens")) and is_whole(record.get("rows")) and "seconds" in record
        if not counted or not (record["seconds"] is None or is_number(record["seconds"])):
            raise BadFile(f"{path} holds a line that is not ours; give --overwrite, or another --work")
        return cls(record["tokens"], record["rows"], record["seconds"])


@dataclass(frozen=True, slots=True)
class Compared:
    """Where the results are, and which; in the order that was asked for."""

    path: Path
    begun: Begun
    texts: int
    held_out_tokens: int
    records: list[Record]


def compare(model: Model, wanted: Wanted, tell: Tell) -> Compared:
    """A head of each loss, trained and measured. Run again, it goes on where it was, and losses that are done stay so.

    Raises what train_draft raises; a loss that is no number any more is measured at its best head, and the others go
    on.
    """
    with worked_in(wanted.plan.work):
        return _compared(model, wanted, tell)


def _compared(model: Model, wanted: Wanted, tell: Tell) -> Compared:
    from truedraw.engine.pytorch.running import running

    plan, settings = all_alike(wanted.plan), settings_of(model, wanted)
    folder = folder_of(plan.work, "comparison", settings)
    path = folder / RESULTS
    with WorkJournal(path, settings, plan.overwrite) as journal:
        journal.renew()  # before the texts are: these are results of theirs
        there = list(journal.records())
        begun = Begun.found(there[0], path) if there else None
        done = {record["loss"]: record for record in checked(there[1:], path)}
        ready = prepared(model, _as_begun(plan, model, begun), tell)
        if begun is None:
            begun = Begun(ready.texts.tokens, ready.data.count, _seconds(ready, wanted))
            journal.append(begun._asdict())
        _check_same(begun, ready.data, plan.work)
        tests = None if wanted.prompts is None else test_rows(model, wanted, ready.data.shape, tell)
        todo = [loss for loss in wanted.losses if loss not in done]
        with running(plan.limits.threads):
            for record in Turns(ready, plan, begun.seconds, folder).run(todo, tests, tell):
                journal.append(record)
                done[record["loss"]] = record
    held = int(ready.data.held.sum())
    return Compared(path, begun, ready.data.num_texts, held, [done[loss] for loss in wanted.losses])


class Turns:
    """Trainings that take turns; each is opened from its checkpoint for its turn, so that one is in memory."""

    def __init__(self, ready: Prepared, plan: Plan, seconds: float | None, folder: Path) -> None:
        self._ready, self._plan, self._seconds, self._folder = ready, plan, seconds, folder
        self._fresh: set[str] = set()  # losses that --overwrite began anew already

    def run(self, losses: Sequence[str], tests: Rows | None, tell: Tell) -> Iterator[Record]:
        """The result of each as it ends."""
        turns, left_over, reached = 1 if self._seconds is None else TURNS, list(losses), dict.fromkeys(losses, 0.0)
        for turn in range(1, turns + 1):
            first = (turn - 1) % max(len(left_over), 1)
            for loss in [*left_over[first:], *left_over[:first]]:
                if reached[loss] >= turn / turns and turn < turns:
                    continue
                training, stopped = self._turn(loss, turn / turns, tell)
                reached[loss] = self._share(training)
                if stopped is not None or turn == turns:
                    left_over.remove(loss)
                    yield self._record(loss, training, stopped, tests)
                    forget_checkpoints(training.path)
                    forget_checkpoints(training.best_path)

    def _turn(self, loss: str, until: float, tell: Tell) -> tuple[Training[HeadLearner], str | None]:
        """As far as `until`; with the reason where it ended before its time."""
        ready, head = self._ready, replace(self._plan.head, loss=loss)
        anew = self._plan.overwrite and loss not in self._fresh
        self._fresh.add(loss)
        training = head_training(ready.data, ready.tables, head, self._folder / f"{loss}.checkpoint", anew)

        def of_loss(stage: str, done: float, words: str) -> None:
            tell(f"{stage} with {loss}", done, words)

        try:
            training.run(self._plan.limits, self._seconds, of_loss, until)
        except TrainingError as error:
            if not training.has_best:
                raise
            return training, str(error).partition(";")[0]
        return training, None

    def _share(self, training: Training[HeadLearner]) -> float:
        state, steps = training.state, self._plan.limits.steps
        of_time = state.seconds / self._seconds if self._seconds else 0.0
        return max(of_time, state.step / steps if steps else 0.0)

    def _record(self, loss: str, training: Training[HeadLearner], stopped: str | None, tests: Rows | None) -> Record:
        head, state = training.learner.head_with(training.best()), training.state
        measured = {HELD_OUT: by_temperature(head, self._ready.data)}
        if tests is not None:
            measured[PROMPTS] = by_temperature(head, tests)
        return {
            "loss": loss,
            "steps": state.step,
            "best_step": state.best_step,
            "trained_tokens": state.tokens,
            "seconds": round(state.seconds, 1),
            "final_loss": round(state.loss, 4),
            "stopped": stopped,
            "looks": state.looks,
            "measured": measured,
        }


def _seconds(ready: Prepared, wanted: Wanted) -> float | None:
    """Of training for each loss; a loss that is compared later has as many."""
    if wanted.plan.limits.steps is not None:
        return None
    whole = left(wanted.plan, ready)
    return None if whole is None else round(whole / len(wanted.losses), 3)


def _as_begun(plan: Plan, model: Model, begun: Begun | None) -> Plan:
    """Nothing is added to texts and features that a loss was trained on."""
    if begun is None:
        return plan
    engine: Any = model.engine
    row_bytes = Shape(len(engine.hidden_layers) + 1, engine.hidden_size).row_bytes
    limits = replace(plan.limits, feature_bytes=begun.rows * row_bytes)
    return replace(plan, texts=replace(plan.texts, tokens=begun.tokens), limits=limits)


def _check_same(begun: Begun, data: Rows, work: Path) -> None:
    if data.count != begun.rows:
        raise BadFile(
            f"{work} has features of {data.count:,} tokens now, and the comparison began with {begun.rows:,}: losses "
            "would be trained on different texts; give another --work, or --overwrite"
        )
