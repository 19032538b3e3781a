"""Prompts to measure on, from JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from truedraw.errors import BadFile, BadInput
from truedraw.input_files import opened, readable
from truedraw.sampling.values import not_json, once_each
from truedraw.text.characters import NO_TEXT, decoded, is_text

UNCATEGORISED = "other"
READ = ("prompt", "turns", "category")
NOTES = (
    "id", "custom_id", "question_id", "reference",  # of Spec-Bench, and of prompts for `truedraw generate`
    "prompt_paraphrases", "chosen", "original_prompt", "safety", "meta",  # of NoveltyBench
    "source", "comment",
)  # fmt: skip
"""Keys that say something about a prompt and change nothing."""
HINT = "give a file with one JSON object a line"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to continue, and the kind of text it is."""

    text: str
    category: str
    line: int  # in its file, from 1
    source: str = field(default="", compare=False)  # that file, for messages


def read_prompts(path: Path | None = None, limit: int | None = None, per_category: int | None = None) -> list[Prompt]:
    """The prompts of a file, or our own: the first `per_category` of each category, of those the first `limit`.

    A line is an object with `prompt` (text) or, as in Spec-Bench, `turns` (texts, of which the first counts), and
    perhaps `category`; NOTES are skipped, other keys refused. Empty lines are skipped. Raises BadFile with the line's
    number.
    """
    name = "the built-in prompts" if path is None else str(path)
    prompts = list(parse(_lines(path), name))
    if not prompts:
        raise BadFile(f"{name} holds no prompt; give one JSON object a line")
    return list(_first(prompts, per_category))[:limit]


def parse(lines: Iterable[bytes], name: str) -> Iterator[Prompt]:
    """The prompts of raw lines; `name` is the file's, for messages."""
    for number, line in enumerate(lines, start=1):
        text = _decoded(line, name, number)
        if text.strip():
            yield _prompt(text, name, number)


def _lines(path: Path | None) -> list[bytes]:
    if path is None:
        return (files("truedraw.bench") / "prompts.jsonl").read_bytes().splitlines()
    with opened(path, hint=HINT) as file, readable(str(path), HINT):
        return file.read().splitlines()


def _first(prompts: Iterable[Prompt], per_category: int | None) -> Iterator[Prompt]:
    seen: Counter[str] = Counter()
    for prompt in prompts:
        seen[prompt.category] += 1
        if per_category is None or seen[prompt.category] <= per_category:
            yield prompt


def _decoded(line: bytes, name: str, number: int) -> str:
    try:
        return decoded(line)
    except BadInput as error:
        _bad(name, number, str(error))


def _prompt(line: str, name: str, number: int) -> Prompt:
    try:
        entry = once_each(line)
    except BadInput as error:
        _bad(name, number, str(error))
    except (ValueError, RecursionError) as error:
        _bad(name, number, f"not JSON ({not_json(error)}); give one JSON object a line")
    if not isinstance(entry, dict):
        _bad(name, number, f"got {line.strip()[:40]!r}; give a JSON object with prompt or turns")
    for key in entry:
        if key not in (*READ, *NOTES):
            _bad(
                name, number, f"no such key: {key!r:.60}; valid ones are {', '.join(READ)}; skipped: {', '.join(NOTES)}"
            )
    text, category = _text(entry), entry.get("category", UNCATEGORISED)
    if not isinstance(text, str) or not text:
        _bad(name, number, "no prompt; give prompt (a text) or turns (a list that starts with a text)")
    if not isinstance(category, str) or not category:
        _bad(name, number, f"category is {category!r}; give a text, or leave it out")
    for what, given in (("the prompt", text), ("category", category)):
        if not is_text(given):
            _bad(name, number, f"{what} {NO_TEXT}")
    return Prompt(text, category, number, name)


def _text(entry: dict[str, Any]) -> Any:
    turns = entry.get("turns")
    return entry.get("prompt", turns[0] if isinstance(turns, list) and turns else None)


def _bad(name: str, number: int, problem: str) -> NoReturn:
    raise BadFile(f"{name}, line {number}: {problem}")
