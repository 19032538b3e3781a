"""Features as training reads them, with what no head may learn from set apart."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.halves import HALF
from truedraw.distill.store import FEATURES, INDEX, ROW, ROWS, Shape, rows_of
from truedraw.distill.texts import MORE_TEXT, foreign
from truedraw.errors import BadFile
from truedraw.generate.offline.journal import read_records
from truedraw.protocol import Ints

Tensor = Any  # torch.Tensor
EVERY = 25  # texts, or prompts: one of them is held out. No multiple of the number of temperatures, which come in turn
WINDOWS = 16  # of neighbouring rows that one step learns
DIGITS = 12  # of a digest that names held-out rows
SCALE_ROWS = 4096  # from which the size of each stream is taken
LEAST_SIZE = 1e-3  # of a stream


class Rows:
    """What is in a store. Texts are numbered as they came; when more come, those held out stay so, from EVERY texts on.

    prompts: which one each text answers, or which text of documents it is, numbered as they came; then all of a number
    are held out or none is, unless there is one alone. None: each text is held out or not by itself.
    features [rows, streams, width] float16, on disk; tokens, tops, texts [rows]; normaliser [rows, temperatures]; held
    [rows]: whether it is held-out text, as all of it is where `all_held`; temperature [rows], nan where a text was not
    drawn.
    """

    device = "cpu"  # where learning computes, as torch calls it
    windows = WINDOWS  # of a step
    looked = 1500  # held-out rows that are looked at while a draft learns

    def __init__(
        self, folder: Path, shape: Shape, all_held: bool = False, prompts: Sequence[int] | None = None
    ) -> None:
        lines = list(read_records(folder / INDEX))
        counts = np.array([rows_of(line, folder) for line in lines], np.int64)
        self.count, self.num_texts, self.shape = int(counts.sum()), len(lines), shape
        self.features: Any = _mapped(folder / FEATURES, HALF, (self.count, *shape))
        self._path = folder / ROWS
        rows = np.array(_mapped(self._path, ROW, (self.count,)))
        if prompts is not None and len(prompts) < len(lines):
            raise foreign(folder)
        self._tell(rows, counts, [line["temperature"] for line in lines], prompts)
        if all_held:
            self.held[:] = True

    def _tell(
        self, rows: NDArray[Any], counts: Ints, drawn: Sequence[float | None], prompts: Sequence[int] | None = None
    ) -> None:
        """All but the features, of ROWs [rows] and of texts with so many rows each, drawn at such temperatures."""
        self.tokens, self.tops = rows["token"].astype(np.int64), rows["top"].astype(np.int64)
        self.normaliser: NDArray[np.float32] = np.ascontiguousarray(rows["normaliser"])
        self.texts = np.repeat(np.arange(len(counts)), counts)
        self.held = np.repeat(_held(len(counts), prompts), counts)
        temperatures = [np.nan if each is None else float(each) for each in drawn]
        self.temperature = np.repeat(np.array(temperatures), counts)

    def hold_out(self, prompts: Sequence[int]) -> None:
        """By prompts: which one each text answers; of texts that have no features yet, too."""
        self.held = _held(self.num_texts, prompts)[self.texts]

    def on(self, values: Any) -> Tensor:
        """An array of numpy's, where learning computes.

        torch.tensor copies into torch's own memory, and so whenever numbers enter: where an array of numpy's begins is
        chance, and the last bits of a product can depend on it.
        """
        import torch

        return torch.tensor(values, device=self.device)

    def states(self, at: Ints) -> Tensor:
        """Features of rows [n], [n, streams, width] float32."""
        return self.on(self.features[at]).float()

    def finals(self, at: Ints) -> Tensor:
        """The last stream of rows [n], the final norm's output, [n, width] float32."""
        return self.on(self.features[at, -1]).float()

    @property
    def held_name(self) -> str:
        """The same where the same rows are held out, whatever else has come."""
        return sha256(np.flatnonzero(self.held).astype(np.int64).tobytes()).hexdigest()[:DIGITS]

    def _numbers(self, at: Ints) -> NDArray[np.float16]:
        """Features of rows [n], [n, streams, width]."""
        found: NDArray[np.float16] = self.features[at]
        return found

    def check_tokens(self, vocab_size: int) -> None:
        """Raises BadFile where there is one that the vocabulary lacks."""
        for tokens in (self.tokens, self.tops):
            wrong = tokens[(tokens < 0) | (tokens >= vocab_size)]
            if len(wrong):
                raise BadFile(
                    f"{self._path} is damaged: it has token {wrong[0]}, and the vocabulary ends at {vocab_size - 1}; "
                    "give --overwrite to begin anew"
                )

    @property
    def bounds(self) -> Ints:
        """[texts + 1]: where the rows of each text begin, and where those of the last one end."""
        counts = np.bincount(self.texts, minlength=self.num_texts)
        return np.concatenate([[0], np.cumsum(counts)])

    def by_text(self) -> list[Ints]:
        """The tokens of each text's rows."""
        return [self.tokens[start:end] for start, end in pairwise(self.bounds)]

    def drawn_at(self, temperatures: Sequence[float]) -> list[float]:
        """Those of them that a text was drawn at."""
        found = set(np.unique(self.temperature).tolist())
        return [each for each in temperatures if each in found]

    def check(self, fewest: int) -> None:
        """Raises BadFile where there is too little to train on and to hold out."""
        if not self.is_enough(fewest):
            raise BadFile(
                f"there is too little text to train on: {self.num_texts} texts with {self.count} tokens; at least two "
                f"texts of more than {fewest} tokens are needed, and useful heads take hundreds of thousands of tokens"
                f"; {MORE_TEXT}"
            )

    def is_enough(self, fewest: int) -> bool:
        """Whether more than so many rows of a text can be trained on, and as many are held out."""
        followed = self.followed(fewest)
        return bool((followed & self.held).any() and (followed & ~self.held).any())

    def followed(self, by: int) -> NDArray[np.bool_]:
        """[rows]: whether so many more rows of the same text follow."""
        found = np.zeros(self.count, bool)
        last = max(self.count - by, 0)
        found[:last] = self.texts[:last] == self.texts[by:]
        return found

    def scale(self) -> NDArray[np.float32]:
        """[streams]: 1 / rms of each, over the first rows that may be learnt from."""
        some = np.flatnonzero(~self.held)[:SCALE_ROWS]
        squares = np.square(self._numbers(some).astype(np.float64)).mean((0, 2))
        return np.asarray(1 / np.maximum(np.sqrt(squares), LEAST_SIZE), np.float32)

    def commonest(self, most: int, vocab_size: int, among: Ints | None = None) -> Ints:
        """The tokens of the text that may be learnt from, rising, at most so many; the rest by their ids.

        among: rows that count; None: all of that text.
        """
        some = np.flatnonzero(~self.held) if among is None else among
        counts = np.bincount(self.tokens[some], minlength=vocab_size)
        counts += np.bincount(self.tops[some], minlength=vocab_size)
        return np.sort(np.argsort(-counts, kind="stable")[: min(most, vocab_size)]).astype(np.int64)

    def held_out(self, temperature: float | None, most: int, by: int = 1) -> Ints:
        """At most so many held-out rows, evenly spread, that `by` rows of their text follow.

        Of texts drawn at this temperature, or, if there are none, of all.
        """
        rows = self.held & self.followed(by)
        drawn = rows & np.isclose(self.temperature, np.nan if temperature is None else temperature)
        found = np.flatnonzero(drawn if drawn.any() else rows)
        return found[:: max(1, -(-len(found) // most))].astype(np.int64)


def _held(texts: int, prompts: Sequence[int] | None) -> NDArray[np.bool_]:
    """[texts]: whether each is held out."""
    numbers = np.arange(texts)
    if prompts is not None and len(set(prompts[:texts])) > 1:
        numbers = np.array(prompts[:texts], np.int64)
    every = min(EVERY, len(np.unique(numbers)))
    return np.asarray(numbers % max(every, 1) == every - 1)


def _mapped(path: Path, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return np.memmap(path, kind, "r", shape=shape) if shape[0] else np.zeros(shape, kind)
    except (OSError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {error}; give --overwrite to begin anew") from error
