"""Prompts in, results out, in order of completion; what is wrong with a line stays beside that line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from truedraw.errors import BadInput, TruedrawError, error_of
from truedraw.generate.batch import Batch
from truedraw.generate.offline.lines import Defaults, Key, Line, key_of, parsed, request_of
from truedraw.generate.request import Request
from truedraw.generate.requests import NOTHING, Nothing, generate_many
from truedraw.generate.result import Result

Emit = Callable[[dict[str, Any]], None]
"""Takes one record, when its line is done."""


def run_lines(
    batch: Batch,
    lines: Iterable[Line | None],
    defaults: Defaults,
    emit: Emit,
    is_ready: Callable[[], bool] = lambda: True,
) -> None:
    """Sample every line's prompt and hand over a record for each, whatever becomes of it; closes the batch.

    None stands for a line that is done. Lines are read when their samples would begin soon, so the memory does not
    depend on their number; is_ready: whether the next one can be had without waiting, which stops nobody who is at
    work. A record is {"line": number, "digest": of the line, "id" or "custom_id" where the line has one} and then
    either Result.to_dict(), with the line's seed, or {"error": {"type", "message", "param"}}. Raises BadInput where a
    line that says nothing but its prompt could not be sampled, whatever its prompt: no such line could.
    """
    requests = _requests(lines, defaults, emit)
    for request, outcome in generate_many(batch, requests, lambda asked: not asked.key.says, is_ready):
        emit(record(request.key, outcome))


def _requests(lines: Iterable[Line | None], defaults: Defaults, emit: Emit) -> Iterator[Request | Nothing]:
    """NOTHING for each line that asks for none, so that nobody has to wait for the one behind it."""
    for line in lines:
        request: Request | Nothing = NOTHING
        if line is not None:
            try:
                request = request_of(line, defaults)
            except BadInput as error:
                emit(record(_key(line), error))
        yield request


def record(key: Key, outcome: Result | TruedrawError) -> dict[str, Any]:
    """What stands in the output for one line."""
    body = outcome.to_dict() if isinstance(outcome, Result) else {"error": error_of(outcome)}
    return {**key.head(), **body}


def _key(line: Line) -> Key:
    """With the line's id, where that much can be read of it."""
    try:
        return key_of(line, parsed(line))
    except BadInput:
        return key_of(line)
