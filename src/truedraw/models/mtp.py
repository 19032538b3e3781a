"""Multi-token prediction layers that a checkpoint carries beside its decoder (MiMo, 2505.07608): how many, and of what.

Each is a decoder layer like the model's own behind a fusion of the hidden state of one token with the embedding of the
next. The model is whole without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.errors import BadModelFile
from truedraw.models.fields import Fields
from truedraw.models.layout import Shape, check_shapes, expected_shapes, some
from truedraw.protocol import ModelConfig

PREFIX = "model.mtp_layers."  # then the number of the layer, from 0
CLASSES = ("MiMoForCausalLM",)
COUNT = "num_nextn_predict_layers"
FIRST_LAYER = "model.layers.0."


def is_carrier(fields: Fields) -> bool:
    """Whether config.json is of a class of models that may have such layers."""
    named = fields.get("architectures", [])
    return isinstance(named, list) and any(kind in CLASSES for kind in named if isinstance(kind, str))


def declared_layers(fields: Fields) -> int:
    """As many as config.json says, 0 for a model of another class; raises BadModelFile."""
    if not is_carrier(fields):
        return 0
    count: Any = fields.get(COUNT, 0)
    if type(count) is not int or count < 0:
        raise BadModelFile(f"{fields.where}: {COUNT} is {count!r:.60}, not a whole number of layers")
    return count


def layer_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Name behind the layer's prefix -> shape, for the sizes of the model."""
    width = config.hidden_size
    block = {
        name.removeprefix(FIRST_LAYER): shape
        for name, shape in expected_shapes(config).items()
        if name.startswith(FIRST_LAYER)
    }
    norms = {f"{part}_layernorm.weight": (width,) for part in ("token", "hidden", "final")}
    return {**block, **norms, "input_proj.weight": (width, 2 * width)}


def check_layers(where: object, config: ModelConfig, count: int, found: Mapping[str, Shape]) -> None:
    """`count` layers are in `found` (all tensors of a folder), whole, and nothing else of that prefix.

    Raises BadModelFile naming what is missing, of another shape or unknown.
    """
    left = {name: each for name, each in found.items() if name.startswith(PREFIX) and not name.endswith("inv_freq")}
    parts = layer_shapes(config)
    for number in range(count):
        _take_layer(where, {f"{PREFIX}{number}.{part}": shape for part, shape in parts.items()}, left)
    if left:
        raise BadModelFile(f"{where} holds {some(left)}, which none of its {count} MTP layers should have ({COUNT})")


def _take_layer(where: object, expected: Mapping[str, Shape], left: dict[str, Shape]) -> None:
    if missing := [name for name in expected if name not in left]:
        raise BadModelFile(f"{where} lacks {some(missing)} of its MTP layers; fetch it again")
    check_shapes(where, expected, {name: left.pop(name) for name in expected})
