"""The stages of a training, one after the other, within one budget. Run again, each goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.distill.clock import Clock
from truedraw.distill.computing import Computed, compute
from truedraw.distill.outcome import Outcome
from truedraw.distill.plan import FEATURES, SHARES, TEXTS, Plan, Tell
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape, Store
from truedraw.distill.tables import Tables, tables_of
from truedraw.distill.texts import Gathered, gather, read_texts
from truedraw.errors import BadFile, TrainingError

if TYPE_CHECKING:
    from truedraw.distill.training import Training
    from truedraw.generate.model import Model

FEWEST_ROWS = 5  # of a text: a row to begin at, and a chain of four behind it
LEAST_TRAINING = 0.2  # of the budget: what is trained in any case, however long the stages before took


def train_draft(model: Model, plan: Plan, tell: Tell) -> Outcome:
    """A head for `model`, whose engine returns the hidden states that it will read; in `plan.output`, and a report.

    Raises BadFile for a folder begun with other settings and for damaged files, BadParameter for a model that shows no
    hidden states or a disk without room, TrainingError where the loss was no number any more: the best head so far has
    then been written.
    """
    from truedraw.engine.pytorch.running import running

    tables = tables_of(model.engine, model.name)
    plan.work.mkdir(parents=True, exist_ok=True)
    texts = _texts(model, plan, tell)
    done = _features(model, tables, plan, texts, tell)
    data = Rows(plan.work, _shape(model))
    data.check(FEWEST_ROWS)
    with running(plan.limits.threads):
        training, failed = _trained(data, tables, plan, _left(plan, texts, done), tell)
        outcome = _written(model, plan, training, data, (texts, done))
    if failed is not None:
        raise TrainingError(f"{failed}; the best head before is written: {plan.output}") from failed
    return outcome


def text_settings(model: Model, plan: Plan) -> dict[str, Any]:
    """What decides which texts come."""
    from truedraw.models.fingerprint import fingerprint

    texts = plan.texts
    for path in texts.documents:
        if not path.is_file():
            raise BadFile(f"{path} cannot be read: there is no such file; give files with text")
    return {
        "kind": "draft texts",
        **plan.identity,
        "tokenizer": model.tokenizer.fingerprint,
        "hidden_size": getattr(model.engine, "hidden_size", None),
        "seed": texts.seed,
        "temperatures": list(texts.temperatures),
        "answer_tokens": texts.answer_tokens,
        "prompts": None if texts.prompts is None else list(texts.prompts),
        "documents": [fingerprint([path], named=False) for path in texts.documents],
    }


def _texts(model: Model, plan: Plan, tell: Tell) -> Gathered:
    seconds = None if plan.limits.seconds is None else plan.limits.seconds * SHARES[TEXTS]
    return gather(model, plan.texts, plan.work, text_settings(model, plan), (seconds, tell), plan.overwrite)


def _features(model: Model, tables: Tables, plan: Plan, texts: Gathered, tell: Tell) -> Computed:
    engine: Any = model.engine
    settings = {**text_settings(model, plan), "kind": "draft features", "layers": list(engine.hidden_layers)}
    with Store(plan.work, _shape(model), settings, plan.overwrite) as store:
        limit = (plan.limits.feature_bytes, Clock(store.seconds, _for_features(plan, texts)), tell, texts.tokens)
        return compute(engine, tables, read_texts(plan.work), store, limit)


def _for_features(plan: Plan, texts: Gathered) -> float | None:
    """Seconds, with what the texts left over."""
    seconds = plan.limits.seconds
    if seconds is None:
        return None
    return max(seconds * (SHARES[TEXTS] + SHARES[FEATURES]) - texts.seconds, seconds * SHARES[FEATURES])


def _left(plan: Plan, texts: Gathered, done: Computed) -> float | None:
    """Seconds to train in."""
    seconds = plan.limits.seconds
    return None if seconds is None else max(seconds - texts.seconds - done.seconds, seconds * LEAST_TRAINING)


def _trained(
    data: Rows, tables: Tables, plan: Plan, seconds: float | None, tell: Tell
) -> tuple[Training, TrainingError | None]:
    from truedraw.distill.training import Training
    from truedraw.generate.offline.settings import begin, forget

    path = plan.work / f"{plan.head.loss}.checkpoint"
    if plan.overwrite:
        forget(path)
        path.unlink(missing_ok=True)
    begin(path, {"kind": "draft head", **asdict(plan.head), "shape": list(data.shape)})
    training = Training(data, tables, plan.head, path, plan.overwrite)
    try:
        training.run(plan.limits, seconds, tell)
    except TrainingError as error:
        return training, error
    return training, None


def _written(model: Model, plan: Plan, training: Training, data: Rows, before: tuple[Gathered, Computed]) -> Outcome:
    from truedraw.distill.export import Target, export, figures

    engine: Any = model.engine
    found = figures(training.head, training.best(), data, plan.head.seed)
    facts = {**_facts(model, plan, training, data, before), **found}
    target = Target(
        model.name, model.tokenizer.fingerprint, engine.vocab_size, engine.hidden_size, tuple(engine.hidden_layers)
    )
    export(plan.output, target, training.best(), facts)
    _write_page(plan.page, facts, training)
    return Outcome(plan.output, plan.page, facts, before[1].all_texts)


def _facts(
    model: Model, plan: Plan, training: Training, data: Rows, before: tuple[Gathered, Computed]
) -> dict[str, Any]:
    """What a card says of a training, but for what was measured at its end."""
    state, (texts, done) = training.state, before
    return {
        "model": model.name,
        "texts": data.num_texts,
        "tokens": data.count,
        "held_out_tokens": int(data.held.sum()),
        "source": _source(plan),
        "temperatures": list(plan.texts.temperatures),
        "seed": plan.texts.seed,
        "loss": plan.head.loss,
        "hidden": plan.head.hidden,
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
    }


def _source(plan: Plan) -> str:
    if plan.texts.documents:
        return "documents"
    return "its own texts" if plan.texts.prompts is None else "its answers to given prompts"


def _write_page(path: Path, facts: Mapping[str, Any], training: Training) -> None:
    from truedraw.distill.report import to_html

    fresh = path.with_name(path.name + ".part")
    try:
        fresh.write_text(to_html(facts, training.state.curve, training.state.looks), encoding="utf-8", errors="replace")
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise BadFile(f"{path} cannot be written: {error.strerror}; give another --output") from error


def _shape(model: Model) -> Shape:
    engine: Any = model.engine
    return Shape(len(engine.hidden_layers) + 1, engine.hidden_size)
