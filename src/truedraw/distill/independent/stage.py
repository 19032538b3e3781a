"""From texts and what the target says of them to a folder that drafts for it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import LAST_ROWS, MEASURED
from truedraw.distill.folders import check_output
from truedraw.distill.halves import as_run
from truedraw.distill.independent.evaluation import measured
from truedraw.distill.independent.export import KIND, export
from truedraw.distill.independent.gradients import Draft
from truedraw.distill.independent.learner import Learner, Material, transformer_training
from truedraw.distill.independent.plan import TransformerPlan, draft_config
from truedraw.distill.independent.whole_texts import WholeTexts
from truedraw.distill.independent.words import Folded
from truedraw.distill.outcome import Outcome
from truedraw.distill.plan import TRANSFORMER, Plan, Tell
from truedraw.distill.preparing import Prepared, not_compared
from truedraw.distill.stages import begin_checkpoint, facts_of, run_to_end, written
from truedraw.distill.training import Training
from truedraw.errors import TrainingError
from truedraw.models.layout import EMBEDDING, HEAD, num_parameters
from truedraw.protocol import ModelConfig

if TYPE_CHECKING:
    from truedraw.generate.model import Model


def train_transformer(model: Model, plan: Plan, tell: Tell) -> Outcome:
    """A small llama model that drafts for `model`: the folder `plan.output`, and a report beside it.

    Raises what distill.pipeline.train_draft does, and BadParameter for sizes that do not go together.
    """
    from truedraw.engine.pytorch.running import running

    check_output(plan.output, KIND)
    engine: Any = model.engine
    how = TransformerPlan.of(plan.head, plan.sizes)
    config = draft_config(how, engine.vocab_size, engine.context_length, engine.hidden_size)
    told = replace(plan, head=replace(plan.head, hidden=config.intermediate_size))
    found = not_compared(model, told, tell)
    with running(plan.limits.threads):
        training, failed = _trained(found, told, how, config, tell)
        outcome = _written(model, told, training, found, config)
    if failed is not None:
        raise TrainingError(f"{failed}; the best draft before is written: {plan.output}") from failed
    return outcome


def _trained(
    found: Prepared, plan: Plan, how: TransformerPlan, config: ModelConfig, tell: Tell
) -> tuple[Training[Learner], TrainingError | None]:
    path = plan.work / f"{TRANSFORMER}-{how.loss}.checkpoint"
    settings = {"kind": f"draft {TRANSFORMER}", **asdict(how), "config": asdict(config)}
    begin_checkpoint(path, settings, plan.overwrite)
    material = Material(WholeTexts(plan.work, found.data), found.tables)
    training = transformer_training(material, config, how, path, plan.overwrite)
    return training, run_to_end(training, plan, found, tell)


def _written(model: Model, plan: Plan, training: Training[Learner], found: Prepared, config: ModelConfig) -> Outcome:
    tensors = training.learner.tensors(training.best())
    sizes = {"width": config.hidden_size, "layers": config.num_layers, "heads": config.num_heads}
    facts = {
        "kind": TRANSFORMER,
        **facts_of(model, plan, training.state, found),
        **sizes,
        "parameters": num_parameters(config),
        "held_out": _figures(training, as_run(tensors)),
    }
    return written(plan, facts, training, found, lambda: export(plan.output, config, tensors, model.tokenizer, facts))


def _figures(training: Training[Learner], tensors: Arrays) -> dict[str, Any]:
    """Acceptance by position at each temperature, of a folder's tensors."""
    import torch

    learner = training.learner
    words = Folded(tensors[EMBEDDING], tensors[HEAD], learner.draft.words)
    layers = {name: torch.from_numpy(values) for name, values in tensors.items()}
    draft = Draft(learner.draft.config, layers, words)
    return {f"{each:g}": measured(draft, learner.texts, each, LAST_ROWS).to_json() for each in MEASURED}
