"""A draft that learns: its network, its texts, its optimiser, out of arrays and into arrays."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import SCORE, Measured
from truedraw.distill.gradients import Blend, Seen
from truedraw.distill.independent.evaluation import measured
from truedraw.distill.independent.gradients import Draft, gradient
from truedraw.distill.independent.plan import TransformerPlan
from truedraw.distill.independent.starting import first_weights, names_of
from truedraw.distill.independent.whole_texts import WholeTexts
from truedraw.distill.independent.words import Words
from truedraw.distill.starting import KNOWN, WEIGHT, learnt_arrays, optimiser_of, weights_in
from truedraw.distill.tables import Tables
from truedraw.distill.training import Training
from truedraw.models.layout import EMBEDDING, HEAD
from truedraw.protocol import ModelConfig

LOOKED = 0  # the step whose sample of tokens is looked at on held-out text
LOOK_ROWS = 2000  # of held-out text: such a look takes about as long as a step


class Material(NamedTuple):
    """What is learnt from."""

    texts: WholeTexts
    tables: Tables


class Learner:
    """learning.Learner of a draft of the sizes `config`.

    `arrays`: where it stood after `step` steps, None: at the beginning.
    """

    positions = 1  # places of a chain do not differ

    def __init__(
        self,
        material: Material,
        config: ModelConfig,
        plan: TransformerPlan,
        arrays: Arrays | None = None,
        step: int = 0,
    ) -> None:
        import torch

        self.texts, self._plan = material.texts, plan
        data = material.texts.data
        if arrays is None:
            known = data.commonest(plan.vocabulary, config.vocab_size)
            begun = first_weights(config, material.tables, data, known, plan.seed)
            arrays = {KNOWN: known, **{WEIGHT + name: values for name, values in begun.items()}}
        begun = weights_in(arrays, names_of(config))
        weights = {name: torch.tensor(values).requires_grad_() for name, values in begun.items()}
        self._words = Words(material.tables, arrays[KNOWN])
        self.draft, self.weights = Draft(config, weights, self._words), weights
        self.optimiser = optimiser_of(weights, plan.rate, arrays, step)

    @property
    def held_out(self) -> str:
        """See learning.Learner."""
        return self.texts.data.held_name

    def gradient(self, step: int, blend: Blend, look: bool) -> tuple[Seen | None, int]:
        """See learning.Learner."""
        batch = self.texts.step(self._plan.seed, step)
        columns = self._words.columns(self._plan.seed, step)
        seen = gradient(self.draft, self.texts.data, batch, columns, (blend.loss, blend.share), look)
        return seen and Seen(seen.loss, (seen.kept,)), len(batch.rows)

    def look(self) -> Measured:
        """See learning.Learner."""
        return self.measured(SCORE, LOOK_ROWS)

    def measured(self, temperature: float, most: int) -> Measured:
        """On held-out text, looking at no more tokens than a step does, the same ones each time."""
        return measured(self.draft, self.texts, temperature, most, self._words.columns(self._plan.seed, LOOKED))

    def tensors(self, arrays: Arrays) -> Arrays:
        """A llama model's by their Hugging Face names, of the weights in `arrays`."""
        import torch

        weights = {name: torch.tensor(values) for name, values in weights_in(arrays, self.weights).items()}
        into, out = self._words.tables(weights)
        layers = {name: values.numpy() for name, values in weights.items() if name.startswith("model.")}
        return {EMBEDDING: into, HEAD: out, **layers}

    def arrays(self, moments: bool = True) -> Arrays:
        """See learning.Learner."""
        return {KNOWN: self._words.known, **learnt_arrays(self.weights, self.optimiser, moments)}


def transformer_training(
    material: Material, config: ModelConfig, plan: TransformerPlan, path: Path, overwrite: bool = False
) -> Training[Learner]:
    """One draft over some texts."""
    return Training(path, plan, partial(Learner, material, config, plan), overwrite)
