"""A checkpoint of Medusa's own repository as numbers of a head of the kind "medusa".

    config.json                                medusa_num_heads, medusa_num_layers, base_model_name_or_path
    medusa_lm_head.safetensors or .pt          by head and layer from 0
        {head}.{layer}.linear.weight, .bias    [width, width], [width]: a residual block
        {head}.{medusa_num_layers}.weight      [vocab, width]: rows of its own; without, it writes with the target's

Head number k from 0 was trained on the token k + 2 places behind the row it reads. The target itself draws the first
one, so that it is our level k + 1. Nothing in such a folder says which tokenizer it is for but the name of its model.
Published ones have more heads than their config says.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.folder_tensors import Tensor
from truedraw.draft.head.card import MEDUSA, MOST_HEADS, UNKNOWN, Card
from truedraw.draft.head.medusa.names import check_heads, place
from truedraw.draft.torch_file import read_torch
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import codes_of
from truedraw.errors import BadFile
from truedraw.models.fields import Fields
from truedraw.models.safetensors_file import read_header

HEADS, LAYERS, BASE = "medusa_num_heads", "medusa_num_layers", "base_model_name_or_path"
WEIGHTS = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")
SHOWN = 3  # names in a message
OUTER = "medusa_head."  # before the names of some conversions


class MedusaFolder:
    """draft.head.file.Numbers of such a folder, matrices as int8, for a target of `vocab_size` rows; raises BadFile."""

    def __init__(self, path: Path, said: Fields, vocab_size: int) -> None:
        self.path = path
        said.refuse("logit_scale", (None, 1))
        heads, self._layers = check_heads(path, said.positive(HEADS)), said.positive(LAYERS, 1)
        self._tensors = _tensors(path)
        width = self._shape("0.0.linear.weight")[0]
        heads += self._further(heads)
        own = [self.has(f"rows.{level}") for level in range(1, heads + 1)]
        if any(own) and not all(own):
            raise BadFile(f"{path} has output rows for some of its {heads} heads only; fetch it again")
        self._check_all_known()
        known = self._shape(f"0.{self._layers}.weight")[0] if all(own) else vocab_size
        self.card = Card(MEDUSA, str(said.get(BASE, path.name)), UNKNOWN, known, width, (), known, heads=heads)
        self.tokens = np.arange(known)

    def _further(self, said: int) -> int:
        """Whole heads right behind those of the settings, which say too few in some published folders."""
        parts = [name.removeprefix("0.") for name in self._tensors if name.startswith("0.")]
        whole = (all(f"{head}.{part}" in self._tensors for part in parts) for head in range(said, MOST_HEADS))
        return sum(takewhile(bool, whole))

    def _check_all_known(self) -> None:
        """Raises BadFile where heads have more than their settings say; there may be more heads."""
        layers = [
            f"{layer}.linear.{part}"
            for layer in range(min(self._layers, len(self._tensors)))
            for part in ("weight", "bias")
        ]
        known = {*layers, f"{self._layers}.weight"}
        strange = [name for name in self._tensors if not name[:1].isdecimal() or name.partition(".")[2] not in known]
        if strange:
            raise BadFile(
                f"{self.path} holds {', '.join(sorted(strange)[:SHOWN])}, which a head of {LAYERS} = {self._layers} "
                "has not: it would be another network; put the config.json there that belongs to it"
            )

    def has(self, matrix: str) -> bool:
        """See Numbers."""
        kind, _, layer = place(matrix)
        return layer < self._layers if kind == "block" else kind == "rows" and self._weight(matrix) in self._tensors

    def rows(self, name: str) -> int:
        """See Numbers."""
        return self._shape(self._weight(name))[0]

    def matrix(self, name: str, shape: tuple[int, int]) -> Matrix:
        """See Numbers."""
        return codes_of(self._dense(self._weight(name), shape))

    def vector(self, name: str, size: int) -> NDArray[np.float32]:
        """See Numbers."""
        if name == "gain":
            return np.ones(size, np.float32)
        return self._dense(self._weight(name.removesuffix(".bias")).removesuffix("weight") + "bias", (size,))

    def _weight(self, name: str) -> str:
        """What the folder calls it."""
        kind, head, layer = place(name)
        return f"{head}.{layer}.linear.weight" if kind == "block" else f"{head}.{self._layers}.weight"

    def _dense(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if self._shape(name) != shape:
            raise BadFile(f"{self.path} is damaged: {name} is {self._shape(name)} and should be {shape}")
        found = self._tensors[name].dense()
        if not np.isfinite(found).all():
            raise BadFile(f"{self.path} is damaged: {name} has values that are no numbers")
        return found

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self._tensors or not all(self._tensors[name].shape or (0,)):
            raise BadFile(f"{self.path} lacks {name}; fetch it again")
        return self._tensors[name].shape


def _tensors(path: Path) -> Mapping[str, Tensor]:
    """Those of the first file that is there."""
    there = [path / name for name in WEIGHTS if (path / name).is_file()]
    if not there:
        raise BadFile(f"{path} has neither {' nor '.join(WEIGHTS)}; fetch one of them into it")
    found: Mapping[str, Tensor] = (read_torch if there[0].suffix == ".pt" else read_header)(there[0])
    return {name.removeprefix(OUTER): tensor for name, tensor in found.items()}
