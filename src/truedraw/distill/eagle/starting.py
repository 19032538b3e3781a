"""Where a training begins: a linear guess at the target's next state, a layer of chance that adds little to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.eagle.network import (
    ATTENTION,
    FUSION,
    INNER_NORM,
    LAST_NORM,
    MLP,
    OUTPUT,
    READ_NORM,
    STATE_NORM,
    TEXT_NORM,
)
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.independent.plan import EPSILON
from truedraw.distill.rows import LEAST_SIZE, SCALE_ROWS, Rows
from truedraw.protocol import Ints, ModelConfig

RIDGE = 0.1  # of the mean variance of an input, added to all: few rows leave some directions open
ADDS_LITTLE = 0.1  # of the usual size: what is added to the stream at first
Matrix = NDArray[np.float64]


def first_weights(config: ModelConfig, texts: WholeRows, seed: int) -> Arrays:
    """All that is learnt, by name."""
    chance, width = np.random.default_rng(seed), config.hidden_size
    gain, fusion, size = fitted(texts.data, _some(texts))
    queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    shapes = {"q_proj": (queries, 2 * width), "k_proj": (keys, 2 * width), "v_proj": (keys, 2 * width)}
    inner = config.intermediate_size
    found: Arrays = {
        READ_NORM: gain,
        FUSION: fusion,
        OUTPUT: np.eye(width, dtype=np.float32) * np.float32(size),
        **{f"{ATTENTION}{name}.weight": _random(chance, shape) for name, shape in shapes.items()},
        ATTENTION + "o_proj.weight": _random(chance, (width, queries)) * np.float32(ADDS_LITTLE),
        MLP + "gate_proj.weight": _random(chance, (inner, width)),
        MLP + "up_proj.weight": _random(chance, (inner, width)),
        MLP + "down_proj.weight": _random(chance, (width, inner)) * np.float32(ADDS_LITTLE),
    }
    gains = (TEXT_NORM, STATE_NORM, INNER_NORM, LAST_NORM)
    return found | {name: np.ones(width, np.float32) for name in gains}


def _some(texts: WholeRows) -> Ints:
    """First rows that may be learnt from, and that one of the same text follows."""
    rows, data = texts.answer_rows(), texts.data
    followed = rows[np.isin(rows + 1, rows)]
    found: Ints = followed[data.texts[followed] == data.texts[followed + 1]][:SCALE_ROWS]
    return found


def fitted(data: Rows, rows: Ints) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """The first norm's gain [streams * width], which makes each stream's size 1; `fc` behind it, so that it says what
    the target's final state is one row later, to a size of 1; and the size of that state.

    Nothing of the token between is known to it: that is what the layer is for.
    """
    features = np.asarray(data.features[rows, :-1], np.float64)  # [rows, streams, width]
    sizes = np.maximum(np.sqrt(np.square(features).mean((0, 2))), LEAST_SIZE)
    flat = features.reshape(len(rows), -1)
    unit: Matrix = flat / np.sqrt(np.square(flat).mean(1, keepdims=True) + EPSILON)
    gain = np.repeat(np.sqrt(np.square(sizes).mean()) / sizes, data.shape.width)
    final = np.asarray(data.features[rows + 1, -1], np.float64)
    size = max(float(np.sqrt(np.square(final).mean())), LEAST_SIZE)
    fusion = _ridge(unit * gain, final / size)
    return gain.astype(np.float32), fusion.astype(np.float32), size


def _ridge(x: Matrix, y: Matrix) -> Matrix:
    """[out, in] of least squares, a little towards 0."""
    gram = x.T @ x
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram)
    return np.ascontiguousarray(np.linalg.solve(gram, x.T @ y).T)  # as a checkpoint has it, down to the last bits


def _random(chance: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
    return np.asarray(chance.normal(size=shape) / np.sqrt(shape[1]), np.float32)
