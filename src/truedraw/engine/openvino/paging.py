"""The paged attention operation: its inputs that all layers share, and the node itself."""

from __future__ import annotations

import numpy as np

from truedraw.engine.openvino.nodes import Node, constant, parameter
from truedraw.silent_openvino import openvino

PAGED = "PagedAttentionExtension"
SHARED: tuple[tuple[str, list[int], type], ...] = (
    ("past_lens", [-1], np.int32),  # [sequences]: slots filled before the pass
    ("subsequence_begins", [-1], np.int32),  # [sequences + 1]: where each one's attention rows start
    ("block_indices", [-1], np.int32),  # the pages of all sequences, one after the other
    ("block_indices_begins", [-1], np.int32),  # [sequences + 1]
    ("max_context_len", [], np.int32),
    ("qq_bias", [-1], np.uint8),  # k x k ancestor-or-self masks of the sequences that are trees
    ("qq_bias_begins", [-1], np.int32),  # [sequences + 1]; equal neighbours = plainly causal
)


class Attention:
    """Paged attention layers of one graph, which share their inputs."""

    def __init__(self, num_kv_heads: int, head_dim: int) -> None:
        self._num_kv_heads, self._head_dim = num_kv_heads, head_dim
        self.inputs: dict[str, Node] = {name: parameter(name, shape, t) for name, shape, t in SHARED}
        self.caches: list[Node] = []  # key_cache.0, value_cache.0, key_cache.1, ...

    def layer(self, q: Node, k: Node, v: Node) -> Node:
        """[rows, heads * head_dim] for q of that shape and k, v [rows, kv_heads * head_dim], after rotation."""
        ov = openvino()

        number = len(self.caches) // 2
        caches = [parameter(f"{kind}_cache.{number}", [-1] * 4, ov.Type.dynamic) for kind in ("key", "value")]
        self.caches += caches
        nodes = [q, k, v, *caches, *self._rest()]
        paged = ov.op._PagedAttentionExtension([_output(node) for node in nodes])
        self._mark(paged)
        return paged.output(0)

    def _mark(self, node: Node) -> None:
        """Write the sizes of heads where the kernel looks for them; a graph on disk does not keep them."""
        info = node.get_rt_info()
        info["num_k_heads"] = info["num_v_heads"] = self._num_kv_heads
        info["k_head_size"] = info["v_head_size"] = self._head_dim

    def _rest(self) -> list[Node]:
        """Inputs 5 to 27 in their fixed order; what is empty or 0 switches a feature off."""
        given = self.inputs
        scale = constant(self._head_dim**-0.5, np.float32)
        order = ["past_lens", "subsequence_begins", "block_indices", "block_indices_begins"]
        sliding_window, slopes = _zero(), _empty(np.float32)
        rotation = [_empty(np.int32), _empty(np.int32), _empty(np.int32), _empty(np.float32)]
        sparsity = [_empty(np.float32), _zero(), _zero()]
        sinks, adaptive = _empty(np.float32, 4), [_zero(), *(_empty(np.int32) for _ in range(4))]
        return [
            *(given[name] for name in order),
            *(scale, sliding_window, slopes, given["max_context_len"]),
            *(*rotation, *sparsity, sinks, *adaptive, given["qq_bias"], given["qq_bias_begins"]),
        ]


def _output(node: Node) -> Node:
    ov = openvino()

    return node if isinstance(node, ov.Output) else node.output(0)


def _zero() -> Node:
    return constant(0, np.int32)


def _empty(dtype: type, rank: int = 1) -> Node:
    return constant(np.zeros((0,) * rank), dtype)
