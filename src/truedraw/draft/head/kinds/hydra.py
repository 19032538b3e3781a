"""Hydra (Ankner et al., 2402.05109): a head a level, which reads the target's state and all the tokens before it.

    x = I f
    u_k = (n(x), n(e(t_1)), ..., n(e(t_k)))
    y_k = x + T_k n(e(t_k)) + D_k (silu(G_k u_k) * (U_k u_k))
    logits_k = e(tokens) O (g * n(y_k))

A state is (x, n(e(t_1)), ..., n(e(t_k))), wider at each level; its width says which level it is at. There is a graph
for each level and one for the last line, which all share: its weights are most of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.cell import States
from truedraw.draft.head.compiled import Parts, TargetRows, flat, request_of, run, token_ids
from truedraw.draft.head.file import Numbers
from truedraw.engine.openvino.nodes import Node, copied, named, parameter, split
from truedraw.protocol import Ints, Logits
from truedraw.silent_openvino import operations


class HydraCell:
    """draft.head.cell.Cell of a file; raises BadFile. threads: None is every core."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        self.tokens, self._width = file.tokens, file.card.width
        self._parts = Parts(file, target.embedding)  # the graphs share its memory
        self._start, self._said = _start(self._parts, threads), _said(self._parts, threads)
        self._levels = [_level(self._parts, level, threads) for level in range(1, file.card.levels + 1)]

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        (states,) = run(self._start, {"features": flat(features)}, "states")
        return self.step(states, last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        level = self._levels[states.shape[1] // self._width - 1]
        after, read = run(level, {"states": states, "tokens": tokens}, "after", "read")
        (logits,) = run(self._said, {"read": read}, "logits")
        return after, logits


def _start(parts: Parts, threads: int | None) -> Any:
    """features [n, streams * width] -> states [n, width]."""
    features = parts.features()
    return request_of([named(parts.fused(features), "states")], [features], threads)


def _level(parts: Parts, level: int, threads: int | None) -> Any:
    """states [n, level * width] and tokens [n] -> the states after these and n(y) [n, width]."""
    states, tokens = parameter("states", [-1, level * parts.width], np.float32), token_ids()
    e = parts.embedded(tokens)
    x, *before = [states] if level == 1 else split(states, [parts.width, (level - 1) * parts.width])
    y = _moved(parts, level, (x, [*before, e]))
    return request_of([_joined([states, e], "after"), named(parts.normed(y), "read")], [states, tokens], threads)


def _moved(parts: Parts, level: int, known: tuple[Node, list[Node]]) -> Node:
    """y_k of x and the embedded tokens."""
    op = operations()

    x, tokens = known
    u = op.concat([parts.normed(x), *tokens], 1)
    own = parts.times(tokens[-1], f"token.{level}", (parts.width, parts.width))
    return op.add(op.add(x, own), parts.fed(u, (f"up.{level}", f"down.{level}")))


def _joined(nodes: list[Node], name: str) -> Node:
    op = operations()

    return copied(op.concat(nodes, 1), name)


def _said(parts: Parts, threads: int | None) -> Any:
    """n(y) [n, width] -> logits [n, known]."""
    read = parameter("read", [-1, parts.width], np.float32)
    out = parts.times(parts.gained(read, "gain"), "output", (parts.width, parts.width))
    return request_of([named(parts.logits(out), "logits")], [read], threads)
