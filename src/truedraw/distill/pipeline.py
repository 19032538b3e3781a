"""The stages of a training, one after the other, within one budget. Run again, each goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from truedraw.distill.folders import worked_in
from truedraw.distill.outcome import Outcome
from truedraw.distill.plan import EAGLE3, TRANSFORMER, Plan, Tell
from truedraw.distill.preparing import Prepared, prepared
from truedraw.distill.rows import WINDOWS
from truedraw.distill.stages import begin_checkpoint, facts_of, run_to_end, written
from truedraw.distill.tables import check_readable
from truedraw.distill.wide import fast_products, is_wide, prepared_wide
from truedraw.errors import TrainingError

if TYPE_CHECKING:
    from truedraw.distill.learner import HeadLearner
    from truedraw.distill.training import Training
    from truedraw.generate.model import Model


def train_draft(model: Model, plan: Plan, tell: Tell) -> Outcome:
    """A draft for `model`, whose engine returns the hidden states that a head reads; in `plan.output`, and a report.

    Raises BadFile for a folder begun with other settings or in use and for damaged files, BadParameter for a model that
    shows no hidden states or a disk without room, TrainingError where the loss was no number any more: the best head so
    far has then been written.
    """
    check_readable(model.engine, model.name)
    with worked_in(plan.work):
        return _of_kind(plan.head.kind)(model, plan, tell)


def _of_kind(kind: str) -> Callable[[Model, Plan, Tell], Outcome]:
    if kind == TRANSFORMER:
        from truedraw.distill.independent.stage import train_transformer

        return train_transformer
    if kind == EAGLE3:
        from truedraw.distill.eagle.stage import train_eagle

        return train_eagle
    return _train_head


def _train_head(model: Model, plan: Plan, tell: Tell) -> Outcome:
    from truedraw.engine.pytorch.running import running

    found = _prepared(model, plan, tell)
    with running(plan.limits.threads), fast_products(found.data.device):
        training, failed = _trained(found, plan, tell)
        outcome = _written(model, plan, training, found)
    if failed is not None:
        raise TrainingError(f"{failed}; the best head before is written: {plan.output}") from failed
    return outcome


def _prepared(model: Model, plan: Plan, tell: Tell) -> Prepared:
    from truedraw.engine.pytorch.running import running

    if not is_wide(model):
        return prepared(model, plan, tell)
    with running(plan.limits.threads):
        return prepared_wide(model, plan, tell)


def _trained(found: Prepared, plan: Plan, tell: Tell) -> tuple[Training[HeadLearner], TrainingError | None]:
    from truedraw.distill.learner import head_training

    data = found.data
    path = plan.work / f"{plan.head.kind}-{plan.head.loss}.checkpoint"
    settings = {**plan.head.identity(), "kind": "draft head", "network": plan.head.kind, "shape": list(data.shape)}
    if data.windows != WINDOWS:
        settings["windows"] = data.windows
    begin_checkpoint(path, settings, plan.overwrite)
    training = head_training(data, found.tables, plan.head, path, plan.overwrite)
    return training, run_to_end(training, plan, found, tell)


def _written(model: Model, plan: Plan, training: Training[HeadLearner], found: Prepared) -> Outcome:
    from truedraw.distill.export import Target, export, figures

    head, some = training.learner.measurable()
    measured = figures(head, training.best(), some, plan.head.seed)
    facts = {**facts_of(model, plan, training.state, found), **measured}
    if is_wide(model):
        facts["device"] = found.data.device
    target = Target.of(model)
    return written(plan, facts, training, found, lambda: export(plan.output, target, head, training.best(), facts))
