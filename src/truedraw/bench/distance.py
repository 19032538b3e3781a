"""How far the law of a model as it is computed is from its reference: float32 throughout, the file as stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truedraw.bench.prompts import read_prompts
from truedraw.errors import UnsupportedModel
from truedraw.protocol import Engine, Floats, Logits, Proposal, Work

if TYPE_CHECKING:
    from truedraw.models import Checkpoint

ROWS_AT_ONCE = 32  # of logits, compared in one pass
ROWS = 384
WEIGHTS = ("auto", "int8", "stored")


@dataclass(frozen=True, slots=True)
class Distance:
    """Total variation between two laws of the next token at temperature 1, over rows of real text."""

    weights: str
    numerics: str
    mean_tv: float
    largest_tv: float
    rows: int


def distances(checkpoint: Checkpoint, cache: Path | None = None) -> list[dict[str, Any]]:
    """Default numerics with each form of weights against reference numerics; loads the model four times."""
    from truedraw.engine.cpu import CPUEngine
    from truedraw.text import Tokenizer

    if checkpoint.weights is None:
        raise UnsupportedModel("an OpenVINO IR folder runs as it is: there is no reference to measure it against")
    tokens = sample_text(Tokenizer.of(checkpoint))
    with closing(CPUEngine.load(checkpoint, numerics="reference", weights="stored", cache=cache)) as reference:
        tokens = tokens[: reference.context_length]
        exact = softmax(np.concatenate([rows.copy() for rows in logits(reference, tokens)]))
    found = []
    for name in WEIGHTS:
        with closing(CPUEngine.load(checkpoint, weights=name, cache=cache)) as engine:
            found.append(asdict(_distance(engine, name, tokens, exact)))
    return found


def sample_text(tokenizer: Any) -> list[int]:
    """Tokens of the benchmark's own prompts, one after the other."""
    text = "\n\n".join(prompt.text for prompt in read_prompts(None))
    return list(tokenizer.encode(text)[: ROWS + 1])


def logits(engine: Engine, tokens: list[int]) -> Iterator[Logits]:
    """The rows after each token but the last, in groups; each group is valid until the next."""
    with closing(engine.open(tokens[:1])) as sequence:
        for start in range(1, len(tokens), ROWS_AT_ONCE):
            group = tokens[start : start + ROWS_AT_ONCE]
            yield engine.forward([Work(sequence, Proposal.chain(group[:-1]))])[0].logits
            sequence.commit(group)


def softmax(rows: Logits) -> Floats:
    """[rows, vocab] in float64."""
    powers = np.exp((rows - rows.max(-1, keepdims=True)).astype(np.float64))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def _distance(engine: Engine, weights: str, tokens: list[int], exact: Floats) -> Distance:
    start, found = 0, []
    for rows in logits(engine, tokens):
        found.append(0.5 * np.abs(softmax(rows) - exact[start : start + len(rows)]).sum(-1))
        start += len(rows)
    tv = np.concatenate(found)
    return Distance(weights, getattr(engine, "numerics", ""), float(tv.mean()), float(tv.max()), len(tv))
