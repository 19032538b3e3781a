"""What a training begins and ends with, whatever kind of draft it is of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.distill.further import begun_from
from truedraw.distill.history import history
from truedraw.distill.outcome import Outcome
from truedraw.distill.plan import Plan, Tell
from truedraw.distill.preparing import Prepared, left
from truedraw.errors import TrainingError
from truedraw.whole_files import write_text

if TYPE_CHECKING:
    from truedraw.distill.state import State
    from truedraw.distill.training import Training
    from truedraw.generate.model import Model


def begin_checkpoint(path: Path, settings: Mapping[str, Any], overwrite: bool) -> None:
    """Where a training of these settings keeps its state; raises BadFile for one of others, unless it is to go."""
    from truedraw.generate.offline.settings import begin, forget

    if overwrite:
        forget(path)
        path.unlink(missing_ok=True)
    begin(path, settings, f"give another --work, or remove {path}: the texts stay, and the training begins anew")


def run_to_end(training: Training[Any], plan: Plan, found: Prepared, tell: Tell) -> TrainingError | None:
    """What ended it before its time, if there is a state from before that; raised where there is none."""
    try:
        training.run(plan.limits, left(plan, found), tell)
    except TrainingError as error:
        if not training.has_best:
            raise
        return error
    return None


def facts_of(model: Model, plan: Plan, state: State, found: Prepared) -> dict[str, Any]:
    """What a card says of a training, but for what was measured at its end."""
    _, data, texts, done = found
    return {
        "model": model.name,
        "texts": data.num_texts,
        "tokens": data.count,
        "held_out_tokens": int(data.held.sum()),
        "source": _source(plan),
        **({"prompts_left_out": texts.left_out} if texts.left_out else {}),
        "temperatures": data.drawn_at(plan.texts.temperatures),
        "seed": plan.texts.seed,
        "loss": plan.head.loss,
        "hidden": plan.head.hidden,
        "heads": plan.head.heads,
        "rate": plan.head.rate,
        "steps": state.step,
        "best_step": state.best_step,
        "trained_tokens": state.tokens,
        "seconds": {
            "texts": round(texts.seconds, 1),
            "features": round(done.seconds, 1),
            "training": round(state.seconds, 1),
        },
        "final_loss": round(state.loss, 4),
        **begun_from(plan.head.before),
        "ended_by_patience": state.gave_up,
        **history(plan, state.looks, state.since),
    }


def _source(plan: Plan) -> str:
    if plan.texts.documents:
        return "documents"
    return "its own texts" if plan.texts.prompts is None else "its answers to given prompts"


def written(
    plan: Plan, facts: dict[str, Any], training: Training[Any], found: Prepared, write: Callable[[], None]
) -> Outcome:
    """The draft, by `write`, and its report; raises BadFile, and TrainingError before anything is replaced."""
    _check_figures(plan, facts)
    write()
    _write_page(plan.page, facts, training.state)
    return Outcome(plan.output, plan.page, facts, found.done.all_texts)


def _check_figures(plan: Plan, facts: Mapping[str, Any]) -> None:
    """Raises TrainingError where a figure of the card is no finite number."""
    try:
        json.dumps(facts, allow_nan=False)
    except ValueError as error:
        raise TrainingError(
            f"a figure of the new draft is no finite number, as damaged features in {plan.work} make it; it is not "
            f"written, and what stands at {plan.output} is as it was; give --overwrite to begin --work anew"
        ) from error


def _write_page(path: Path, facts: Mapping[str, Any], state: State) -> None:
    """The report; raises BadFile."""
    from truedraw.distill.report import to_html

    write_text(path, to_html(facts, state.curve, state.looks), then="give another --output")
