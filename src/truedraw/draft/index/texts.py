"""Texts for an index: text files, JSON lines, and the token ids of samples that were written down.

A line is a JSON object with

    token_ids                   ids of this model, taken as they are
    text or completion          a text, behind `prompt` where that is a text or ids
    prompt                      alone: a text or ids
    choices                     objects of the kinds above, or with `message`, an object with `content`

or with `error`, which is passed over: what `truedraw generate --output` and `truedraw sweep` write is among them, whose
prompt may be a number. A key with null is one that is not there, and a message without content one that called a tool.
Of a line with `model`, another name than that of the model the texts are for, only what is text is taken: its ids may
mean other tokens.
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
from truedraw.errors import BadFile, BadInput, BadPrompt
from truedraw.input_files import BYTE_ORDER_MARK, opened, readable, size_of
from truedraw.sampling.values import not_json, shown
from truedraw.text import Tokenizer
from truedraw.text.characters import check_characters, decoded

TEXT, LINES = "text", "jsonl"
LINE_ENDINGS = (".jsonl", ".ndjson")
READ_BYTES = 1 << 20  # of a text file at once; a token is never longer, but may be cut where no line ends for long
READING = "reading"
Part = str | list[int]


class Texts:
    """The texts of some files as token ids of one tokenizer; `model` is the name that records have for its model."""

    def __init__(self, tokenizer: Tokenizer, tell: Tell, model: str) -> None:
        self._tokenizer, self._tell, self._model = tokenizer, tell, model

    def of(self, files: Sequence[Path], kind: str | None) -> Iterator[Words]:
        """Arrays of ids, END behind every text. `kind` is TEXT or LINES, None goes by the name. Raises BadFile."""
        sizes = [size_of(path) for path in files]
        for number, path in enumerate(files):
            is_lines = kind == LINES or (kind is None and path.suffix.lower() in LINE_ENDINGS)
            with opened(path) as file, readable(str(path)):
                for array in self.of_lines(file, str(path)) if is_lines else self.of_text(file, str(path)):
                    yield array
                    here = file.tell() if file.seekable() else 0
                    self._tell(READING, sum(sizes[:number]) + here, sum(sizes))

    def of_text(self, file: BinaryIO, name: str) -> Iterator[Words]:
        """One text, in pieces that end with a line."""
        decoder, place, is_empty = getincrementaldecoder("utf-8-sig")(), 0, True
        while chunk := file.read(READ_BYTES) + file.readline(READ_BYTES):
            try:
                piece = decoder.decode(chunk)
                place += len(chunk)
            except UnicodeDecodeError as error:
                _bad(f"{name}, about byte {place + error.start + 1}", "not UTF-8; save the file as UTF-8")
            is_empty = is_empty and not piece
            yield self._ids(piece)
        if decoder.getstate()[0]:
            _bad(f"{name}, at its end", "half a character; save the file as UTF-8")
        if not is_empty:
            yield np.array([END], np.int32)

    def of_lines(self, lines: Iterable[bytes], name: str) -> Iterator[Words]:
        """The texts of JSON lines."""
        for number, line in enumerate(lines, start=1):
            clean = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            where = f"{name}, line {number}"
            for parts in self._of_record(_record(clean, where), where) if clean.strip() else ():
                arrays = [self._checked(part, where) for part in parts]
                if sum(map(len, arrays)):
                    yield np.concatenate([*arrays, np.array([END], np.int32)])

    def _of_record(self, record: dict[str, Any], where: str) -> list[list[Part]]:
        named = record.get("model")
        return texts_of(record, where, None if named == self._model else named)

    def _ids(self, text: str) -> Words:
        return np.array(self._tokenizer.encode(text, add_special=False), np.int32)

    def _checked(self, part: Part, where: str) -> Words:
        if isinstance(part, list):
            return self._known(part, where)
        try:
            check_characters(part, f"{where}: a text")
        except BadPrompt as error:
            raise BadFile(str(error)) from None
        return self._ids(part)

    def _known(self, ids: list[int], where: str) -> Words:
        most = self._tokenizer.vocab_size
        for token in ids:
            if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < most:
                _bad(where, f"the token id {token!r:.40}; this model's are whole numbers from 0 to {most - 1}")
        return np.array(ids, np.int32)


def texts_of(record: dict[str, Any], where: str, other: Any = None) -> list[list[Part]]:
    """The texts of a line, each in parts to be put behind one another; raises BadFile for a line without any.

    `other`: the model that the line names, where its ids are not ours and are left out.
    """
    if "error" in record:
        return []
    if (choices := record.get("choices")) is not None:
        if not isinstance(choices, list) or not choices:
            _bad(where, f"choices is {shown(choices)}; give a list of objects")
        return [text for choice in choices for text in _texts_of_choice(choice, where, other)]
    if (ids := _part("token_ids", record.get("token_ids"), where, list)) is not None and other is None:
        return [[ids]]
    parts = _parts_of(record, where, other)
    if not parts:
        _bad(where, "no text; give token_ids, text, completion, prompt or choices" if other is None else _lacks(other))
    return [parts]


def _parts_of(record: dict[str, Any], where: str, other: Any) -> list[Part]:
    """The prompt and what follows it, one part where both are texts."""
    given = {**record, "prompt": None} if is_number(record.get("prompt")) else record
    parts = [_part(name, given.get(name), where) for name in ("prompt", "text", "completion")]
    prompt, text, completion = (None if other is not None and isinstance(part, list) else part for part in parts)
    rest = text or completion if completion is not None else text
    if isinstance(prompt, str) and isinstance(rest, str):
        return [prompt + rest]
    return [part for part in (prompt, rest) if part is not None]


def _lacks(other: Any) -> str:
    return (
        f"no text, and ids of the model {shown(other)} may mean other tokens here; give a text, or that model with "
        "--model"
    )


def _texts_of_choice(choice: Any, where: str, other: Any) -> list[list[Part]]:
    """A choice is a record, or has a message, whose content is its text."""
    if not isinstance(choice, dict):
        _bad(where, f"a choice is {shown(choice)}; give an object")
    message = choice.get("message")
    if message is None:
        return texts_of(choice, where, other)
    if not isinstance(message, dict):
        _bad(where, f"message is {shown(message)}; give an object with content")
    content = _part("content", message.get("content"), where)
    if isinstance(content, list) and other is not None:
        _bad(where, _lacks(other))
    return [] if content is None else [[content]]


def _part(name: str, value: Any, where: str, kinds: Any = str | list) -> Any:
    """A text or ids, or None; `kinds` says which."""
    if value is not None and not isinstance(value, kinds):
        _bad(where, f"{name} is {shown(value)}; give {'token ids' if kinds is list else 'a text, or token ids'}")
    return value


def is_number(value: Any) -> bool:
    """Whether it may stand for a prompt that was given elsewhere."""
    return isinstance(value, int) and not isinstance(value, bool)


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(decoded(line))
    except BadInput as error:
        _bad(where, str(error))
    except (ValueError, RecursionError) as error:
        _bad(where, f"not JSON ({not_json(error)}); give one JSON object a line")
    if not isinstance(record, dict):
        _bad(where, f"got {line[:40].decode(errors='replace').strip()!r}; give one JSON object a line")
    return record


def _bad(where: str, problem: str) -> NoReturn:
    raise BadFile(f"{where}: {problem}")
