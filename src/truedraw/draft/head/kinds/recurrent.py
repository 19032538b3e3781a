"""Recurrent (Cheng et al., ReDrafter, 2403.09919; Ankner et al., Hydra, 2402.05109): one step for all levels.

With a state x of the target's width,

    x_0 = I f
    u_i = (n(x_{i-1}), n(e(t_i)))
    x_i = x_{i-1} + T n(e(t_i)) + D (silu(G u_i) * (U u_i))
    logits_i = e(tokens) O (g * n(x_i))

There are two graphs, a small one that makes a state of the target's hidden states, and the step: one for the first
token and for all others, so that its weights, which a pass of the target has pushed out of the processor's cache, are
fetched once a round. The second call takes a third of the first one's time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import States
from truedraw.draft.head.compiled import Parts, TargetRows, copied, flat, request_of, run, token_ids
from truedraw.draft.head.file import Numbers
from truedraw.engine.openvino.nodes import Node, named, parameter
from truedraw.protocol import Ints, Logits


class RecurrentCell:
    """draft.head.cell.Cell of a file; raises BadFile. threads: None is every core."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        self.tokens = file.tokens
        self._parts = Parts(file, target.embedding)  # the graphs share its memory
        self._start, self._step = _start(self._parts, threads), _step(self._parts, threads)

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        (states,) = run(self._start, {"features": flat(features)}, "states")
        return self.step(states, last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        after, logits = run(self._step, {"states": states, "tokens": tokens}, "after", "logits")
        return after, logits

    def shown(self, states: States) -> States:
        """draft.head.cell.Shows: the state, of which logits are a function."""
        return states


def _start(parts: Parts, threads: int | None) -> Any:
    """features [n, streams * width] -> states [n, width]."""
    features = parts.features()
    return request_of([named(parts.fused(features), "states")], [features], threads)


def _step(parts: Parts, threads: int | None) -> Any:
    """states [n, width] and tokens [n] -> the states after these and logits [n, known]."""
    states, tokens = parameter("states", [-1, parts.width], np.float32), token_ids()
    after = moved(parts, states, parts.embedded(tokens))
    read = parts.times(parts.gained(parts.normed(after), "gain"), "output", (parts.width, parts.width))
    return request_of([copied(after, "after"), named(parts.logits(read), "logits")], [states, tokens], threads)


def moved(parts: Parts, x: Node, e: Node) -> Node:
    """x_i from x_{i-1} and n(e(t_i))."""
    from openvino import opset13 as op

    fed = parts.fed(op.concat([parts.normed(x), e], 1), ("up", "down"))
    return op.add(op.add(x, parts.times(e, "token", (parts.width, parts.width))), fed)
