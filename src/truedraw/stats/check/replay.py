"""The emitted texts seen again: p from a forward pass of its own over prompt and text, and numbers for statistics.

The pass holds the text as plain rows in one chunk, with nothing left of the rounds that made it. Each place yields what
follows p under exact sampling, given everything before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from truedraw.generate.rows import LawRows
from truedraw.protocol import Engine, Floats, Proposal, Work
from truedraw.stats.check.drawing import Drawn, Note, forks

LARGEST_LOG = 600.0  # of 1 / the chance of a text; more is no more telling
LEAST_LOG = -8.0  # of p: rarer tokens count as these, or one of them would decide over a text of sure ones
ROWS_AT_ONCE = 256  # rows of logits in memory: 50 MB at a vocabulary of 49152

Table = NDArray[np.void]
Distance = Callable[[Floats, Note | None], float]

PLACE = np.dtype(
    [
        ("pit", np.float64),  # uniform on [0, 1)
        ("drafted", np.bool_),
        ("leant", np.bool_),  # the event of leaning.py happened
        ("lean_chance", np.float64),
        ("beside", np.bool_),  # another sibling than the first was emitted
        ("beside_chance", np.float64),
        ("top", np.bool_),  # the likeliest token was emitted
        ("top_chance", np.float64),
        ("surprise", np.float64),  # log p(x), LEAST_LOG at least, less its mean
        ("surprise_variance", np.float64),
        ("surprise_third", np.float64),  # mean of its size cubed
        ("chance", np.float64),  # p(x)
        ("distance", np.float64),  # total variation of a planted bug here, 0 without one
    ]
)


def replay(engine: Engine, drawn: Drawn, seed: int, distance: Distance) -> tuple[Table, Floats]:
    """Places [texts, length], and p of the first token [vocab]: empty where the texts' laws differ there."""
    uniform = np.random.default_rng(seed)
    table = np.zeros((len(drawn.texts), len(drawn.texts[0])), dtype=PLACE)
    first = None
    for text, rows in _laws(engine, drawn):
        first = rows[0] if first is None else first if np.array_equal(first, rows[0]) else np.zeros(0)
        for place, token in enumerate(drawn.texts[text]):
            note, p = drawn.notes.get((text, place)), rows[place]
            table[text, place] = (*_place(p, note, token, uniform.random()), distance(p, note))
    return table, np.zeros(0) if first is None else first


def _laws(engine: Engine, drawn: Drawn) -> Iterator[tuple[int, LawRows]]:
    """(text, its p at every place); rows are views that the next pass overwrites."""
    at_once = max(1, ROWS_AT_ONCE // len(drawn.texts[0]))
    for start in range(0, len(drawn.texts), at_once):
        group = drawn.texts[start : start + at_once]
        proposals = [Proposal.chain(text[:-1]) for text in group]
        with forks(engine, drawn.prompt, len(group)) as sequences:
            works = [Work(sequence, proposal) for sequence, proposal in zip(sequences, proposals, strict=True)]
            for offset, scores in enumerate(engine.forward(works)):
                yield start + offset, LawRows(drawn.laws[start + offset], proposals[offset], scores)


def _place(p: Floats, note: Note | None, token: int, u: float) -> tuple[float | bool, ...]:
    leant, lean_chance = leaning(p, note, token)
    others = list(note.others) if note is not None else []
    top = int(p.argmax())
    positive = p[p > 0]
    logs = np.maximum(np.log(positive), LEAST_LOG)
    mean = float(positive @ logs)
    surprise = max(float(np.log(max(p[token], np.finfo(np.float64).tiny))), LEAST_LOG) - mean
    variance = max(float(positive @ logs**2) - mean**2, 0.0)
    third = float(positive @ np.abs(logs - mean) ** 3)
    below, tied = cell(p, note, token)
    return (below + u * tied, note is not None, leant, lean_chance, token in others, float(p[others].sum()),
            token == top, float(p[top]), surprise, variance, third, float(p[token]))  # fmt: skip


def leaning(p: Floats, note: Note | None, token: int) -> tuple[bool, float]:
    """The event of leaning.py and its chance; the impossible one where nothing was drafted."""
    if note is None:
        return False, 0.0
    if note.log_q is None:
        return token == note.token, float(p[note.token])
    above = _ratio(p, note.log_q) > 0
    return bool(above[token]), float(p[above].sum())


def cell(p: Floats, note: Note | None, token: int) -> tuple[float, float]:
    """(mass before the token, mass of its ties), tokens in the order of p / q where q is known, else of falling p.

    Under a certain draft p / q puts the draft first; the others follow in the order of falling p.
    """
    if note is None:
        return _below(-p, p, token)
    if note.log_q is not None:
        return _below(_ratio(p, note.log_q), p, token)
    if token == note.token:
        return 0.0, float(p[token])
    others = p.copy()
    others[note.token] = 0.0
    below, tied = _below(-others, others, token)
    return float(p[note.token]) + below, tied


def _below(key: Floats, p: Floats, token: int) -> tuple[float, float]:
    return float(p[key < key[token]].sum()), float(p[key == key[token]].sum())


def _ratio(p: Floats, log_q: NDArray[np.float16]) -> Floats:
    """log(p / q) [vocab]; p = 0 comes first and q = 0 last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(p) - log_q
    return np.where(p > 0, ratio, -np.inf)


def copied(texts: Sequence[Sequence[int]], table: Table) -> Iterator[float]:
    """1 / the chance of a text, for each pair of equal ones; `table` [texts, length] as `replay` has it."""
    logs = np.log(np.maximum(table["chance"], np.finfo(np.float64).tiny)).sum(1).tolist()
    for (one, log), (other, _) in combinations(zip(texts, logs, strict=True), 2):
        if one == other:
            yield math.exp(min(-log, LARGEST_LOG))
