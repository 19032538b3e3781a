"""A tiny decoder as the stateful OpenVINO model that exporters write: ids and masks in, a cache kept inside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as op
from openvino.op.util import Variable, VariableInfo

from truedraw.protocol import ModelConfig


def integers(*values):
    return op.constant(np.array(values, np.int64))


class Exporter:
    def __init__(self, config: ModelConfig, weights) -> None:
        self.config, self.weights = config, weights
        self.ids, self.mask, self.positions = (
            self._input(name, [-1, -1], np.int64) for name in ("input_ids", "attention_mask", "position_ids")
        )
        self.beam = self._input("beam_idx", [-1], np.int32)
        self.sinks = []

    def _input(self, name, shape, dtype):
        node = op.parameter(shape, dtype, name=name)
        node.output(0).get_tensor().set_names({name})
        return node

    def _linear(self, x, name):
        return op.matmul(x, op.constant(self.weights.dense(name + ".weight")), False, True)

    def _norm(self, x, name):
        mean = op.reduce_mean(op.power(x, op.constant(np.float32(2))), integers(-1), True)
        root = op.sqrt(op.add(mean, op.constant(np.float32(self.config.rms_norm_eps))))
        scaled = op.multiply(x, op.divide(op.constant(np.float32(1)), root))
        return op.multiply(scaled, op.constant(self.weights.dense(name + ".weight").reshape(1, 1, -1)))

    def _heads(self, x):
        shaped = op.reshape(x, integers(0, 0, -1, self.config.head_dim), True)
        return op.transpose(shaped, integers(0, 2, 1, 3))

    def _rotated(self, x):
        half = self.config.head_dim // 2
        frequencies = self.config.rope_theta ** (-np.arange(half, dtype=np.float32) / half)
        positions = op.convert(op.unsqueeze(self.positions, integers(1, 3)), "f32")
        angles = op.multiply(positions, op.constant(np.concatenate([frequencies] * 2).reshape(1, 1, 1, -1)))
        low, high = op.split(x, op.constant(np.int64(3)), 2).outputs()
        turned = op.concat([op.multiply(high, op.constant(np.float32(-1))), low], -1)
        return op.add(op.multiply(x, op.cos(angles)), op.multiply(turned, op.sin(angles)))

    def _remembered(self, fresh, name):
        info = VariableInfo()
        info.data_shape = ov.PartialShape([-1, self.config.num_kv_heads, -1, self.config.head_dim])
        info.data_type, info.variable_id = ov.Type.f32, name
        variable = Variable(info)
        batch = op.gather(op.shape_of(self.ids), integers(0), op.constant(np.int64(0)))
        shape = op.concat([batch, integers(self.config.num_kv_heads, 0, self.config.head_dim)], 0)
        past = op.read_value(op.broadcast(op.constant(np.float32(0)), shape), variable)
        past = op.gather(past, self.beam, op.constant(np.int64(0)))
        whole = op.concat([past, fresh], 2)
        self.sinks.append(op.assign(whole, variable))
        return whole

    def _attention(self, x, prefix):
        q, k, v = (self._heads(self._linear(x, f"{prefix}{part}_proj")) for part in "qkv")
        k = self._remembered(self._rotated(k), prefix + "key")
        v = self._remembered(v, prefix + "value")
        mixed = op.scaled_dot_product_attention(self._rotated(q), k, v, self._causal(k), causal=False)
        flat = op.reshape(op.transpose(mixed, integers(0, 2, 1, 3)), integers(0, 0, -1), True)
        return self._linear(flat, prefix + "o_proj")

    def _causal(self, k):
        """[batch, 1, queries, keys]: 0 where a query sees a key, far below zero elsewhere."""
        length = op.gather(op.shape_of(k), op.constant(np.int64(2)), op.constant(np.int64(0)))
        keys = op.range(op.constant(np.int64(0)), length, op.constant(np.int64(1)), "i64")
        later = op.greater(op.unsqueeze(keys, integers(0, 1, 2)), op.unsqueeze(self.positions, integers(1, 3)))
        hidden = op.equal(op.unsqueeze(self.mask, integers(1, 2)), op.constant(np.int64(0)))
        unseen = op.logical_or(later, hidden)
        return op.select(unseen, op.constant(np.float32(-1e9)), op.constant(np.float32(0)))

    def _feed_forward(self, x, prefix):
        gate = op.swish(self._linear(x, prefix + "gate_proj"))
        return self._linear(op.multiply(gate, self._linear(x, prefix + "up_proj")), prefix + "down_proj")

    def model(self) -> ov.Model:
        table = op.constant(self.weights.dense("model.embed_tokens.weight"))
        x = op.gather(table, self.ids, op.constant(np.int64(0)))
        for layer in range(self.config.num_layers):
            prefix = f"model.layers.{layer}."
            x = op.add(x, self._attention(self._norm(x, prefix + "input_layernorm"), prefix + "self_attn."))
            x = op.add(x, self._feed_forward(self._norm(x, prefix + "post_attention_layernorm"), prefix + "mlp."))
        logits = self._linear(self._norm(x, "model.norm"), "model.embed_tokens")
        logits.output(0).get_tensor().set_names({"logits"})
        return ov.Model([op.result(logits)], self.sinks, [self.ids, self.mask, self.positions, self.beam], "exported")


def write_ir(folder: Path, config: ModelConfig, weights) -> Path:
    folder.mkdir()
    ov.save_model(Exporter(config, weights).model(), folder / "openvino_model.xml", compress_to_fp16=False)
    values = {
        "model_type": config.architecture,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
    }
    (folder / "config.json").write_text(json.dumps(values))
    return folder
