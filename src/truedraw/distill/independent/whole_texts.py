"""Texts with their prompts, for a network that reads what stands before, and the batches of a training.

The law behind row i of a text stands in the store; its token is the prompt's last one (i = 0) or the answer's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.rows import Rows
from truedraw.distill.texts import answer_rows, stored_texts
from truedraw.protocol import Ints

MOST_TOKENS = 1024  # of a text that are read: what stands further before is cut off
ROWS_A_STEP = 2048  # about
STREAM = 2  # of random numbers, beside the seed: the order of texts


class Batch(NamedTuple):
    """Some texts side by side.

    tokens [texts, length]: filled up with zeros behind a text's end, which nothing before it can see. at [rows]: where
    in them, flattened, the rows stand that have a law; rows [rows]: where in the store.
    """

    tokens: Ints
    at: Ints
    rows: Ints


class WholeTexts:
    """The texts of a store, prompts included; raises BadFile where the journal of texts is not the store's."""

    def __init__(self, folder: Path, data: Rows) -> None:
        self.data, self._bounds = data, data.bounds
        self._counts = np.diff(self._bounds)
        self._texts: list[NDArray[np.int32]] = [
            np.array([*text.prompt, *text.answer[:-1]][-MOST_TOKENS:], np.int32)
            for text in stored_texts(folder, data.by_text(), answer_rows)
        ]
        held = data.held[self._bounds[:-1]]
        self.held, self.learnt = np.flatnonzero(held), np.flatnonzero(~held)
        rows = max(1.0, float(self._counts[self.learnt].mean()))
        self.at_once = min(max(1, round(ROWS_A_STEP / rows)), len(self.learnt))

    def step(self, seed: int, number: int) -> Batch:
        """The texts of a step, by its number alone: all of them once, in an order of chance, then all in another."""
        return self.batch(in_turn(self.learnt, self.at_once, seed, number))

    def batch(self, numbers: list[int]) -> Batch:
        """These texts."""
        length = max(len(self._texts[number]) for number in numbers)
        tokens = np.zeros((len(numbers), length), np.int64)
        at, rows = [], []
        for place, number in enumerate(numbers):
            text, end = self._texts[number], self._bounds[number + 1]
            tokens[place, : len(text)] = text
            count = min(int(self._counts[number]), len(text))
            at.append(place * length + np.arange(len(text) - count, len(text)))
            rows.append(np.arange(end - count, end))
        return Batch(tokens, np.concatenate(at), np.concatenate(rows))


def in_turn(texts: Ints, at_once: int, seed: int, number: int) -> list[int]:
    """So many of the texts for step `number`: see WholeTexts.step."""
    places, count = np.arange(number * at_once, (number + 1) * at_once), len(texts)
    orders = {
        turn: np.random.default_rng((seed, STREAM, turn)).permutation(texts)
        for turn in np.unique(places // count).tolist()
    }
    return [int(orders[place // count][place % count]) for place in places.tolist()]
