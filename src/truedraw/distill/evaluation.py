"""How much of its drafts the target keeps, on held-out text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.head import Head, Recall, scaled
from truedraw.distill.known import Known
from truedraw.distill.looking_back import looking_back
from truedraw.distill.rows import Rows
from truedraw.distill.siblings import Kept, kept_chances
from truedraw.distill.store import TEMPERATURES
from truedraw.protocol import Floats, Ints

Tensor = Any  # torch.Tensor
CHAIN = 4  # drafts of the chain that is measured
GREEDY = 0.0
SCORE = 1.0  # temperature of looks while a draft learns
MEASURED = (*TEMPERATURES, GREEDY)
LAST_ROWS = 6000  # of held-out text that are measured when a training has ended
AT_ONCE = 256  # rows


class Measured(NamedTuple):
    """acceptance [chain]: the mean chance that a draft is kept behind the text's own tokens, by position. tokens: a
    round of such a chain, the target's own one included. rows: that it was measured at."""

    acceptance: tuple[float, ...]
    tokens: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Rounded to what can be meant."""
        return {"acceptance": [round(each, 4) for each in self.acceptance], "tokens_a_round": round(self.tokens, 4),
                "rows": self.rows}  # fmt: skip


def chain_of(head: Head) -> int:
    """Drafts of the chain that is measured: no more than the head has."""
    return CHAIN if head.network.levels is None else min(CHAIN, head.network.levels)


def measured(head: Head, data: Rows, temperature: float, most: int) -> Measured:
    """At most so many rows of held-out text."""
    rows = data.held_out(temperature, most, CHAIN)
    kept = kept_behind(head, data, rows, temperature)
    return Measured(tuple(map(float, kept.mean(0))), float(tokens_of(kept).mean()), len(rows))


def kept_behind(head: Head, data: Rows, rows: Ints, temperature: float) -> Floats:
    """[rows, chain]: the chance that each draft behind each of these rows is kept, the text's own before it."""
    looking = looking_back(head, data, rows)
    return np.concatenate([_kept(head, data, part, temperature, looking(part)) for part in _parts(rows)])


def tokens_of(kept: Floats) -> Floats:
    """[rows]: tokens a round of chains whose drafts are kept with such chances [rows, CHAIN]."""
    found: Floats = 1 + np.cumprod(kept, 1).sum(1)
    return found


def siblings(head: Head, data: Rows, most: int, seed: int) -> Kept:
    """Of the first position at temperature 1."""
    rows = data.held_out(1.0, most, CHAIN)
    p, q = (np.concatenate(each) for each in zip(*_first(head, data, rows), strict=True))
    return kept_chances(p, q, np.random.default_rng(seed))


def _first(head: Head, data: Rows, rows: Ints) -> list[tuple[Floats, Floats]]:
    import torch

    found, looking = [], looking_back(head, data, rows)
    with torch.no_grad():
        for part in _parts(rows):
            x = head.network.begin(head.weights, scaled(data, part, head.scale))
            _, logits = _behind(head, x, data, (part, 1), looking(part))
            p, q = _p(head.known, data, part + 1, 0), torch.softmax(logits, -1)
            found.append((p.double().cpu().numpy(), q.double().cpu().numpy()))
    return found


def _parts(rows: Ints) -> list[Ints]:
    return [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]


def _kept(head: Head, data: Rows, rows: Ints, temperature: float, recall: Recall | None) -> Floats:
    """[rows, chain]."""
    import torch

    columns: list[NDArray[Any]] = []
    with torch.no_grad():
        x = head.network.begin(head.weights, scaled(data, rows, head.scale))
        for position in range(1, chain_of(head) + 1):
            x, logits = _behind(head, x, data, (rows, position), recall)
            columns.append(chances(head.known, logits, data, rows + position, temperature))
    return np.stack(columns, 1).astype(np.float64)


def _behind(head: Head, x: Tensor, data: Rows, at: tuple[Ints, int], recall: Recall | None) -> tuple[Tensor, Tensor]:
    """States and logits once the tokens so many places behind these rows stand there."""
    rows, position = at
    after, out = head.behind(x, head.known.embedded[data.on(data.tokens[rows + position])], position, recall)
    return after, out @ head.known.readout.T


def chances(known: Known, logits: Tensor, data: Rows, at: Ints, temperature: float) -> NDArray[Any]:
    """[rows]: of a draft drawn by logits [rows, known], to be kept where the target's law is that of rows `at`."""
    import torch

    if temperature == GREEDY:
        return np.asarray(known.tokens[logits.argmax(-1).cpu().numpy()] == data.tops[at])
    p = _p(known, data, at, TEMPERATURES.index(temperature))
    return np.asarray(p.minimum(torch.softmax(logits / temperature, -1)).sum(-1).cpu().numpy())


def _p(known: Known, data: Rows, at: Ints, place: int) -> Tensor:
    logits = data.finals(at) @ known.output.T / TEMPERATURES[place]
    return known.of_logits(logits, data.on(data.normaliser[at, place]))
