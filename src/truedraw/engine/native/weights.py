"""A model's weights as a pass reads them: those of all layers in one array a kind of matrix, one behind the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.matrix import Matrix, dense
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.constants.weights import Constants, ConvertedConstants
from truedraw.engine.constants.writing import Writing
from truedraw.engine.native.blocks import Blocks, in_lines
from truedraw.engine.native.layers import Kind, Mixed, first_of, given, stacked
from truedraw.engine.native.laying import blocks_of, in_whole_tiles
from truedraw.models.layout import EMBEDDING, HEAD
from truedraw.protocol import ModelConfig
from truedraw.threads.processors import processors

QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
UP = ("mlp.gate_proj", "mlp.up_proj")
KINDS = {"qkv": QKV, "out": ("self_attn.o_proj",), "up": UP, "down": ("mlp.down_proj",)}
OUTPUT, COARSER, FINER, AT = "output", "coarser", "finer", "at"
VECTORS = ("before_attention", "before_feeding", "bias", "query_norm", "key_norm", "last_norm")
FORM = "blocks", 4  # of what is written here
Reals = NDArray[np.float32]


class Laid(NamedTuple):
    """Weights of all layers, as decoder.py takes them."""

    table: tuple[NDArray[np.int8], Reals]  # codes [vocab, width], scales [vocab, groups]
    kinds: tuple[Kind, ...]  # of KINDS
    head: Blocks  # with an axis in front, as if it were all layers'
    vectors: tuple[Reals, ...]  # VECTORS, all [layers, size or 0] but the last norm

    @property
    def num_bytes(self) -> int:
        """Of all but the rows that are looked up, which stay in their file."""
        return sum(part.nbytes for kind in (*self.kinds, self.head) for part in given(kind))

    def first(self, layers: int) -> Laid:
        """Of the first layers; no copy."""
        *norms, last = self.vectors
        kinds = tuple(first_of(each, layers) for each in self.kinds)
        return Laid(self.table, kinds, self.head, (*(each[:layers] for each in norms), last))


def write_laid(config: ModelConfig, source: ConvertedConstants, writing: Writing) -> None:
    """All of it, one kind of matrix after the other; what is looked up by row, or read by others, as it is."""
    layers = [f"model.layers.{layer}." for layer in range(config.num_layers)]
    for name, parts in KINDS.items():
        write_kind(name, _stacked(source, layers, parts), writing)
    for name, values in zip(VECTORS, _vectors(config, source, layers), strict=True):
        writing.vector(name, values)
    head = EMBEDDING if config.tie_embeddings else HEAD
    for name in dict.fromkeys((EMBEDDING, head)):
        writing.matrix((name,), _whole(source, (name,)))
    write_kind(OUTPUT, _one_more(blocks_of(source.multiplied(head))), writing)


def write_kind(name: str, kind: Kind, writing: Writing) -> None:
    """Matrices under a name of their own."""
    if isinstance(kind, Mixed):
        for part, blocks in ((COARSER, kind.coarser), (FINER, kind.finer)):
            write_kind(f"{name}:{part}", blocks, writing)
        writing.array(f"{name}:{AT}", kind.at)
        return
    for part, values in zip(Blocks._fields, kind, strict=True):
        writing.array(f"{name}:{part}", values)


def _read_kind(name: str, held: MappedConstants) -> Kind:
    if f"{name}:{AT}" not in held:
        return read_blocks(name, held)
    coarser, finer = (read_blocks(f"{name}:{part}", held) for part in (COARSER, FINER))
    return Mixed(coarser, finer, np.array(held.array(f"{name}:{AT}")))


def read_blocks(name: str, held: MappedConstants) -> Blocks:
    """A copy of what was written under that name, where all of it has one form."""
    return Blocks(*(in_lines(held.array(f"{name}:{part}")) for part in Blocks._fields))


def read_laid(held: MappedConstants) -> Laid:
    """A copy of what was written, but for the rows that are looked up."""
    with ThreadPoolExecutor(processors()) as pool:  # mostly the system hands out memory
        read = pool.map(lambda name: _read_kind(name, held), KINDS)
        head, kinds = read_blocks(OUTPUT, held), tuple(read)
    table = held.matrix((EMBEDDING,))
    assert table is not None
    return Laid(_looked_up(table), kinds, head, tuple(np.array(held.vector(name)) for name in VECTORS))


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


def _stacked(constants: Constants, layers: list[str], parts: tuple[str, ...]) -> Kind:
    """The matrices of all layers."""
    held = [_whole(constants, tuple(f"{layer}{part}.weight" for part in parts)) for layer in layers]
    return stacked([in_whole_tiles(each) for each in held] if parts == UP else held)


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
