"""Multi-token prediction (Gloeckle et al., 2404.19737): a head a level over one trunk, all of them in one call.

The trunk is one step of a recurrent head, behind the token that the target has drawn:

    x_0 = I f
    z = x_0 + T n(e(t_1)) + D (silu(G u) * (U u)),  u = (n(x_0), n(e(t_1)))
    y_k = z + D_k (silu(G_k n(z)) * (U_k n(z)))
    logits_k = e(tokens) O (g * n(y_k))

No level but the trunk sees a token: what is drafted at one place has no part in what is said of the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.compiled import Parts, TargetRows, flat, request_of, run, token_ids
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.kinds.at_once import AtOnce
from truedraw.engine.openvino.nodes import Node, integers, named
from truedraw.protocol import Ints, Logits
from truedraw.silent_openvino import operations


class ParallelCell(AtOnce):
    """draft.head.cell.Cell of a file; raises BadFile. threads: None is every core."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        self._parts = Parts(file, target.embedding)  # the graph shares its memory
        self._request = _graph(self._parts, threads)
        self._shape = (-1, file.card.levels, len(file.tokens))
        super().__init__(file.tokens, self._logits)

    def _logits(self, features: NDArray[np.float32], last: Ints) -> Logits:
        (found,) = run(self._request, {"features": flat(features), "tokens": last}, "logits")
        return found.reshape(self._shape)


def _graph(parts: Parts, threads: int | None) -> Any:
    """features [n, streams * width] and tokens [n] -> logits [n * levels, known], all levels of a text together.

    They are rows of one product, so that the output rows, most of the weights, are fetched once.
    """
    op = operations()

    features, tokens = parts.features(), token_ids()
    z = moved(parts, parts.fused(features), parts.embedded(tokens))
    n = parts.normed(z)
    levels = range(1, parts.file.card.levels + 1)
    heads = [op.add(z, parts.fed(n, (f"up.{level}", f"down.{level}"))) for level in levels]
    y = op.reshape(op.concat(heads, 1), integers(-1, parts.width), False)
    read = parts.times(parts.gained(parts.normed(y), "gain"), "output", (parts.width, parts.width))
    return request_of([named(parts.logits(read), "logits")], [features, tokens], threads)


def moved(parts: Parts, x: Node, e: Node) -> Node:
    """x_i from x_{i-1} and n(e(t_i))."""
    op = operations()

    fed = parts.fed(op.concat([parts.normed(x), e], 1), ("up", "down"))
    return op.add(op.add(x, parts.times(e, "token", (parts.width, parts.width))), fed)
