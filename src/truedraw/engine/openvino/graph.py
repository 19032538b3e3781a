"""ModelConfig + Weights -> a paged decoder as a graph, for the llama, qwen2 and qwen3 families.

Rows come in three orders. *Rows* [rows] are what the matrices see: every token of the pass once. *Attention rows*
are what attention sees: a sequence with a single row brings that row twice, because the kernel for one row sums in
another order. *Logit rows* are those whose logits are wanted. `attention_rows`, `back_rows` and `logit_rows` are the
look-ups between them, so that neither doubled rows nor prompt rows pay for matrices they do not need.

    x = embedding[ids]
    each layer:  x += o(attention(rotate(qkv(norm(x)))));  x += down(silu(gate(norm(x))) * up(norm(x)))
    logits = head(norm(x[logit_rows]))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.weights import Constants
from truedraw.engine.openvino.nodes import (
    Node,
    constant,
    integers,
    looked_up,
    named,
    parameter,
    rms_norm,
    rotate,
    split,
    stored,
    take_rows,
    times,
)
from truedraw.engine.openvino.paging import Attention
from truedraw.errors import UnsupportedModel
from truedraw.models.layout import ARCHITECTURES, EMBEDDING, HEAD
from truedraw.protocol import ModelConfig
from truedraw.silent_openvino import openvino, operations

ROW_INPUTS = ("attention_rows", "back_rows", "logit_rows")
HIDDEN_ROWS = "hidden_rows"


def build(
    config: ModelConfig,
    constants: Constants,
    hidden_layers: tuple[int, ...] = (),
    hidden_text: bool = False,
    precision: str = "f32",
) -> Any:
    """An openvino.Model; its inputs are named above and in paging.py.

    Outputs: `logits` [logit rows, vocab] and, if layers are asked for, `hidden` [logit rows, layers + 1, width], the
    residual stream after each chosen layer, then the final norm's output. With `hidden_text` the rows of `hidden` are
    an input of their own, `hidden_rows`. `precision` is what the graph is going to be computed in. The graph shares
    the constants' memory. Raises UnsupportedModel for other architectures.
    """
    if config.architecture not in ARCHITECTURES:
        raise UnsupportedModel(
            f"no graph is known for the architecture {config.architecture!r}; "
            f"supported: {', '.join(ARCHITECTURES)}, or any model exported as an OpenVINO IR folder"
        )
    return _Decoder(config, constants).model(hidden_layers, hidden_text, precision)


def fix_rows(model: Any, rows: int, seen: int) -> None:
    """From now on a model has just so many rows and logit rows, and attention rows (`seen`)."""
    counts = {
        "input_ids": rows,
        "back_rows": rows,
        "logit_rows": rows,
        "attention_rows": seen,
        "cos": seen,
        "sin": seen,
    }
    ports = {port: counts[port.get_any_name()] for port in model.inputs if port.get_any_name() in counts}
    model.reshape({port: _with_rows(port.get_partial_shape(), count) for port, count in ports.items()})


def _with_rows(shape: Any, rows: int) -> Any:
    shape[0] = rows
    return shape


class _Decoder:
    """One graph under construction."""

    def __init__(self, config: ModelConfig, constants: Constants) -> None:
        self._config, self._constants = config, constants
        self._ids = parameter("input_ids", [-1], np.int64)
        rotary = [-1, 1, 1, config.head_dim]
        self._cos, self._sin = (parameter(name, rotary, np.float32) for name in ("cos", "sin"))
        self._rows = {name: parameter(name, [-1], np.int32) for name in ROW_INPUTS}
        self._attention = Attention(config.num_kv_heads, config.head_dim)

    def model(self, hidden_layers: tuple[int, ...], hidden_text: bool, precision: str) -> Any:
        ov = openvino()

        table = self._matrix(EMBEDDING)
        held = stored(table)
        x = looked_up(table, held, self._ids)
        after = []
        for layer in range(self._config.num_layers):
            x = self._layer(x, f"model.layers.{layer}.")
            after.append(x)
        rows = self._rows["logit_rows"]
        final = self._norm(take_rows(x, rows), "model.norm.weight")
        tied = self._config.tie_embeddings
        logits = times(final, table, held) if tied else self._linear(final, HEAD)
        outputs = [named(logits, "logits")]
        if hidden_layers and hidden_text:
            rows = self._rows[HIDDEN_ROWS] = parameter(HIDDEN_ROWS, [-1], np.int32)
            final = self._norm(take_rows(x, rows), "model.norm.weight")
        if hidden_layers:
            told = [*(take_rows(after[layer], rows) for layer in hidden_layers), final]
            outputs.append(_stacked(told, precision))
        inputs = [self._ids, self._cos, self._sin, *self._rows.values(), *self._attention.inputs.values()]
        return ov.Model(outputs, [*inputs, *self._attention.caches], "decoder")

    def _layer(self, x: Node, prefix: str) -> Node:
        op = operations()

        x = op.add(x, self._attend(self._norm(x, prefix + "input_layernorm.weight"), prefix + "self_attn."))
        inner = self._norm(x, prefix + "post_attention_layernorm.weight")
        return op.add(x, self._feed_forward(inner, prefix + "mlp."))

    def _attend(self, x: Node, prefix: str) -> Node:
        op = operations()

        config = self._config
        heads = {"q_proj": config.num_heads, "k_proj": config.num_kv_heads, "v_proj": config.num_kv_heads}
        names = [prefix + part for part in heads]
        whole = self._products(x, names)
        if config.qkv_bias:
            bias = np.concatenate([self._constants.vector(name + ".bias") for name in names])
            whole = op.add(whole, constant(bias[None], np.float32))
        whole = take_rows(whole, self._rows["attention_rows"])
        q, k, v = split(whole, [count * config.head_dim for count in heads.values()])
        q = self._rotated(q, prefix + "q_norm.weight", config.num_heads)
        k = self._rotated(k, prefix + "k_norm.weight", config.num_kv_heads)
        mixed = take_rows(self._attention.layer(q, k, v), self._rows["back_rows"])
        return self._linear(mixed, prefix + "o_proj.weight")

    def _rotated(self, x: Node, norm: str, heads: int) -> Node:
        """x [rows, heads * head_dim] -> the same shape, each head normed (qwen3) and rotated."""
        op = operations()

        width = self._config.head_dim
        x = op.reshape(x, integers(-1, heads, 1, width), False)
        if self._config.qk_norm:
            x = self._norm(x, norm, rank=4)
        turned = rotate(x, self._cos, self._sin, width)
        return op.reshape(turned, integers(-1, heads * width), False)

    def _feed_forward(self, x: Node, prefix: str) -> Node:
        op = operations()

        both = self._products(x, [prefix + "gate_proj", prefix + "up_proj"])
        gate, up = split(both, [self._config.intermediate_size] * 2)
        return self._linear(op.multiply(op.swish(gate), up), prefix + "down_proj.weight")

    def _products(self, x: Node, names: list[str]) -> Node:
        """x times several matrices, side by side; one product where their constants can be stacked."""
        op = operations()

        weights = tuple(name + ".weight" for name in names)
        matrix = self._constants.matrix(weights)
        if matrix is None:
            return op.concat([self._linear(x, weight) for weight in weights], 1)
        return times(x, matrix)

    def _linear(self, x: Node, name: str) -> Node:
        return times(x, self._matrix(name))

    def _matrix(self, name: str) -> Matrix:
        matrix = self._constants.matrix((name,))
        assert matrix is not None
        return matrix

    def _norm(self, x: Node, name: str, rank: int = 2) -> Node:
        """Over the last axis of x, which has `rank` axes."""
        gain = self._constants.vector(name)
        return rms_norm(x, gain.reshape((1,) * (rank - 1) + gain.shape), self._config.rms_norm_eps)


def _stacked(parts: list[Node], precision: str) -> Node:
    """[rows, width] each -> `hidden` [rows, parts, width], in the precision that everything is computed in.

    For an output in a higher one the runtime computes whatever leads there in that as well, which is the sum that runs
    through all layers: other logits than without `hidden`, in twice as many steps.
    """
    op = operations()

    whole = op.concat([op.unsqueeze(part, integers(1)) for part in parts], 1)
    return named(op.convert(whole, precision), "hidden")
