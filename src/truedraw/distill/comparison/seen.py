"""What a head keeps of each text: sums, from which means and intervals follow without a head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from truedraw.distill.evaluation import CHAIN, MEASURED, kept_behind, tokens_of
from truedraw.distill.head import Head
from truedraw.distill.rows import Rows
from truedraw.errors import BadFile
from truedraw.protocol import Floats, Ints

MOST_ROWS = 6000  # at each temperature
DIGITS = 6  # of what is written down
COLUMNS = range(2, CHAIN + 2)  # of chains of one draft and more, and tokens a round


class Sums(NamedTuple):
    """Over the rows of each text."""

    rows: Floats  # [texts]
    values: Floats  # [texts, chain + 1]: chances of drafts that are kept, by position, and tokens a round

    @classmethod
    def of(cls, kept: Floats, texts: Ints) -> Sums:
        """From chances kept [rows, chain] behind rows of texts [rows]."""
        _, number = np.unique(texts, return_inverse=True)
        columns = np.concatenate([kept, tokens_of(kept)[:, None]], 1).T
        sums = np.stack([np.bincount(number, column) for column in columns], 1)
        return cls(np.bincount(number).astype(np.float64), np.asarray(sums, np.float64))

    def to_json(self) -> dict[str, Any]:
        """As a line of results has it."""
        return {"rows": self.rows.astype(int).tolist(), "values": np.round(self.values, DIGITS).tolist()}

    @classmethod
    def from_json(cls, found: Mapping[str, Any], path: object) -> Sums:
        """Raises BadFile for what is no such thing."""
        try:
            rows, values = np.array(found["rows"], np.float64), np.array(found["values"], np.float64)
        except (KeyError, OverflowError, TypeError, ValueError):
            rows, values = np.zeros(0), np.zeros((0, 0))
        shaped = rows.ndim == 1 and values.ndim == 2 and len(values) == len(rows) and values.shape[1] in COLUMNS
        right = shaped and len(rows) and np.isfinite(values).all() and np.isfinite(rows).all() and (rows > 0).all()
        if not right:
            raise BadFile(f"{path} holds a line that is no result of ours; give --overwrite, or another --work")
        return cls(rows, values)


def by_temperature(head: Head, data: Rows) -> dict[str, dict[str, Any]]:
    """Sums of the held-out texts of `data` in JSON's types, by temperature."""
    found = {}
    for temperature in MEASURED:
        rows = data.held_out(temperature, MOST_ROWS, CHAIN)
        found[f"{temperature:g}"] = Sums.of(kept_behind(head, data, rows, temperature), data.texts[rows]).to_json()
    return found
