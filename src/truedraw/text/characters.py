"""What is no text: bytes that are not UTF-8, and half of a surrogate pair, which JSON and Python can write down, and no
encoding can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.errors import BadInput, BadPrompt

NUL = b"\0"
NO_TEXT = "holds half of a surrogate pair (\\ud800 to \\udfff), which is no character; leave it out"


def check_characters(value: Any, what: str) -> None:
    """Raises BadPrompt for half of a pair in a text, or in a text within lists and mappings, however deep."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str) and not is_text(each):
            raise BadPrompt(f"{what} {NO_TEXT}")
        if isinstance(each, Mapping):
            left += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            left += each


def is_text(text: str) -> bool:
    """Whether it can be encoded; two halves side by side are a character."""
    try:
        text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return False
    return True


def decoded(line: bytes) -> str:
    """A line of JSON; raises BadInput for what is not UTF-8. A NUL, never in JSON, is half of one of UTF-16.

    A byte order mark is dropped: files that were put one behind the other have one in their middle, too.
    """
    if NUL in line:
        raise BadInput(f"byte {line.index(NUL) + 1} is NUL, which is not UTF-8 text; save the file as UTF-8")
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
