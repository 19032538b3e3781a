"""From texts and what the target says of them to an EAGLE draft's folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.eagle.evaluation import measured
from truedraw.distill.eagle.export import export
from truedraw.distill.eagle.layer import layer_config
from truedraw.distill.eagle.learner import HEAD, EagleLearner, Material, draft_of, eagle_training
from truedraw.distill.eagle.network import OUTPUT
from truedraw.distill.eagle.unrolling import Draft
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.evaluation import LAST_ROWS, MEASURED
from truedraw.distill.export import Target
from truedraw.distill.folders import check_output
from truedraw.distill.halves import as_run
from truedraw.distill.outcome import Outcome
from truedraw.distill.plan import EAGLE3, HIDDEN, Plan, Tell
from truedraw.distill.preparing import Prepared, prepared_whole
from truedraw.distill.stages import begin_checkpoint, facts_of, run_to_end, written
from truedraw.distill.training import Training
from truedraw.draft.eagle.card import KIND
from truedraw.errors import TrainingError
from truedraw.protocol import ModelConfig

if TYPE_CHECKING:
    from truedraw.generate.model import Model


def train_eagle(model: Model, plan: Plan, tell: Tell) -> Outcome:
    """An EAGLE-3 draft for `model`: the folder `plan.output`, and a report beside it.

    Raises what distill.pipeline.train_draft does.
    """
    from truedraw.engine.pytorch.running import running

    check_output(plan.output, KIND)
    engine: Any = model.engine
    config = layer_config(engine.vocab_size, engine.context_length, engine.hidden_size, plan.head.hidden or HIDDEN)
    found = prepared_whole(model, plan, tell)
    material = Material(WholeRows(plan.work, found.data), found.tables)
    with running(plan.limits.threads):
        training, failed = _trained(found, material, plan, config, tell)
        outcome = _written(model, plan, training, found, config)
    if failed is not None:
        raise TrainingError(f"{failed}; the best draft before is written: {plan.output}") from failed
    return outcome


def _trained(
    found: Prepared, material: Material, plan: Plan, config: ModelConfig, tell: Tell
) -> tuple[Training[EagleLearner], TrainingError | None]:
    path = plan.work / f"{EAGLE3}-{plan.head.loss}.checkpoint"
    shape = list(found.data.shape)
    settings = {**plan.head.identity(), "kind": f"draft {EAGLE3}", "config": asdict(config), "shape": shape}
    begin_checkpoint(path, settings, plan.overwrite)
    training = eagle_training(material, config, plan.head, path, plan.overwrite)
    return training, run_to_end(training, plan, found, tell)


def _written(
    model: Model, plan: Plan, training: Training[EagleLearner], found: Prepared, config: ModelConfig
) -> Outcome:
    learner, target = training.learner, Target.of(model)
    tensors, tokens = learner.tensors(training.best()), learner.draft.known.tokens
    facts = {
        "kind": EAGLE3,
        **facts_of(model, plan, training.state, found),
        "tokens": learner.texts.tokens,
        "held_out_tokens": learner.texts.held_tokens,
        "layers": list(target.layers),
        "parameters": sum(values.size for values in tensors.values()),
        "held_out": _figures(learner, as_run(tensors), found),
    }
    return written(plan, facts, training, found, lambda: export(plan.output, target, config, (tensors, tokens), facts))


def drafted(learner: EagleLearner, tensors: Arrays, found: Prepared) -> Draft:
    """The draft of a folder's tensors."""
    import torch

    weights = {name: torch.from_numpy(values) for name, values in tensors.items() if name != HEAD}
    config, known = learner.draft.config, learner.draft.known
    weights[OUTPUT] = torch.eye(config.hidden_size)
    return draft_of(config, weights, found.tables, known.tokens, torch.from_numpy(tensors[HEAD]))


def _figures(learner: EagleLearner, tensors: Arrays, found: Prepared) -> dict[str, Any]:
    """Acceptance by position at each temperature, of a folder's tensors."""
    draft = drafted(learner, tensors, found)
    return {f"{each:g}": measured(draft, learner.texts, each, LAST_ROWS).to_json() for each in MEASURED}
