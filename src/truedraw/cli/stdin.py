"""Text from outside, which must be UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from truedraw.errors import BadPrompt


def prompt_text(argument: str) -> str:
    """The argument, or all of stdin for "-" (one final line break dropped, as a shell would); raises BadPrompt."""
    if argument == "-":
        return decoded(sys.stdin.buffer.read(), "the prompt on stdin").removesuffix("\n")
    return decoded(argument.encode(errors="surrogateescape"), "the prompt")


def lines() -> Iterator[str]:
    """The lines of stdin as they come, without line breaks; raises BadPrompt."""
    for number, line in enumerate(iter(sys.stdin.buffer.readline, b""), start=1):
        yield decoded(line, f"line {number} of stdin").rstrip("\r\n")


def decoded(data: bytes, what: str) -> str:
    """UTF-8 to text."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadPrompt(
            f"{what} is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}; "
            "convert it first, for instance with iconv -t UTF-8"
        ) from error
