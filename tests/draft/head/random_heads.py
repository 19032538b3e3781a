"""Heads of random numbers, and their network in plain numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from truedraw.draft.head.card import Card
from truedraw.draft.head.file import HeadFile, write_head
from truedraw.draft.head.four_bits import in_four_bits
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.matrix import dense as whole

VOCAB, WIDTH, INNER, KNOWN, LAYERS = 60, 32, 48, 20, (1, 4)
HEADS = 3
EPSILON = 1e-5


def card(**changes) -> Card:
    usual = {"kind": "recurrent", "target": "a model", "tokenizer": "abc", "vocab_size": VOCAB, "width": WIDTH,
             "layers": LAYERS, "tokens": KNOWN}  # fmt: skip
    bounded = {} if changes.get("kind", "recurrent") in {"recurrent", "attentive"} else {"heads": HEADS}
    bounded |= {"layers": ()} if changes.get("kind") == "medusa" else {}
    return Card(**{**usual, **bounded, **changes})


def shapes_of(of: Card, inner: int = INNER) -> dict[str, tuple[int, int]]:
    """Of the matrices of a kind."""
    width, levels = of.width, range(1, (of.heads or 0) + 1)
    read = {"input": (width, of.streams * width)}
    trunk = {"up": (2 * inner, 2 * width), "down": (width, inner), "token": (width, width)}
    square = (width, width)
    return {
        "recurrent": {**read, **trunk, "output": square},
        "attentive": {**read, **trunk, "output": square, "asking": (1536, width), "found": (width, 512)},
        "parallel": {**read, **trunk, "output": square, **{f"up.{k}": (2 * inner, width) for k in levels},
                     **{f"down.{k}": (width, inner) for k in levels}},
        "hydra": {**read, "output": square, **{f"up.{k}": (2 * inner, (k + 1) * width) for k in levels},
                  **{f"down.{k}": (width, inner) for k in levels}, **{f"token.{k}": square for k in levels}},
        "medusa": {name: square for k in levels for name in (f"block.{k}.1", f"block.{k}.2", f"output.{k}")},
    }[of.kind]  # fmt: skip


def numbers(of: Card, inner: int = INNER, seed: int = 0):
    """Tokens, matrices and gains for a card."""
    rng, width = np.random.default_rng(seed), of.width
    shapes = shapes_of(of, inner)
    matrices = {name: rng.normal(size=shape) / np.sqrt(shape[1]) for name, shape in shapes.items()}
    tokens = np.sort(rng.choice(of.vocab_size, of.tokens, replace=False))
    gains = {"gain": rng.uniform(0.5, 2.0, width)}
    gains |= {f"{name}.bias": rng.normal(size=width) for name in matrices if name.startswith("block")}
    if of.kind == "attentive":
        matrices["found"] *= 4  # what is seen by looking back is more than what rounding changes
        gains |= {"slope": np.linspace(-6.0, 0.5, 8), "sink": rng.normal(size=8)}
    return tokens, matrices, gains


def write(path: Path, of: Card | None = None, inner: int = INNER, seed: int = 0, tokens=None) -> Path:
    of = of or card()
    drawn, matrices, gains = numbers(of, inner, seed)
    write_head(path, of, drawn if tokens is None else tokens, matrices, gains)
    return path


def dense(matrix) -> np.ndarray:
    """A Matrix as numbers."""
    rows, groups = matrix.scales.shape
    grouped = matrix.values.reshape(rows, groups, -1) * matrix.scales[:, :, None].astype(np.float64)
    return grouped.reshape(matrix.values.shape)


def normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def as_read(matrix: Matrix) -> np.ndarray:
    """What a recurrent head reads in codes of 4 bits, where it can."""
    return whole(in_four_bits(matrix)).astype(np.float64)


class PlainCell:
    """draft/head/kinds/recurrent.py's formulas, over the numbers of a file as they are read."""

    def __init__(self, file: HeadFile, embedding: np.ndarray, inner: int = INNER) -> None:
        width, streams = file.card.width, file.card.streams
        self.embedding, self.known = embedding, file.tokens
        self.written = as_read(Matrix(np.asarray(embedding, np.float32)[file.tokens]))
        self.start = dense(file.matrix("input", (width, streams * width)))
        self.up = as_read(file.matrix("up", (2 * inner, 2 * width)))
        self.down = as_read(file.matrix("down", (width, inner)))
        self.token = as_read(file.matrix("token", (width, width)))
        self.output = dense(file.matrix("output", (width, width)))
        self.gain, self.inner = file.vector("gain", width), inner

    def begin(self, features, last):
        return self.step(features.reshape(len(features), -1) @ self.start.T, last)

    def step(self, x, tokens):
        e = normed(self.embedding[tokens])
        both = np.concatenate([normed(x), e], 1) @ self.up.T
        gate, up = both[:, : self.inner], both[:, self.inner :]
        after = x + e @ self.token.T + (silu(gate) * up) @ self.down.T
        return after, (self.gain * normed(after)) @ self.output.T @ self.written.T


class PlainLevels:
    """The formulas of the kinds that have a head a level: logits of each level behind the tokens so far."""

    def __init__(self, file: HeadFile, embedding: np.ndarray, inner: int = INNER) -> None:
        self.embedding, self.known, self.kind, self.inner = embedding, file.tokens, file.card.kind, inner
        shapes = shapes_of(file.card, inner)
        self.parts = {name: dense(file.matrix(name, shape)) for name, shape in shapes.items()}
        self.gain = file.vector("gain", file.card.width)
        self.biases = {name: file.vector(f"{name}.bias", WIDTH) for name in shapes if name.startswith("block")}

    def logits(self, features, tokens):
        """[n, known] behind tokens [n, level], from features [n, streams, width]."""
        level = tokens.shape[1]
        flat, embedded = features.reshape(len(features), -1), [normed(self.embedding[t]) for t in tokens.T]
        read = getattr(self, self.kind)(level, flat, embedded)
        return read @ self.embedding[self.known].T

    def medusa(self, level, flat, embedded):
        z = self.gain * flat
        for block in (f"block.{level}.1", f"block.{level}.2"):
            z = z + silu(z @ self.parts[block].T + self.biases[block])
        return z @ self.parts[f"output.{level}"].T

    def parallel(self, level, flat, embedded):
        x, e = flat @ self.parts["input"].T, embedded[0]
        z = x + e @ self.parts["token"].T + self.fed(np.concatenate([normed(x), e], 1), "up", "down")
        return self.said(z + self.fed(normed(z), f"up.{level}", f"down.{level}"))

    def hydra(self, level, flat, embedded):
        x = flat @ self.parts["input"].T
        u = np.concatenate([normed(x), *embedded], 1)
        own = embedded[-1] @ self.parts[f"token.{level}"].T
        return self.said(x + own + self.fed(u, f"up.{level}", f"down.{level}"))

    def fed(self, x, up, down):
        both = x @ self.parts[up].T
        return (silu(both[:, : self.inner]) * both[:, self.inner :]) @ self.parts[down].T

    def said(self, y):
        return (self.gain * normed(y)) @ self.parts["output"].T
