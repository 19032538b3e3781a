"""Weights -> what constants hold: integers, codes as stored where integer kernels take them, or floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.bfloat16 import narrowed
from truedraw.engine.constants.matrix import INT4_BITS, Matrix
from truedraw.engine.constants.rounding import INT4_GROUP, PART_ROWS, codes_of, codes_of_parts, quantise, quantise4
from truedraw.errors import BadModelFile
from truedraw.models.layout import EMBEDDING, HEAD, expected_shapes
from truedraw.protocol import ModelConfig, Packed, ReadsInParts, Weights

WeightsName = Literal["auto", "int8", "int4", "stored"]
WEIGHTS: tuple[WeightsName, ...] = ("auto", "int8", "int4", "stored")
INTEGERS = ("int8", "int4")
READ_BY_GRAPHS = (EMBEDDING, HEAD)  # of drafts too, whoever computes the target
FOR_OUR_KERNELS = ("Q4_1", "Q4_K", "Q5_K", "Q6_K")  # types that no graph holds as stored
STACKED = (
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    ("mlp.gate_proj", "mlp.up_proj"),
)
"""Matrices that read the same rows: one product instead of several is about a twentieth of a pass faster."""


class Constants(Protocol):
    """Where a graph gets its constants from."""

    def matrix(self, names: tuple[str, ...]) -> Matrix | None:
        """The matrices stacked along their outputs, or None where they are kept in different forms."""
        ...

    def vector(self, name: str) -> NDArray[np.float32]:
        """A gain or a bias [size]."""
        ...


class ConvertedConstants:
    """Constants made from a model's weights when asked for; nothing is kept.

    `policy` is "float32", "int8", "int4", "stored", "auto" or "grouped". "auto" keeps Q8_0 and Q4_0 as stored, whose
    kernels run at the speed of int8 a channel or above it, and turns every other type into int8: half-precision kernels
    take about a third longer for a pass of a few rows, and no exact kernel for Q4_1 runs at speed. "int4" rounds what
    is not stored in 4 bits without least values already, for a copy that drafts: it is the least that the kernels
    take, and too little to be the model's own law. An embedding keeps 8 bits, also where it is the head. "grouped" is
    for kernels of this package: "auto" with a scale for each 64 input features in place of one a row, and codes of 4
    and 5 bits with least values, and of 6 bits, as stored.
    """

    def __init__(self, weights: Weights, policy: str) -> None:
        self._weights, self._policy = weights, policy

    def matrix(self, names: tuple[str, ...]) -> Matrix | None:
        """See Constants."""
        parts = [self._read(name) for name in names]
        if len({part.form for part in parts}) > 1:
            return None
        return _stack(parts)

    def multiplied(self, name: str) -> Matrix:
        """A matrix for products alone: as stored also where others, who look rows up, cannot have it so."""
        return self._read(name, alone=True)

    def vector(self, name: str) -> NDArray[np.float32]:
        """See Constants."""
        return self._dense(name)

    def _dense(self, name: str) -> NDArray[np.float32]:
        """The tensor; raises BadModelFile where it holds what is no number, before all that is computed is none."""
        return _finite(name, self._weights.dense(name))

    def _read(self, name: str, *, alone: bool = False) -> Matrix:
        if self._policy == "float32":
            return Matrix(self._dense(name))
        packed = self._packed(name, alone=alone)
        if packed is not None and (self._policy != "int4" or packed.bits == INT4_BITS):
            for numbers in (packed.scales, packed.least):
                if numbers is not None:
                    _finite(name, numbers)
            return from_packed(packed, wide=name == EMBEDDING and not alone)
        if self._policy == "stored":
            return _half(self._dense(name), self._weights.stored_as(name))
        if self._policy == "grouped":
            return self._grouped(name)
        dense = self._dense(name)
        four = self._policy == "int4" and name != EMBEDDING and dense.shape[1] % INT4_GROUP == 0
        return quantise4(dense) if four else quantise(dense)

    def _grouped(self, name: str) -> Matrix:
        """In parts, where the weights have them: a large embedding in float32 takes as much as the rest of a model."""
        if not isinstance(self._weights, ReadsInParts):
            return codes_of(self._dense(name), short=True)
        rows, parts = self._weights.parts(name, PART_ROWS)
        return codes_of_parts(rows, (_finite(name, part) for part in parts), short=True)

    def _packed(self, name: str, *, alone: bool) -> Packed | None:
        """As stored, where what reads this matrix can hold it."""
        ours = self._policy == "grouped" and (alone or name not in READ_BY_GRAPHS)
        if self._policy == "int8" or (not ours and self._weights.stored_as(name) in FOR_OUR_KERNELS):
            return None
        packed = self._weights.packed(name)
        return packed if ours or packed is None or (packed.least is None and not packed.nested) else None


def _finite(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The values; raises BadModelFile where some are no numbers."""
    if not np.isfinite(values).all():
        raise BadModelFile(f"the tensor {name} holds values that are no finite numbers; fetch the model again")
    return values


def stacks(config: ModelConfig) -> Iterator[tuple[str, ...]]:
    """The matrices of a model as the graph asks for them: first together, then each one that stands alone."""
    together = {
        f"model.layers.{layer}.{part}.weight": tuple(f"model.layers.{layer}.{name}.weight" for name in group)
        for layer in range(config.num_layers)
        for group in STACKED
        for part in group
    }
    matrices = [name for name, shape in expected_shapes(config).items() if len(shape) == 2]
    yield from dict.fromkeys(together.get(name, (name,)) for name in matrices)


def vectors(config: ModelConfig) -> list[str]:
    """Gains and biases."""
    return [name for name, shape in expected_shapes(config).items() if len(shape) == 1]


def _stack(parts: list[Matrix]) -> Matrix:
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([part.values for part in parts])
    nested = tuple(np.concatenate(some) for some in zip(*(part.nested for part in parts), strict=True))
    scales, least = (
        np.concatenate(found)
        if (found := [some for part in parts if (some := getattr(part, name)) is not None])
        else None
        for name in ("scales", "least")
    )
    return Matrix(values, scales, parts[0].zero, least, nested)


def from_packed(packed: Packed, *, wide: bool = False) -> Matrix:
    """Codes as stored; `wide`: 4 bits as 8, exactly, because rows of a 4-bit constant cannot be looked up."""
    assert packed.least is None or not wide  # see READ_BY_GRAPHS
    if packed.bits > INT4_BITS or wide:
        around_zero = packed.codes.astype(np.int8) - np.int8(packed.zero)
        return Matrix(around_zero, packed.scales, 0, packed.least, packed.nested)
    codes = packed.codes.astype(np.uint8, copy=False)
    return Matrix(codes[:, ::2] | codes[:, 1::2] << INT4_BITS, packed.scales, packed.zero, packed.least, packed.nested)


def _half(values: NDArray[np.float32], stored: str) -> Matrix:
    """F16, BF16 and F32 as they are; a quantised type that no fast kernel holds becomes float16."""
    if stored == "F32":
        return Matrix(values)
    if stored == "BF16":
        return Matrix(narrowed(values))
    return Matrix(values.astype(np.float16))
