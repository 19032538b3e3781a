"""What the target knows and says at each row of the texts, computed by its engine once and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.clock import Clock
from truedraw.distill.plan import FEATURES, Tell
from truedraw.distill.store import ROW, TEMPERATURES, Store, check_space
from truedraw.distill.tables import Tables, check_output
from truedraw.distill.texts import Text
from truedraw.protocol import Engine, Logits, Proposal, Work

PASS_ROWS = 250  # of a text in one pass: a row's logits are as wide as the vocabulary
CHECKED_ROWS = 8  # whose logits are recomputed once, before all else


class Computed(NamedTuple):
    """How much there is."""

    texts: int
    rows: int
    seconds: float
    all_texts: bool  # False: the bytes or the time ended before the texts did
    needed_bytes: int | None = None  # of all texts, where the bytes ended


def compute(engine: Engine, texts: Iterable[Text], store: Store, limit: tuple[int, Clock, Tell, int]) -> Computed:
    """Features of the texts that the store lacks; `limit`: bytes of the store, the time, who is told, rows in all.

    Raises BadParameter where the disk has no room for what the limit allows, BadFile where it is full nevertheless.
    """
    most_bytes, clock, tell, wanted = limit
    most_rows = min(wanted, most_bytes // store.shape.row_bytes)
    check_space(store.folder, max(0, most_rows - store.rows) * store.shape.row_bytes)
    for text in islice(texts, store.texts, None):
        if store.rows + len(text.answer) > most_rows:
            return Computed(store.texts, store.rows, store.seconds, False, wanted * store.shape.row_bytes)
        if clock.over and store.rows:
            return Computed(store.texts, store.rows, store.seconds, all_texts=False)
        features, rows, _ = features_of(engine, text)
        store.append(features, rows, text.temperature, clock.seconds)
        tell(FEATURES, store.rows / max(most_rows, 1), f"{store.rows:,} rows, {store.num_bytes / 1e6:,.0f} MB")
    return Computed(store.texts, store.rows, store.seconds, all_texts=True)


def check_readout(engine: Engine, tables: Tables) -> None:
    """Raises UnsupportedModel where the engine's logits are not its last hidden states times the output rows."""
    some = [token % engine.vocab_size for token in range(CHECKED_ROWS)]
    features, _, logits = features_of(engine, Text(some[:1], some, None))
    check_output(tables, logits, features[:, -1])


def features_of(engine: Engine, text: Text) -> tuple[NDArray[np.float32], NDArray[Any], Logits]:
    """Hidden states [rows, streams, width], ROWs [rows] and some first logits, of the last token of the prompt and all
    of the answer but its last: the rows behind which a token of the answer was drawn."""
    parts = list(_passes(engine, text))
    tokens = [text.prompt[-1], *text.answer[:-1]]
    rows = np.concatenate([rows for _, rows, _ in parts])
    rows["token"] = tokens
    return np.concatenate([features for features, _, _ in parts]), rows, parts[0][2]


def _passes(engine: Engine, text: Text) -> Iterator[tuple[NDArray[np.float32], NDArray[Any], Logits]]:
    sequence = engine.open(text.prompt)
    try:
        for start in range(0, len(text.answer), PASS_ROWS):
            part = text.answer[start : start + PASS_ROWS]
            scores = engine.forward([Work(sequence, Proposal.chain(part[:-1]))])[0]
            assert scores.hidden is not None
            yield scores.hidden.copy(), laws_of(scores.logits), scores.logits[:CHECKED_ROWS].copy()
            sequence.commit(part)
    finally:
        sequence.close()


def laws_of(logits: Logits) -> NDArray[Any]:
    """[rows] ROW of logits [rows, vocab], but for the tokens."""
    rows = np.zeros(len(logits), ROW)
    rows["top"] = logits.argmax(1)
    for place, temperature in enumerate(TEMPERATURES):
        scaled = logits if temperature == 1 else logits / np.float32(temperature)
        most = scaled.max(1)
        rows["normaliser"][:, place] = most + np.log(np.exp(scaled - most[:, None]).sum(1))
    return rows
