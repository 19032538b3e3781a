"""A model's weights as a pass reads them: those of all layers in one array a kind of matrix, one behind the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.matrix import Matrix, dense
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.constants.weights import Constants
from truedraw.engine.constants.writing import Writing
from truedraw.engine.native.blocks import Blocks, blocks_of, eights_of, in_lines, in_whole_tiles, room_in_lines
from truedraw.models.layout import EMBEDDING, HEAD
from truedraw.protocol import ModelConfig

QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
UP = ("mlp.gate_proj", "mlp.up_proj")
KINDS = {"qkv": QKV, "out": ("self_attn.o_proj",), "up": UP, "down": ("mlp.down_proj",)}
OUTPUT = "output"
VECTORS = ("before_attention", "before_feeding", "bias", "query_norm", "key_norm", "last_norm")
FORM = "blocks", 1  # of what is written here
Reals = NDArray[np.float32]


class Laid(NamedTuple):
    """Weights of all layers, as decoder.py takes them."""

    table: tuple[NDArray[np.int8], Reals]  # codes [vocab, width], scales [vocab, groups]
    matrices: tuple[Blocks, ...]  # of KINDS, with an axis of layers in front, and the head, as one layer
    vectors: tuple[Reals, ...]  # VECTORS, all [layers, size or 0] but the last norm

    def first(self, layers: int) -> Laid:
        """Of the first layers; no copy."""
        *own, head = self.matrices
        *norms, last = self.vectors
        some = tuple(Blocks(each.codes[:layers], each.scales[:layers]) for each in own)
        return Laid(self.table, (*some, head), (*(each[:layers] for each in norms), last))


def write_laid(config: ModelConfig, source: Constants, writing: Writing) -> None:
    """All of it, one kind of matrix after the other; what is looked up by row, or read by others, as it is."""
    layers = [f"model.layers.{layer}." for layer in range(config.num_layers)]
    for name, parts in KINDS.items():
        _write_blocks(name, _stacked(source, layers, parts), writing)
    for name, values in zip(VECTORS, _vectors(config, source, layers), strict=True):
        writing.vector(name, values)
    head = EMBEDDING if config.tie_embeddings else HEAD
    for name in dict.fromkeys((EMBEDDING, head)):
        matrix = _whole(source, (name,))
        writing.matrix((name,), matrix)
        if name == head:
            _write_blocks(OUTPUT, _one_more(blocks_of(matrix)), writing)


def _write_blocks(name: str, blocks: Blocks, writing: Writing) -> None:
    for part, values in zip(Blocks._fields, blocks, strict=True):
        writing.array(f"{name}:{part}", values)


def read_laid(held: MappedConstants) -> Laid:
    """A copy of what was written, but for the rows that are looked up."""
    matrices = [
        Blocks(*(in_lines(held.array(f"{name}:{part}")) for part in Blocks._fields)) for name in (*KINDS, OUTPUT)
    ]
    table = held.matrix((EMBEDDING,))
    assert table is not None
    return Laid(_looked_up(table), tuple(matrices), tuple(np.array(held.vector(name)) for name in VECTORS))


def _vectors(config: ModelConfig, constants: Constants, layers: list[str]) -> tuple[Reals, ...]:
    def of(name: str) -> Reals:
        return np.stack([constants.vector(layer + name + ".weight") for layer in layers])

    none = np.zeros((len(layers), 0), np.float32)
    bias = np.stack([_bias(constants, layer) for layer in layers]) if config.qkv_bias else none
    norms = [of(f"self_attn.{name}_norm") if config.qk_norm else none for name in ("q", "k")]
    last = constants.vector("model.norm.weight")
    return of("input_layernorm"), of("post_attention_layernorm"), bias, *norms, last


def _bias(constants: Constants, layer: str) -> Reals:
    return np.concatenate([constants.vector(f"{layer}{part}.bias") for part in QKV])


def _stacked(constants: Constants, layers: list[str], parts: tuple[str, ...]) -> Blocks:
    """The matrices of all layers."""
    held = [_whole(constants, tuple(f"{layer}{part}.weight" for part in parts)) for layer in layers]
    filled = in_whole_tiles if parts == UP else _as_it_is
    return _alike(held, filled) or of_one_form([filled(each) for each in held])


def _as_it_is(matrix: Matrix) -> Matrix:
    return matrix


def _alike(held: list[Matrix], filled: Callable[[Matrix], Matrix]) -> Blocks | None:
    """One after the other, so that only one is held twice; None where their blocks have different forms."""
    whole = None
    for number, matrix in enumerate(held):
        each = blocks_of(filled(matrix))
        if whole is None:
            whole = Blocks(*(room_in_lines((len(held), *some.shape), some.dtype) for some in each))
        if any(many.shape[1:] != one.shape or many.dtype != one.dtype for many, one in zip(whole, each, strict=True)):
            return None
        whole.codes[number], whole.scales[number] = each
    return whole


def of_one_form(held: list[Matrix]) -> Blocks:
    """In codes of 8 bits, and where some share scales among fewer inputs, the finest holds for all."""
    found = [eights_of(each) for each in held]
    if len({each.size for each in found}) > 1:
        found = [eights_of(each, min(each.size for each in found)) for each in held]
    codes, scales = found[0].codes, max((each.scales for each in found), key=np.size)
    whole = Blocks(*(room_in_lines((len(found), *some.shape), some.dtype) for some in (codes, scales)))
    for number, each in enumerate(found):
        whole.codes[number], whole.scales[number] = each
    return whole


def _one_more(blocks: Blocks) -> Blocks:
    return Blocks(blocks.codes[None], blocks.scales[None])


def _whole(constants: Constants, names: tuple[str, ...]) -> Matrix:
    """The matrices one above the other, rounded where their forms differ."""
    found = constants.matrix(names)
    if found is not None:
        return found
    parts = [constants.matrix((name,)) for name in names]
    return Matrix(np.concatenate([dense(part) for part in parts if part is not None]))


def _looked_up(table: Matrix) -> tuple[NDArray[Any], Reals]:
    held = table if table.values.dtype == np.int8 and table.scales is not None else quantise(dense(table))
    assert held.scales is not None
    return held.values, held.scales
