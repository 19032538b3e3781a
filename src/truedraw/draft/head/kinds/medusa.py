"""Medusa (Cai et al., 2401.10774): a head a level over the target's last state alone, all of them in one call.

With h the final norm's output and silu blocks B_{k,j}, c_{k,j} of level k,

    z_{k,0} = g * h
    z_{k,j} = z_{k,j-1} + silu(B_{k,j} z_{k,j-1} + c_{k,j})
    logits_k = e(tokens) O_k z_{k,last}

No level sees a token, not even t_1: it says what stands so many places further, whatever stands between. A checkpoint
of others has rows R_k of its own in the place of e(tokens) O_k, or writes with the target's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.compiled import Parts, TargetRows, flat, request_of, rows_of, run
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.kinds.at_once import AtOnce
from truedraw.engine.openvino.nodes import Node, constant, named
from truedraw.protocol import Ints, Logits
from truedraw.silent_openvino import operations


class MedusaCell(AtOnce):
    """draft.head.cell.Cell of a file; raises BadFile. threads: None is every core."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        self._parts = Parts(file, target.embedding)  # the graph shares its memory
        self._request = _graph(self._parts, target, threads)
        self._shape = (-1, file.card.levels, len(file.tokens))
        super().__init__(file.tokens, self._logits)

    def _logits(self, features: NDArray[np.float32], last: Ints) -> Logits:
        (found,) = run(self._request, {"features": flat(features)}, "logits")
        return found.reshape(self._shape)


def _graph(parts: Parts, target: TargetRows, threads: int | None) -> Any:
    """features [n, width] -> logits [n, levels * known], level by level."""
    op = operations()

    features = parts.features()
    z = parts.gained(features, "gain")
    levels = [_said(parts, target, level, _through(parts, level, z)) for level in range(1, parts.file.card.levels + 1)]
    return request_of([named(op.concat(levels, 1), "logits")], [features], threads)


def _through(parts: Parts, level: int, z: Node) -> Node:
    """z_{k,last}."""
    op = operations()

    block, width = 1, parts.width
    while parts.file.has(name := f"block.{level}.{block}") or block == 1:
        bias = constant(parts.file.vector(f"{name}.bias", width)[None], np.float32)
        z = op.add(z, op.swish(op.add(parts.times(z, name, (width, width)), bias)))
        block += 1
    return z


def _said(parts: Parts, target: TargetRows, level: int, z: Node) -> Node:
    """Logits [n, known]."""
    file, width = parts.file, parts.width
    if file.has("output.1"):  # what the first level has, all have
        return parts.logits(parts.times(z, f"output.{level}", (width, width)))
    if file.has("rows.1"):
        return parts.times(z, f"rows.{level}", (len(file.tokens), width))
    whole = len(file.tokens) == len(target.output.values)
    return parts.product(z, target.output if whole else rows_of(target.output, file.tokens))
