"""Attention of a draft's rows over the rows of its text and over their own ancestors in a tree of drafts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import compiled, inner
from truedraw.models.rope import inverse_frequencies
from truedraw.protocol import Ints, Logits, ModelConfig

ROOM = 64  # rows that a text's memory begins with; it doubles
SUMS = {"reassoc", "contract"}  # what of fast arithmetic is allowed: a number that is none stays none


class Rotary:
    """Turns heads by their rows' places, the halves of a head paired."""

    def __init__(self, config: ModelConfig) -> None:
        self._frequencies = inverse_frequencies(config)  # [head_dim / 2]

    def turned(self, heads: Logits, positions: Ints) -> Logits:
        """heads [rows, heads, head_dim] at positions [rows]."""
        angles = np.outer(positions, self._frequencies)[:, None]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        low, high = np.split(heads, 2, axis=-1)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


class Memory:
    """Keys and values of some rows [kv_heads, room, head_dim], of which the first `count` are filled."""

    def __init__(self, kv_heads: int, head_dim: int, room: int = ROOM) -> None:
        self.keys = np.empty((kv_heads, room, head_dim), np.float32)
        self.values = np.empty((kv_heads, room, head_dim), np.float32)
        self.count = 0

    def append(self, keys: Logits, values: Logits) -> None:
        """Rows [n, kv_heads, head_dim]."""
        end = self.count + len(keys)
        if end > self.keys.shape[1]:
            self._grow(end)
        self.keys[:, self.count : end] = keys.swapaxes(0, 1)
        self.values[:, self.count : end] = values.swapaxes(0, 1)
        self.count = end

    def _grow(self, end: int) -> None:
        room = max(end, 2 * self.keys.shape[1])
        for name in ("keys", "values"):
            old: NDArray[np.float32] = getattr(self, name)
            new = np.empty((old.shape[0], room, old.shape[2]), np.float32)
            new[:, : self.count] = old[:, : self.count]
            setattr(self, name, new)


def attend(queries: Logits, text: Memory, own: Memory, paths: Ints) -> Logits:
    """[rows, heads * head_dim] for queries [rows, heads, head_dim]; paths [rows, depth] are the rows of `own` to see.

    Every row sees all of the text.
    """
    mixed = np.empty(queries.shape, np.float32)
    if len(queries):
        _attend(queries, text.keys, text.values, text.count, own.keys, own.values, paths, mixed)
    return mixed.reshape(len(queries), -1)


@compiled(error_model="numpy", fastmath=SUMS)
def _attend(queries, keys, values, count, own_keys, own_values, paths, mixed):  # type: ignore[no-untyped-def]
    """Softmax over the text's rows and those of a path, one row and head after the other."""
    rows, heads, width = queries.shape
    depth, group = paths.shape[1], heads // keys.shape[0]
    scale = np.float32(1.0) / np.sqrt(np.float32(width))
    weights = np.empty(count + depth, np.float32)
    for row in range(rows):
        for head in range(heads):
            kv, query, out = head // group, queries[row, head], mixed[row, head]
            for place in range(count):
                weights[place] = scale * _dot(query, keys[kv, place])
            for step in range(depth):
                weights[count + step] = scale * _dot(query, own_keys[kv, paths[row, step]])
            _soften(weights)
            out[:] = 0.0
            for place in range(count):
                _add(out, weights[place], values[kv, place])
            for step in range(depth):
                _add(out, weights[count + step], own_values[kv, paths[row, step]])


@inner(error_model="numpy", fastmath=SUMS)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@inner(error_model="numpy", fastmath=SUMS)
def _add(out, weight, values):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        out[i] += weight * values[i]


@inner(error_model="numpy", fastmath=SUMS)
def _soften(weights):  # type: ignore[no-untyped-def]
    """Scores become weights of sum 1."""
    most = weights.max()
    whole = np.float32(0.0)
    for place in range(weights.shape[0]):
        weights[place] = np.exp(weights[place] - most)
        whole += weights[place]
    for place in range(weights.shape[0]):
        weights[place] /= whole
