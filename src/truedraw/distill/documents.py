"""Texts of files, in pieces that a context holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from truedraw.draft.index.layout import END
from truedraw.draft.index.texts import Texts
from truedraw.errors import BadFile
from truedraw.generate.model import Model

PIECE = 512  # tokens
SHORTEST = 2  # tokens: one to begin with, one to learn


def document_texts(model: Model, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """One record a piece, as own_texts.py has them but of no temperature; the first token of each is its prompt.

    Raises BadFile for a file that cannot be read, and where all of them together hold no text.
    """
    empty = True
    length = min(PIECE, model.engine.context_length - 1)
    for number, ids in enumerate(_documents(model, files)):
        for start in range(0, len(ids), length):
            piece = ids[start : start + length]
            if len(piece) >= SHORTEST:
                empty = False
                yield {"key": [number, start], "temperature": None, "prompt": piece[:1], "answer": piece[1:]}
    if empty:
        names = ", ".join(map(str, files))
        raise BadFile(f"{names}: there is no text to train on, zero tokens; give files with text")


def _documents(model: Model, files: Sequence[Path]) -> Iterator[list[int]]:
    text: list[int] = []
    for array in Texts(model.tokenizer, _quiet, model.name).of(files, None):
        for token in array.tolist():
            if token != END:
                text.append(token)
            elif text:
                yield text
                text = []
    if text:
        yield text


def _quiet(_what: str, _done: int, _total: int | None) -> None:
    """How far reading is does not matter beside what follows."""
