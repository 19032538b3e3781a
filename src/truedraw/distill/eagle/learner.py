"""An EAGLE draft that learns from whole texts, for training.py."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.eagle.evaluation import measured
from truedraw.distill.eagle.gradients import gradient
from truedraw.distill.eagle.network import NAMES, OUTPUT, Tensor
from truedraw.distill.eagle.starting import first_weights
from truedraw.distill.eagle.unrolling import Draft
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.evaluation import SCORE, Measured
from truedraw.distill.gradients import Blend, Seen
from truedraw.distill.known import Known, fast_type
from truedraw.distill.plan import HeadPlan
from truedraw.distill.starting import KNOWN, WEIGHT, learnt_arrays, optimiser_of, weights_in
from truedraw.distill.tables import Tables
from truedraw.distill.training import Training
from truedraw.distill.windows import POSITIONS
from truedraw.protocol import Ints, ModelConfig

LOOK_ROWS = 1500  # of held-out text
HEAD = "lm_head.weight"


class Material(NamedTuple):
    """What is learnt from."""

    texts: WholeRows
    tables: Tables


class EagleLearner:
    """learning.Learner; `arrays`: where it stood after `step` steps, None: at the beginning."""

    positions = POSITIONS

    def __init__(
        self, material: Material, config: ModelConfig, plan: HeadPlan, arrays: Arrays | None = None, step: int = 0
    ) -> None:
        import torch

        self.texts, self._plan = material.texts, plan
        if arrays is None:
            known = material.texts.commonest(plan.vocabulary, len(material.tables.embedding))
            begun = first_weights(config, material.texts, plan.seed)
            arrays = {KNOWN: known, **{WEIGHT + name: values for name, values in begun.items()}}
        self.weights = {
            name: torch.tensor(values).requires_grad_() for name, values in weights_in(arrays, NAMES).items()
        }
        rows = torch.tensor(material.tables.output[arrays[KNOWN]])
        self.draft = draft_of(config, self.weights, material.tables, arrays[KNOWN], rows)
        self.optimiser = optimiser_of(self.weights, plan.rate, arrays, step)

    @property
    def held_out(self) -> str:
        """See learning.Learner."""
        return self.texts.data.held_name

    def gradient(self, step: int, blend: Blend, look: bool) -> tuple[Seen | None, int]:
        """See learning.Learner."""
        batch = self.texts.step(self._plan.seed, step)
        return gradient(self.draft, self.texts.data, batch, blend, look), len(batch.bases)

    def look(self) -> Measured:
        """See learning.Learner."""
        return measured(self.draft, self.texts, SCORE, LOOK_ROWS)

    def arrays(self, moments: bool = True) -> Arrays:
        """See learning.Learner."""
        return {KNOWN: self.draft.known.tokens, **learnt_arrays(self.weights, self.optimiser, moments)}

    def tensors(self, arrays: Arrays) -> Arrays:
        """The folder's, by their names, of the weights in `arrays`."""
        found = weights_in(arrays, NAMES)
        head = self.draft.known.readout.numpy() @ found.pop(OUTPUT)
        return {**found, HEAD: np.asarray(head, np.float32)}


def draft_of(config: ModelConfig, weights: dict[str, Tensor], tables: Tables, tokens: Ints, rows: Tensor) -> Draft:
    """`rows` [known, width]: what `said` is multiplied with."""
    import torch

    output = torch.tensor(tables.output[tokens])
    return Draft(config, weights, Known(tokens, torch.from_numpy(tables.embedding), rows, output, fast_type()))


def eagle_training(
    material: Material, config: ModelConfig, plan: HeadPlan, path: Path, overwrite: bool = False
) -> Training[EagleLearner]:
    """One draft over some texts."""
    return Training(path, plan, partial(EagleLearner, material, config, plan), overwrite)
