"""The graph of a llama-family decoder in the stateful form: ids and masks in, a cache kept inside.

Other systems read this form and rebuild the attention in it, so the patterns are the ones they look for: keys and
values that are repeated for groups of queries by a broadcast, one scaled dot product a layer, int8 matrices with one
scale a channel. The numbers are those of truedraw's own int8 weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.openvino.nodes import Node, constant, integers, linear, parameter, rms_norm, take_rows
from truedraw.protocol import ModelConfig, Weights
from truedraw.silent_openvino import openvino, operations

EMBEDDING, HEAD = "model.embed_tokens", "lm_head"
UNSEEN = -1e9  # added to the score of a key that a query must not see


class Exporter:
    """Builds the graph."""

    def __init__(self, config: ModelConfig, weights: Weights, int8: bool) -> None:
        self._config, self._weights, self._int8 = config, weights, int8
        self._ids, self._mask, self._positions = (
            parameter(name, [-1, -1], np.int64) for name in ("input_ids", "attention_mask", "position_ids")
        )
        self._beam = parameter("beam_idx", [-1], np.int32)
        self._sinks: list[Node] = []

    def model(self) -> Any:
        """The openvino.Model; its output is logits [batch, length, vocab]."""
        ov = openvino()
        op = operations()

        x = take_rows(self._matrix(EMBEDDING), self._ids)
        for layer in range(self._config.num_layers):
            prefix = f"model.layers.{layer}."
            x = op.add(x, self._attention(self._norm(x, prefix + "input_layernorm"), prefix + "self_attn."))
            x = op.add(x, self._feed_forward(self._norm(x, prefix + "post_attention_layernorm"), prefix + "mlp."))
        logits = self._linear(self._norm(x, "model.norm"), EMBEDDING if self._config.tie_embeddings else HEAD)
        logits.output(0).get_tensor().set_names({"logits"})
        inputs = [self._ids, self._mask, self._positions, self._beam]
        return ov.Model([op.result(logits)], self._sinks, inputs, "exported")

    def _matrix(self, name: str) -> Node:
        op = operations()

        values = self._weights.dense(name + ".weight")
        if not self._int8:
            return op.constant(values)
        matrix: Matrix = quantise(values)
        return op.multiply(op.convert(op.constant(matrix.values), "f32"), op.constant(matrix.scales))

    def _linear(self, x: Node, name: str) -> Node:
        return linear(x, self._matrix(name))

    def _norm(self, x: Node, name: str) -> Node:
        gain = self._weights.dense(name + ".weight").reshape(1, 1, -1)
        return rms_norm(x, gain, self._config.rms_norm_eps)

    def _heads(self, x: Node) -> Node:
        """[batch, heads, length, head_dim]."""
        op = operations()

        shaped = op.reshape(x, integers(0, 0, -1, self._config.head_dim), True)
        return op.transpose(shaped, integers(0, 2, 1, 3))

    def _rotated(self, x: Node) -> Node:
        op = operations()

        half = self._config.head_dim // 2
        frequencies = self._config.rope_theta ** (-np.arange(half, dtype=np.float32) / half)
        positions = op.convert(op.unsqueeze(self._positions, integers(1, 3)), "f32")
        angles = op.multiply(positions, op.constant(np.concatenate([frequencies] * 2).reshape(1, 1, 1, -1)))
        low, high = op.split(x, constant(3, np.int64), 2).outputs()
        turned = op.concat([op.multiply(high, constant(-1, np.float32)), low], -1)
        return op.add(op.multiply(x, op.cos(angles)), op.multiply(turned, op.sin(angles)))

    def _remembered(self, fresh: Node, name: str) -> Node:
        """Old keys or values with the new ones behind them."""
        ov = openvino()
        op = operations()
        from openvino.op.util import Variable, VariableInfo

        heads, size = self._config.num_kv_heads, self._config.head_dim
        info = VariableInfo()
        info.data_shape = ov.PartialShape([-1, heads, -1, size])
        info.data_type, info.variable_id = ov.Type.f32, name
        variable = Variable(info)
        batch = take_rows(op.shape_of(self._ids), integers(0))
        empty = op.broadcast(constant(0, np.float32), op.concat([batch, integers(heads, 0, size)], 0))
        past = take_rows(op.read_value(empty, variable), self._beam)
        whole = op.concat([past, fresh], 2)
        self._sinks.append(op.assign(whole, variable))
        return whole

    def _repeated(self, x: Node) -> Node:
        """Every key or value head for each query head of its group."""
        op = operations()

        config = self._config
        groups = config.num_heads // config.num_kv_heads
        if groups == 1:
            return x
        batch_and_heads = take_rows(op.shape_of(x), integers(0, 1))
        rest = take_rows(op.shape_of(x), integers(2, 3))
        shape = op.concat([batch_and_heads, integers(groups), rest], 0)
        wide = op.broadcast(op.unsqueeze(x, integers(2)), shape, broadcast_spec="BIDIRECTIONAL")
        return op.reshape(wide, integers(0, config.num_heads, -1, config.head_dim), True)

    def _attention(self, x: Node, prefix: str) -> Node:
        op = operations()

        q, k, v = (self._heads(self._linear(x, f"{prefix}{part}_proj")) for part in "qkv")
        k = self._remembered(self._rotated(k), prefix + "key")
        v = self._remembered(v, prefix + "value")
        seen = self._causal(k)
        mixed = op.scaled_dot_product_attention(
            self._rotated(q), self._repeated(k), self._repeated(v), seen, causal=False
        )
        flat = op.reshape(op.transpose(mixed, integers(0, 2, 1, 3)), integers(0, 0, -1), True)
        return self._linear(flat, prefix + "o_proj")

    def _causal(self, k: Node) -> Node:
        """[batch, 1, queries, keys]: 0 where a query sees a key, far below zero elsewhere."""
        op = operations()

        length = take_rows(op.shape_of(k), constant(2, np.int64))
        keys = op.range(constant(0, np.int64), length, constant(1, np.int64), "i64")
        later = op.greater(op.unsqueeze(keys, integers(0, 1, 2)), op.unsqueeze(self._positions, integers(1, 3)))
        hidden = op.equal(op.unsqueeze(self._mask, integers(1, 2)), constant(0, np.int64))
        return op.select(op.logical_or(later, hidden), constant(UNSEEN, np.float32), constant(0, np.float32))

    def _feed_forward(self, x: Node, prefix: str) -> Node:
        op = operations()

        gate = op.swish(self._linear(x, prefix + "gate_proj"))
        return self._linear(op.multiply(gate, self._linear(x, prefix + "up_proj")), prefix + "down_proj")
