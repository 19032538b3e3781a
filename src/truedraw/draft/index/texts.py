"""Texts for an index: text files, JSON lines, and the token ids of samples that were written down.

A line is a JSON object with

    token_ids                   ids of this model, taken as they are
    text or completion          a text, behind `prompt` where that is a text or ids
    prompt                      alone: a text or ids
    choices                     objects of the kinds above, or with `message`, an object with `content`

or with `error`, which is passed over: what `truedraw generate --output` and `truedraw sweep` write is among them.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from truedraw.draft.index.layout import END, Words
from truedraw.draft.index.segments import Tell
from truedraw.errors import BadFile
from truedraw.text import Tokenizer

TEXT, LINES = "text", "jsonl"
LINE_ENDINGS = (".jsonl", ".ndjson")
READ_BYTES = 1 << 20  # of a text file at once; a token is never longer, but may be cut where no line ends for long
READING = "reading"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Part = str | list[int]


class Texts:
    """The texts of some files as token ids of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, tell: Tell) -> None:
        self._tokenizer, self._tell = tokenizer, tell

    def of(self, files: Sequence[Path], kind: str | None) -> Iterator[Words]:
        """Arrays of ids, END behind every text. `kind` is TEXT or LINES, None goes by the name. Raises BadFile."""
        sizes = [_size(path) for path in files]
        for number, path in enumerate(files):
            is_lines = kind == LINES or (kind is None and path.suffix.lower() in LINE_ENDINGS)
            try:
                with path.open("rb") as file:
                    for array in self.of_lines(file, str(path)) if is_lines else self.of_text(file, str(path)):
                        yield array
                        self._tell(READING, sum(sizes[:number]) + file.tell(), sum(sizes))
            except OSError as error:
                raise BadFile(f"{path} cannot be read: {error.strerror or error}") from error

    def of_text(self, file: BinaryIO, name: str) -> Iterator[Words]:
        """One text, in pieces that end with a line."""
        decoder, place = getincrementaldecoder("utf-8-sig")(), 0
        while chunk := file.read(READ_BYTES) + file.readline(READ_BYTES):
            try:
                piece = decoder.decode(chunk)
                place += len(chunk)
            except UnicodeDecodeError as error:
                _bad(f"{name}, about byte {place + error.start + 1}", "not UTF-8; save the file as UTF-8")
            yield self._ids(piece)
        if decoder.getstate()[0]:
            _bad(f"{name}, at its end", "half a character; save the file as UTF-8")
        if place:
            yield np.array([END], np.int32)

    def of_lines(self, lines: Iterable[bytes], name: str) -> Iterator[Words]:
        """The texts of JSON lines."""
        for number, line in enumerate(lines, start=1):
            clean = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            where = f"{name}, line {number}"
            for parts in texts_of(_record(clean, where), where) if clean.strip() else ():
                arrays = [self._ids(part) if isinstance(part, str) else self._checked(part, where) for part in parts]
                if sum(map(len, arrays)):
                    yield np.concatenate([*arrays, np.array([END], np.int32)])

    def _ids(self, text: str) -> Words:
        return np.array(self._tokenizer.encode(text, add_special=False), np.int32)

    def _checked(self, ids: list[int], where: str) -> Words:
        most = self._tokenizer.vocab_size
        for token in ids:
            if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < most:
                _bad(where, f"the token id {token!r:.40}; this model's are whole numbers from 0 to {most - 1}")
        return np.array(ids, np.int32)


def texts_of(record: dict[str, Any], where: str) -> list[list[Part]]:
    """The texts of a line, each in parts to be put behind one another; raises BadFile for a line without any."""
    if "error" in record:
        return []
    if isinstance(choices := record.get("choices"), list):
        return [text for choice in choices for text in texts_of(_choice(choice, where), where)]
    if isinstance(ids := record.get("token_ids"), list):
        return [[ids]]
    prompt, rest = record.get("prompt"), record.get("text") or record.get("completion")
    if isinstance(prompt, str) and isinstance(rest, str):
        return [[prompt + rest]]
    parts = [part for part in (prompt, rest) if isinstance(part, str | list)]
    if not parts and rest is None and record.get("text") is None:
        _bad(where, "no text; give token_ids, text, completion, prompt or choices")
    return [parts]


def _choice(choice: Any, where: str) -> dict[str, Any]:
    """One of the choices as a record; a message's content is its text."""
    if not isinstance(choice, dict):
        _bad(where, f"a choice is {choice!r:.40}; give an object")
    message = choice.get("message")
    return {"text": message.get("content")} if isinstance(message, dict) else choice


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        _bad(where, f"not JSON ({error}); give one JSON object a line")
    if not isinstance(record, dict):
        _bad(where, f"got {line[:40].decode(errors='replace').strip()!r}; give one JSON object a line")
    return record


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}") from error


def _bad(where: str, problem: str) -> NoReturn:
    raise BadFile(f"{where}: {problem}")
