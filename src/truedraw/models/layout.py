"""Which tensors a decoder has: their Hugging Face names and shapes, computed from the config alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.protocol import ModelConfig
from truedraw.sampling.values import shown

ARCHITECTURES = ("llama", "qwen2", "qwen3")
EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
SHOWN = 3  # names in a message

Shape = tuple[int, ...]


def expected_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Hugging Face name -> shape of every tensor of the model; the head is left out where it is tied."""
    table = config.vocab_size, config.hidden_size
    shapes: dict[str, Shape] = {EMBEDDING: table, "model.norm.weight": (config.hidden_size,)}
    if not config.tie_embeddings:
        shapes[HEAD] = table
    block = _block(config)
    for layer in range(config.num_layers):
        shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in block.items()})
    return shapes


def _block(config: ModelConfig) -> dict[str, Shape]:
    """Tensors of one layer."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    shapes: dict[str, Shape] = {
        "input_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (keys, hidden),
        "self_attn.v_proj.weight": (keys, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "post_attention_layernorm.weight": (hidden,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    if config.qkv_bias:
        shapes |= {
            "self_attn.q_proj.bias": (queries,),
            "self_attn.k_proj.bias": (keys,),
            "self_attn.v_proj.bias": (keys,),
        }
    if config.qk_norm:
        shapes |= {
            "self_attn.q_norm.weight": (config.head_dim,),
            "self_attn.k_norm.weight": (config.head_dim,),
        }
    return shapes


def num_parameters(config: ModelConfig) -> int:
    """A tied head counts once."""
    return sum(math.prod(shape) for shape in expected_shapes(config).values())


def check_tensors(where: object, config: ModelConfig, found: Mapping[str, Shape]) -> None:
    """Every expected tensor is there in its shape, and no other, which the graph would leave out."""
    _check_sizes(where, config, len(found))
    expected = expected_shapes(config)
    missing = [name for name in expected if name not in found]
    if missing:
        raise BadModelFile(f"{where} lacks {some(missing)}; the file is incomplete, fetch it again")
    check_shapes(where, expected, found)
    surplus = [name for name in found if name not in expected]
    if surplus:
        raise UnsupportedModel(
            f"{where} has tensors that a {config.architecture} model does not use: {some(surplus)}; "
            f"supported architectures: {', '.join(ARCHITECTURES)}"
        )


def check_shapes(where: object, expected: Mapping[str, Shape], found: Mapping[str, Shape]) -> None:
    """Raises BadModelFile where one of the expected tensors, which are all there, has another shape."""
    wrong = [f"{name} {[*found[name]]} (expected {[*shape]})" for name, shape in expected.items()
             if found[name] != shape]  # fmt: skip
    if wrong:
        raise BadModelFile(f"{where} has tensors of another shape than its config says: {some(wrong)}")


def _check_sizes(where: object, config: ModelConfig, num_tensors: int) -> None:
    """Asked before a table of the expected tensors is made: a broken file may name any number of layers."""
    if config.num_heads % config.num_kv_heads or config.head_dim % 2:
        heads = f"{config.num_heads} heads of {config.head_dim} values, {config.num_kv_heads} key-value heads"
        raise BadModelFile(f"{where} has {heads}; heads must share evenly and be of even size")
    if config.num_layers > num_tensors:
        raise BadModelFile(
            f"{where} names {shown(config.num_layers)} layers, and there are {num_tensors} tensors in all; "
            "the files do not belong together or are incomplete, fetch them again"
        )


def some(names: Collection[str]) -> str:
    """The first of them, and how many more there are."""
    first = ", ".join([*names][:SHOWN])
    return first if len(names) <= SHOWN else f"{first} and {len(names) - SHOWN} more"
