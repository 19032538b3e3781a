"""The texts of a run, in a journal: each is written once it is whole, so that a kill loses none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from truedraw.distill.read_values import are_whole, is_number, is_temperature
from truedraw.errors import BadFile
from truedraw.protocol import Ints

NAME = "texts.jsonl"
KEY = 2  # numbers that a text is known by: round and number in it, or document and place
MORE_TEXT = "give more time (--budget), longer answers, or more prompts or documents"
WATCH = "watch"  # in a record that was just drawn: what was seen meanwhile
Record = dict[str, Any]
"""One text: {"key": [round, number], "temperature", "prompt": token ids, "answer": token ids}, WATCH: who watched."""


class Text(NamedTuple):
    """One text to learn from: the answer's tokens follow the prompt."""

    prompt: list[int]
    answer: list[int]
    temperature: float | None  # that the answer was drawn at; None: it was not


class Gathered(NamedTuple):
    """How many there are."""

    texts: int
    tokens: int  # of answers
    seconds: float  # that they took
    left_out: int = 0  # prompts that were given and are too long to be answered


def read_texts(folder: Path) -> Iterator[Text]:
    """Those that are there, in their order; raises BadFile."""
    from truedraw.generate.offline.journal import read_records

    for record in checked(read_records(folder / NAME), folder / NAME):
        yield text_of(record)


def stored_texts(folder: Path, stored: Iterable[Ints], told: Callable[[Text], list[int]]) -> Iterator[Text]:
    """The first texts, of each of which a store has the tokens that are `told`; raises BadFile where it has others."""
    texts = read_texts(folder)
    for tokens in stored:
        text = next(texts, None)
        if text is None or told(text) != tokens.tolist():
            raise foreign(folder)
        yield text


def answer_rows(text: Text) -> list[int]:
    """The tokens of the rows behind which the answer's were drawn."""
    return [text.prompt[-1], *text.answer[:-1]]


def check_stored(folder: Path, stored: Iterable[Ints]) -> None:
    """Raises BadFile where a store of answers has rows of other tokens than the first texts."""
    for _ in stored_texts(folder, stored, answer_rows):
        pass


def prompts_of(folder: Path, shortest: int = 0) -> list[int]:
    """Which prompt each text answers, numbered as they came, or, of documents, which text it is; raises BadFile.

    Those with answers of fewer than `shortest` tokens have no number of their own: they go with the first one.
    """
    numbers: dict[tuple[int, ...], int] = {}
    return [
        numbers.setdefault(_given(text), len(numbers)) if len(text.answer) >= shortest else 0
        for text in read_texts(folder)
    ]


def _given(text: Text) -> tuple[int, ...]:
    """What of it nobody drew."""
    return (*text.prompt, *(text.answer if text.temperature is None else ()))


def checked(records: Iterable[Record], path: Path) -> Iterator[Record]:
    """The lines of a journal of texts; raises BadFile for what no run wrote."""
    for number, record in enumerate(records, start=1):
        if not _is_ours(record):
            raise BadFile(f"{path}, line {number}, is no text of ours; give another --work, or --overwrite")
        yield record


def text_of(record: Record) -> Text:
    """The text of a line."""
    return Text(record["prompt"], record["answer"], record["temperature"])


def _is_ours(record: Record) -> bool:
    key, seconds = record.get("key"), record.get("seconds")
    tokens = are_whole(record.get("prompt")) and are_whole(record.get("answer"))
    return tokens and are_whole(key) and len(record["key"]) == KEY and is_number(seconds) and is_temperature(record)


def foreign(folder: Path) -> BadFile:
    """Texts and features do not belong together."""
    return BadFile(f"the texts in {folder} are not those that its features are of; give --overwrite to begin anew")
