"""Text from outside, which must be UTF-8. A byte order mark at its very beginning is no part of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from truedraw.errors import BadPrompt
from truedraw.input_files import BYTE_ORDER_MARK, check_stdin, readable

HINT = "give a file, or a pipe"


def prompt_text(argument: str) -> str:
    """The argument, or all of stdin for "-"; raises BadPrompt, and BadFile where stdin never ends or fails.

    Of stdin, one final line break is dropped, as a shell would, whether it is \\n or \\r\\n. All others are the user's
    text and stay what they are.
    """
    if argument == "-":
        check_stdin()
        with readable("stdin", HINT):
            data = sys.stdin.buffer.read()
        text = decoded(data.removeprefix(BYTE_ORDER_MARK), "the prompt on stdin")
        return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
    return given_text(argument, "the prompt")


def given_text(argument: str, what: str) -> str:
    """An argument, in whatever encoding the system has read it; raises BadPrompt where it is not UTF-8."""
    return decoded(argument.encode(errors="surrogateescape"), what)


def lines() -> Iterator[str]:
    """The lines of stdin as they come, without line breaks; raises as prompt_text."""
    check_stdin()
    with readable("stdin", HINT):
        for number, line in enumerate(iter(sys.stdin.buffer.readline, b""), start=1):
            text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            yield decoded(text, f"line {number} of stdin").rstrip("\r\n")


def argument_text(argument: str) -> str:
    """An argument as UTF-8, in whatever encoding the system has read it; as it is where that cannot be."""
    try:
        return argument.encode(errors="surrogateescape").decode()
    except UnicodeError:
        return argument


def argument_texts(arguments: Sequence[str]) -> list[str]:
    """The same of several."""
    return [argument_text(each) for each in arguments]


def decoded(data: bytes, what: str) -> str:
    """UTF-8 to text."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadPrompt(
            f"{what} is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}; "
            "convert it first, for instance with iconv -t UTF-8"
        ) from error
