"""Heads of random numbers, and their network in plain numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truedraw.draft.head.card import Card
from truedraw.draft.head.file import HeadFile, write_head

VOCAB, WIDTH, INNER, KNOWN, LAYERS = 60, 32, 48, 20, (1, 4)
EPSILON = 1e-5


def card(**changes) -> Card:
    usual = {"kind": "recurrent", "target": "a model", "tokenizer": "abc", "vocab_size": VOCAB, "width": WIDTH,
             "layers": LAYERS, "tokens": KNOWN}  # fmt: skip
    return Card(**{**usual, **changes})


def numbers(of: Card, inner: int = INNER, seed: int = 0):
    """Tokens, matrices and gains for a card."""
    rng, width = np.random.default_rng(seed), of.width
    shapes = {"input": (width, of.streams * width), "up": (2 * inner, 2 * width), "down": (width, inner),
              "token": (width, width), "output": (width, width)}  # fmt: skip
    matrices = {name: rng.normal(size=shape) / np.sqrt(shape[1]) for name, shape in shapes.items()}
    tokens = np.sort(rng.choice(of.vocab_size, of.tokens, replace=False))
    return tokens, matrices, {"gain": rng.uniform(0.5, 2.0, width)}


def write(path: Path, of: Card | None = None, inner: int = INNER, seed: int = 0) -> Path:
    of = of or card()
    write_head(path, of, *numbers(of, inner, seed))
    return path


def dense(matrix) -> np.ndarray:
    """A Matrix as numbers."""
    return matrix.values.astype(np.float64) * matrix.scales


def normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)


class PlainCell:
    """draft/head/cell.py's formulas, over the numbers of a file."""

    def __init__(self, file: HeadFile, embedding: np.ndarray, inner: int = INNER) -> None:
        width, streams = file.card.width, file.card.streams
        self.embedding, self.known = embedding, file.tokens
        self.start = dense(file.matrix("input", (width, streams * width)))
        self.up = dense(file.matrix("up", (2 * inner, 2 * width)))
        self.down = dense(file.matrix("down", (width, inner)))
        self.token, self.output = (dense(file.matrix(name, (width, width))) for name in ("token", "output"))
        self.gain, self.inner = file.vector("gain", width), inner

    def begin(self, features, last):
        return self.step(features.reshape(len(features), -1) @ self.start.T, last)

    def step(self, x, tokens):
        e = normed(self.embedding[tokens])
        both = np.concatenate([normed(x), e], 1) @ self.up.T
        gate, up = both[:, : self.inner], both[:, self.inner :]
        after = x + e @ self.token.T + (gate / (1 + np.exp(-gate)) * up) @ self.down.T
        return after, (self.gain * normed(after)) @ self.output.T @ self.embedding[self.known].T
