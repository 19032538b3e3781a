"""The graphs of a draft, over the constants of one folder; network.py has the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.eagle.constants import Constants
from truedraw.draft.eagle.names import EMBEDDING, HEAD, LAST_NORM, NORM, READ_NORM, STREAM_NORM, TEXT_NORM
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.openvino.nodes import (
    Node,
    constant,
    copied,
    integers,
    looked_up,
    named,
    parameter,
    rms_norm,
    split,
    stored,
    times,
)
from truedraw.protocol import Ints
from truedraw.silent_openvino import openvino, operations

QUERIES, KEYS, VALUES = PARTS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
GATES = ("mlp.gate_proj", "mlp.up_proj")


class Graphs:
    """`tokens` are the head's, rising; `read` names the tensors that were read. rounded: matrices become int8."""

    def __init__(self, folder: EagleFolder, embedding: Matrix, unembedding: Matrix, *, rounded: bool) -> None:
        self._folder, self._config, self._names = folder, folder.config, folder.names
        self._width, self._eps = folder.config.hidden_size, folder.config.rms_norm_eps
        self._constants = Constants(folder, rounded=rounded)
        self.read = self._constants.read
        self._embedding = self._constants.own(EMBEDDING) or embedding
        self.tokens, self._head = self._output(unembedding)

    def start(self) -> Any:
        """features [n, streams * width of the target] -> states [n, width]: F f of EAGLE-3."""
        ov = openvino()

        wide = self._folder.width(f"{self._names.fusion}.weight")
        features = parameter("features", [-1, wide], np.float32)
        return ov.Model([named(self._fused(self._read(features, wide), wide), "states")], [features], "start")

    def before(self) -> Any:
        """states [n, width], tokens [n] -> residual [n, width]; q, k, v [n, their heads * head_dim], not rotated.

        An MTP layer is asked with `shown` [n], 1.0, or 0.0 where the token is not to be read.
        """
        ov = openvino()
        op = operations()

        states, tokens = parameter("states", [-1, self._width], np.float32), parameter("tokens", [-1], np.int64)
        asked, e = [states, tokens], looked_up(self._embedding, stored(self._embedding), tokens)
        if self._folder.is_mtp:
            asked.append(parameter("shown", [-1], np.float32))
            e = op.multiply(e, op.unsqueeze(asked[-1], integers(1)))
        residual, read = self._entered(states, e)
        q, k, v = self._projected(read)
        outputs = {"residual": residual, "q": q, "k": k, "v": v}
        return ov.Model([copied(node, name) for name, node in outputs.items()], asked, "before")

    def after(self) -> Any:
        """mixed [n, heads * head_dim], residual [n, width] -> after [n, width], logits [n, known]."""
        ov = openvino()
        op = operations()

        heads = self._config.num_heads * self._config.head_dim
        mixed = parameter("mixed", [-1, heads], np.float32)
        residual = parameter("residual", [-1, self._width], np.float32)
        y = op.add(residual, self._layer(mixed, ["self_attn.o_proj"], heads, [self._width]))
        inner = self._config.intermediate_size
        both = self._layer(self._layer_norm(y, "post_attention_layernorm.weight"), [*GATES], self._width, [inner] * 2)
        gate, up = split(both, [inner, inner])
        z = op.add(y, self._layer(op.multiply(op.swish(gate), up), ["mlp.down_proj"], inner, [self._width]))
        said = self._said(z)
        logits = times(said, self._head)
        state = said if self._folder.norm_output else z
        return ov.Model([copied(state, "after"), named(logits, "logits")], [mixed, residual], "after")

    def _read(self, features: Node, wide: int) -> Node:
        """What F reads: normed as a whole, stream by stream, or as it is."""
        op = operations()

        if self._folder.has(READ_NORM):
            return self._normed(features, READ_NORM)
        if not self._folder.has(STREAM_NORM.format(0)):
            return features
        size = self._folder.target_width
        streams = enumerate(split(features, [size] * (wide // size)))
        gains = self._constants.vector
        return op.concat([rms_norm(x, gains(STREAM_NORM.format(i), size)[None], self._eps) for i, x in streams], 1)

    def _said(self, z: Node) -> Node:
        """What the head reads."""
        if self._folder.is_mtp:
            return self._layer_norm(z, "final_layernorm.weight")
        norm = NORM if self._folder.is_third else LAST_NORM
        return self._normed(z, norm) if self._folder.is_third or self._folder.has(norm) else z

    def _entered(self, h: Node, e: Node) -> tuple[Node, Node]:
        """r and a."""
        if self._folder.is_mtp:
            return self._mtp(h, e)
        return self._third(h, e) if self._folder.is_third else self._first(h, e)

    def _first(self, h: Node, e: Node) -> tuple[Node, Node]:
        """r and a of EAGLE."""
        op = operations()

        e = self._normed(e, TEXT_NORM) if self._folder.has(TEXT_NORM) else e
        u = self._fused(op.concat([e, h], 1), 2 * self._width)
        name = self._names.of("input_layernorm.weight")
        return u, self._normed(u, name) if self._folder.has(name) else u

    def _third(self, h: Node, e: Node) -> tuple[Node, Node]:
        """r and a of EAGLE-3."""
        op = operations()

        normed = self._layer_norm(h, "hidden_norm.weight")
        read = op.concat([self._layer_norm(e, "input_layernorm.weight"), normed], 1)
        return normed if self._folder.norm_before_residual else h, read

    def _mtp(self, h: Node, e: Node) -> tuple[Node, Node]:
        """r and a of an MTP layer."""
        op = operations()

        parts = [self._layer_norm(h, "hidden_layernorm.weight"), self._layer_norm(e, "token_layernorm.weight")]
        u = self._fused(op.concat(parts, 1), 2 * self._width)
        return u, self._layer_norm(u, "input_layernorm.weight")

    def _projected(self, read: Node) -> list[Node]:
        """q, k, v of a [n, width or twice that]."""
        config, wide = self._config, self._width * (2 if self._folder.is_third else 1)
        heads = (config.num_heads, config.num_kv_heads, config.num_kv_heads)
        sizes = [count * config.head_dim for count in heads]
        q, k, v = split(self._layer(read, [*PARTS], wide, sizes), sizes)
        return [self._head_norm(q, "self_attn.q_norm.weight"), self._head_norm(k, "self_attn.k_norm.weight"), v]

    def _head_norm(self, x: Node, part: str) -> Node:
        """Each head normed, where the layer does that (qwen3)."""
        op = operations()

        name, width = self._names.of(part), self._config.head_dim
        if not self._folder.has(name):
            return x
        whole = op.reshape(x, integers(0, -1, width), True)
        normed = rms_norm(whole, self._constants.vector(name, width)[None, None], self._eps)
        return op.reshape(normed, op.shape_of(x), False)

    def _layer(self, x: Node, parts: list[str], width: int, sizes: list[int]) -> Node:
        """x [n, width] times matrices of the layer side by side, with the biases that there are."""
        names = [self._names.of(part) for part in parts]
        return self._product(x, [(name, size) for name, size in zip(names, sizes, strict=True)], width)

    def _fused(self, x: Node, width: int) -> Node:
        return self._product(x, [(self._names.fusion, self._width)], width)

    def _product(self, x: Node, parts: list[tuple[str, int]], width: int) -> Node:
        op = operations()

        matrix = self._constants.kept(
            np.concatenate([self._constants.numbers(f"{name}.weight", (size, width)) for name, size in parts])
        )
        found = times(x, matrix)
        if not any(self._folder.has(f"{name}.bias") for name, _ in parts):
            return found
        biases = [self._constants.bias(f"{name}.bias", size) for name, size in parts]
        return op.add(found, constant(np.concatenate(biases)[None], np.float32))

    def _layer_norm(self, x: Node, part: str) -> Node:
        return self._normed(x, self._names.of(part))

    def _normed(self, x: Node, name: str) -> Node:
        size = int(x.get_output_partial_shape(0)[1].get_length())
        return rms_norm(x, self._constants.vector(name, size)[None], self._eps)

    def _output(self, unembedding: Matrix) -> tuple[Ints, Matrix]:
        """Tokens, rising, and the rows of the head for them."""
        if not self._folder.is_third:
            own = self._constants.own(HEAD)
            return np.arange(self._config.vocab_size), own or unembedding
        tokens = self._folder.tokens()
        order = np.argsort(tokens)
        rows = self._constants.numbers(HEAD, (len(tokens), self._width))
        return tokens[order], self._constants.kept(np.ascontiguousarray(rows[order]))
