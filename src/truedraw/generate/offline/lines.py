"""A line of prompts to a request.

A line is a JSON object: "prompt" (a text, or a list of token ids) or "messages" (of a conversation, for models with a
chat template), perhaps "id" or "custom_id" (given back with the result), "speculative", and any sampling parameter.
What a line does not say is as the run says. A line without a seed has derived_seed(seed of the run, its number).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from truedraw.errors import BadInput, BadParameter, BadPrompt
from truedraw.generate.derived_seeds import derived_seed
from truedraw.generate.request import Request
from truedraw.input_files import BYTE_ORDER_MARK, readable
from truedraw.sampling.contradictions import outdone, overruled, without_details
from truedraw.sampling.params import ALIASES, SamplingParams, by_our_names
from truedraw.sampling.their_names import meant_by
from truedraw.sampling.values import not_json, once_each
from truedraw.text.characters import check_characters, decoded
from truedraw.text.question import question

IDS = ("id", "custom_id")
OWN = ("prompt", "messages", "speculative", *IDS)
DIGEST_BYTES = 8
HINT = "give a file of JSON lines, or a pipe"

Chat = Callable[[Any], list[int]]
"""Messages to token ids; raises BadInput."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in its file."""

    number: int  # from 1
    text: bytes  # without its line break

    @property
    def digest(self) -> int:
        """A short name of its content, never 0."""
        return int.from_bytes(sha256(self.text).digest()[:DIGEST_BYTES], "big") or 1


@dataclass(frozen=True, slots=True)
class Key:
    """What a result needs to be put beside its line."""

    line: int
    digest: int
    named: Mapping[str, str | int]  # {"id": ...} or {"custom_id": ...}, or nothing
    says: bool = False  # how it is to be sampled

    def head(self) -> dict[str, Any]:
        """The beginning of the line's record."""
        return {"line": self.line, "digest": f"{self.digest:0{2 * DIGEST_BYTES}x}", **self.named}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What applies to lines that do not say otherwise."""

    params: Mapping[str, Any]  # sampling parameters by name, without the seed
    speculative: Any
    seed: int
    chat: Chat
    as_chat: bool = False  # texts are questions
    system: str | None = None  # stands before them


def numbered(lines: Iterable[bytes]) -> Iterator[Line | None]:
    """The lines, None for blank ones, without a byte order mark at the very beginning. Raises BadFile."""
    with readable("the input", HINT):
        for number, raw in enumerate(lines, start=1):
            text = (raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw).rstrip(b"\r\n")
            yield Line(number, text) if text.strip() else None


def request_of(line: Line, defaults: Defaults) -> Request:
    """The line's request; raises BadInput for what is no request."""
    entry = parsed(line)
    key = key_of(line, entry)
    valid = {*OWN, *ALIASES, *(field.name for field in fields(SamplingParams))}
    for name in entry:
        if name not in valid:
            names = [*OWN, *sorted(valid - {*OWN})]
            raise BadParameter(name, f"no such key{meant_by(name, names)}; valid ones are {', '.join(names)}")
    own = by_our_names({name: value for name, value in entry.items() if name not in OWN})
    params = {**below(own, defaults.params), **own}
    params.setdefault("seed", derived_seed(defaults.seed, line.number))
    speculative = defaults.speculative if entry.get("speculative") is None else entry["speculative"]
    return Request(prompt_of(entry, defaults), params, speculative, key)


def below(own: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """What of the run's parameters is left where a line has these of its own: none that these put out of force."""
    gone = overruled(own) | outdone(own)
    kept = {name: value for name, value in run.items() if name not in gone}
    if isinstance(schedule := kept.get("schedule"), Mapping):
        kept["schedule"] = {name: values for name, values in schedule.items() if name not in gone | set(own)}
    return without_details({**kept, **own}, kept)


def key_of(line: Line, entry: Mapping[str, Any] | None = None) -> Key:
    """Raises BadInput for an id of another kind, and for two of them."""
    named = {name: entry[name] for name in IDS if entry.get(name) is not None} if entry else {}
    for name, value in named.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadParameter(name, f"got {value!r}; give a text or a whole number")
    if len(named) > 1:
        raise BadParameter("id", "id and custom_id are the same thing; give one of them")
    says = any(value is not None for name, value in (entry or {}).items() if name not in ("prompt", "messages", *IDS))
    return Key(line.number, line.digest, named, says)


def parsed(line: Line) -> dict[str, Any]:
    """The line's object; raises BadInput."""
    try:
        entry = once_each(decoded(line.text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"not JSON ({not_json(error)}); give one JSON object a line") from error
    if not isinstance(entry, dict):
        raise BadInput('give a JSON object, as {"prompt": "Once upon a time"}')
    return entry


def prompt_of(entry: Mapping[str, Any], defaults: Defaults) -> str | list[int]:
    """The text or the token ids to continue; raises BadPrompt."""
    prompt, messages = entry.get("prompt"), entry.get("messages")
    if (prompt is None) == (messages is None):
        raise BadPrompt("give either prompt (a text or token ids) or messages (of a conversation)")
    if messages is not None:
        if not isinstance(messages, list):
            raise BadPrompt(f"messages is {messages!r:.60}; give a list of objects with role and content")
        return defaults.chat(messages)
    if not isinstance(prompt, str | list):
        raise BadPrompt(f"prompt is {prompt!r:.60}; give a text, or a list of token ids")
    check_characters(prompt, "prompt")
    if isinstance(prompt, str) and prompt and defaults.as_chat:
        return defaults.chat(question(prompt, defaults.system))
    return prompt
