"""Tables of laws, and p of a row by definition, in plain Python: the independent twin of truedraw.sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from truedraw.engine.tabular import Context

Table = Mapping[Context, Sequence[float]]


def random_table(vocab: int, order: int, seed: int, zeros: float = 0.0) -> Table:
    """A table over all contexts of up to `order` tokens; a share `zeros` of its entries is 0."""
    rng = np.random.default_rng(seed)
    contexts: list[Context] = [()]
    for _ in range(order):
        contexts += [(*c, t) for c in contexts for t in range(vocab) if (*c, t) not in contexts]
    return {context: random_row(rng, vocab, zeros) for context in contexts}


def random_row(rng: np.random.Generator, vocab: int, zeros: float) -> list[float]:
    """Probabilities [vocab] of which a share `zeros` is 0; one of them never is."""
    weights = rng.dirichlet(np.full(vocab, 0.7)) * (rng.random(vocab) >= zeros)
    weights[int(rng.integers(vocab))] += 0.05
    return normalised(weights.tolist())


def lookup(table: Table, text: Sequence[int]) -> Sequence[float]:
    """The row of the longest suffix of `text` that the table holds."""
    longest = max(map(len, table))
    for n in range(min(longest, len(text)), -1, -1):
        row = table.get(tuple(text[len(text) - n :]))
        if row is not None:
            return row
    raise AssertionError("a table without a row for ()")


def transformed(row: Sequence[float], temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                min_p: float = 0.0, typical_p: float = 1.0) -> list[float]:  # fmt: skip
    """p by the definitions, in plain Python: the independent twin of truedraw.sampling."""
    if temperature == 0:
        first = row.index(max(row))
        return [float(i == first) for i in range(len(row))]
    p = normalised([w ** (1 / temperature) if w else 0.0 for w in row])
    if top_k > 0:
        ranked = sorted(range(len(p)), key=lambda i: (-p[i], i))[:top_k]
        p = normalised([w if i in ranked else 0.0 for i, w in enumerate(p)])
    if top_p < 1 - 2e-9:
        p = normalised(until(p, [-w for w in p], top_p))
    if min_p > 0:
        p = normalised([w if w >= min_p * max(p) else 0.0 for w in p])
    if typical_p < 1 - 2e-9:
        entropy = -math.fsum(w * math.log(w) for w in p if w)
        p = normalised(until(p, [abs(-math.log(w) - entropy) if w else math.inf for w in p], typical_p))
    return p


def until(p: list[float], key: list[float], mass: float) -> list[float]:
    """The entries of smallest key whose sum reaches `mass`, the others 0; ties go to the lower index."""
    kept, total = set(), 0.0
    for i in sorted(range(len(p)), key=lambda i: (key[i], i)):
        kept.add(i)
        total += p[i]
        if total >= mass:
            break
    return [w if i in kept else 0.0 for i, w in enumerate(p)]


def normalised(weights: list[float]) -> list[float]:
    """Divided by their sum."""
    total = math.fsum(weights)
    return [w / total for w in weights]
