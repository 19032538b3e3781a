"""Recurrent (Cheng et al., ReDrafter, 2403.09919; Ankner et al., Hydra, 2402.05109): one step for all levels.

With a state x of the target's width,

    x_0 = I f
    u_i = (n(x_{i-1}), n(e(t_i)))
    x_i = x_{i-1} + T n(e(t_i)) + D (silu(G u_i) * (U u_i))
    logits_i = e(tokens) O (g * n(x_i))

A few rows go through kernels of ours (recurrent_few.py), more of them through a graph of the target's engine. One step
serves the first token, whose state is made of the target's hidden states, and all others: what is added to x, states or
features, is 0 where the other one is given. So the weights, which a pass of the target has pushed out of the
processor's cache, are fetched once a round.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import States
from truedraw.draft.head.compiled import Parts, TargetRows, copied, flat, request_of, run, token_ids
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.kinds.recurrent_few import FewRows
from truedraw.engine.openvino.nodes import Node, named, parameter
from truedraw.engine.openvino.requests import Request
from truedraw.protocol import Ints, Logits

FEW = 4
"""Rows, up to which the kernels are sooner done than the graph when neither has its weights near."""


class RecurrentCell:
    """draft.head.cell.Cell of a file; raises BadFile. threads: of the graph; None is every core."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        self.tokens, self._threads = file.tokens, threads
        self._parts = Parts(file, target.embedding)  # the graph shares its memory
        self._few = FewRows(file, target.embedding)

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._run(flat(features), np.zeros((len(features), self._parts.width), np.float32), last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        read = 0 if len(tokens) <= FEW else self._parts.read
        return self._run(np.zeros((len(states), read), np.float32), states, tokens)

    def shown(self, states: States) -> States:
        """draft.head.cell.Shows: the state, of which logits are a function."""
        return states

    def _run(self, features: NDArray[np.float32], states: States, tokens: Ints) -> tuple[States, Logits]:
        if len(tokens) <= FEW:
            return self._few.step(features, states, tokens)
        given: dict[str, NDArray[Any]] = {"features": features, "states": states, "tokens": tokens}
        after, logits = run(self._graph, given, "after", "logits")
        return after, logits

    @cached_property
    def _graph(self) -> Request:
        """Compiled when it is first needed."""
        return graph_of(self._parts, self._threads)


def graph_of(parts: Parts, threads: int | None) -> Request:
    """Features [n, streams * width], states [n, width], tokens [n] -> the states after these, logits [n, known]."""
    from openvino import opset13 as op

    features, tokens = parts.features(), token_ids()
    states = parameter("states", [-1, parts.width], np.float32)
    after = moved(parts, op.add(parts.fused(features), states), parts.embedded(tokens))
    read = parts.times(parts.gained(parts.normed(after), "gain"), "output", (parts.width, parts.width))
    outputs = [copied(after, "after"), named(parts.logits(read), "logits")]
    return request_of(outputs, [features, states, tokens], threads)


def moved(parts: Parts, x: Node, e: Node) -> Node:
    """x_i from x_{i-1} and n(e(t_i))."""
    from openvino import opset13 as op

    fed = parts.fed(op.concat([parts.normed(x), e], 1), ("up", "down"))
    return op.add(op.add(x, parts.times(e, "token", (parts.width, parts.width))), fed)
