"""From trained weights to a head's file: matrices of int8, and a card with what was measured of just these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import MEASURED, Head, measured, siblings
from truedraw.distill.network import GAIN, MATRICES, folded, unfolded
from truedraw.distill.rows import Rows
from truedraw.distill.starting import rounded
from truedraw.distill.tables import dense
from truedraw.draft.head.card import RECURRENT, Card
from truedraw.draft.head.file import write_head
from truedraw.engine.openvino.weights import quantise

ROWS, SIBLING_ROWS = 6000, 2000  # of held-out text that are measured at last
SCALE = "scale"


class Target(NamedTuple):
    """For whom a head is."""

    name: str
    tokenizer: str  # fingerprint
    vocab_size: int
    width: int
    layers: tuple[int, ...]


def figures(head: Head, best: Arrays, data: Rows, seed: int) -> dict[str, Any]:
    """Acceptance by position at each temperature, and of candidates, after rounding to int8."""
    written = rounded(head, _as_written(best))
    by_temperature = {f"{each:g}": measured(written, data, each, ROWS).to_json() for each in MEASURED}
    kept = siblings(written, data, SIBLING_ROWS, seed)
    return {
        "held_out": by_temperature,
        "siblings": [round(each, 4) for each in kept.given],
        "kept_within": [round(each, 4) for each in kept.within],
    }


def export(path: Path, target: Target, best: Arrays, training: Mapping[str, Any]) -> None:
    """Whole or not at all; `training` is what figures() says, and more. Raises BadFile."""
    card = Card(
        RECURRENT,
        target.name,
        target.tokenizer,
        target.vocab_size,
        target.width,
        target.layers,
        len(best["tokens"]),
        tuple(training["siblings"]),
        dict(training),
    )
    matrices = {name: best[f"weight.{name}"] for name in MATRICES}
    matrices["input"] = folded(matrices["input"], best[SCALE])
    write_head(path, card, best["tokens"], matrices, {GAIN: best[f"weight.{GAIN}"]})


def _as_written(best: Arrays) -> dict[str, Any]:
    """The weights by their names as they are behind the file, for scaled features."""
    found: dict[str, Any] = {GAIN: best[f"weight.{GAIN}"]}
    for name in MATRICES:
        values = best[f"weight.{name}"]
        if name == "input":
            found[name] = unfolded(_rounded(folded(values, best[SCALE])), best[SCALE])
        else:
            found[name] = _rounded(values)
    return found


def _rounded(values: Any) -> Any:
    return dense(quantise(np.ascontiguousarray(values, np.float32)))
