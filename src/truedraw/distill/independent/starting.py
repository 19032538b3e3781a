"""Where a training begins: tables that hold as much of the target's as a lower rank can, layers of chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.independent.words import INTO, OUT, OWN_INTO, OWN_OUT
from truedraw.distill.rows import SCALE_ROWS, Rows
from truedraw.distill.tables import Tables
from truedraw.models.layout import EMBEDDING, HEAD, expected_shapes
from truedraw.protocol import Ints, ModelConfig

ADDS_TO = ("o_proj.weight", "down_proj.weight")  # what a layer adds to the stream passes through one of these
LITTLE = 1e-2  # of the mean variance, added to all directions: few tokens leave some of them open
SPREAD = 1.0  # of an embedding's numbers

Matrix = NDArray[np.float64]


def names_of(config: ModelConfig) -> list[str]:
    """Of all that is learnt."""
    return [INTO, OUT, OWN_INTO, OWN_OUT, *_layer_shapes(config)]


def first_weights(config: ModelConfig, tables: Tables, data: Rows, known: Ints, seed: int) -> Arrays:
    """All that is learnt, by name."""
    chance = np.random.default_rng(seed)
    found: Arrays = {
        INTO: input_matrix(tables.embedding[known], config.hidden_size, chance),
        OUT: output_matrix(tables.output[known], _finals(data), config.hidden_size, chance),
        OWN_INTO: np.zeros((len(known), config.hidden_size), np.float32),
        OWN_OUT: np.zeros((len(known), config.hidden_size), np.float32),
    }
    for name, shape in _layer_shapes(config).items():
        found[name] = _layer_part(name, shape, config.num_layers, chance)
    return found


def input_matrix(rows: NDArray[np.float32], width: int, chance: np.random.Generator) -> NDArray[np.float32]:
    """[target's width, width]: onto the main directions of these rows (once their mean square is 1), to SPREAD."""
    scaled = rows / np.sqrt(np.square(rows, dtype=np.float64).mean())
    found = _main(scaled.T @ scaled / len(rows), width, chance)
    size = np.sqrt(np.square(scaled @ found).mean())
    return np.asarray(found * (SPREAD / size), np.float32)


def output_matrix(
    rows: NDArray[np.float32], finals: Matrix, width: int, chance: np.random.Generator
) -> NDArray[np.float32]:
    """[target's width, width] B, so that rows B h come as near to the target's logits rows f as so few numbers h can.

    With rows^T rows = L L^T, the logits of f differ from those of g by |L^T (f - g)|; so h are the main directions of
    L^T f, and B = L^-T U. Scaled so that a state of mean square 1 has logits of about 1.
    """
    gram = rows.astype(np.float64).T @ rows
    gram[np.diag_indices_from(gram)] += LITTLE * np.trace(gram) / len(gram)
    lower = np.linalg.cholesky(gram)
    seen = finals @ lower
    main = _main(seen.T @ seen / len(seen), width, chance)
    found = np.linalg.solve(lower.T, main)
    size = np.sqrt(np.square(rows @ found).mean() * width)
    return np.asarray(found / size, np.float32)


def _main(covariance: Matrix, width: int, chance: np.random.Generator) -> Matrix:
    """[n, width]: the `width` directions in which most lies; mixtures of all where there are not so many."""
    values, vectors = np.linalg.eigh(covariance)
    found = vectors[:, np.argsort(-values, kind="stable")[:width]]
    missing = width - found.shape[1]
    if missing > 0:
        found = np.concatenate([found, chance.normal(size=(len(found), missing)) / np.sqrt(len(found))], 1)
    return np.asarray(found)


def _finals(data: Rows) -> Matrix:
    """[rows, width]: some of the target's final states that may be learnt from."""
    some = np.flatnonzero(~data.held)[:SCALE_ROWS]
    return np.asarray(data.features[some, -1], np.float64)


def _layer_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    shapes = expected_shapes(config)
    return {name: shape for name, shape in shapes.items() if name not in (EMBEDDING, HEAD)}


def _layer_part(name: str, shape: tuple[int, ...], depth: int, chance: np.random.Generator) -> NDArray[np.float32]:
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    spread = 1 / np.sqrt(shape[1])
    if name.endswith(ADDS_TO):
        spread /= 2 * np.sqrt(2 * depth)  # the stream is mostly the token at first
    return np.asarray(chance.normal(size=shape) * spread, np.float32)
