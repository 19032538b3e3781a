"""Tokens coloured by where they came from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal, TextIO

Paint = Callable[[str, str], str]
"""(text, origin) -> what to write."""

ANSI = {"draft": "32", "bonus": "34", "residual": "38;5;208", "forced": "35"}
"""Green, blue, orange, magenta as parameters of the terminal's colour sequence; plain tokens keep its own colour."""
RESET = "\x1b[0m"
CONTROLS = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: 0x2421}
    | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
)
"""Control characters to their pictures: a model's text must not be able to command a terminal."""


def painter(color: Literal["auto", "always", "never"], out: TextIO) -> Paint:
    """How to write tokens to `out`: as they are, safe for a terminal, coloured."""
    if wants_colour(color, out):
        return coloured
    return safe if out.isatty() else verbatim


def wants_colour(color: Literal["auto", "always", "never"], out: TextIO) -> bool:
    """always and never decide; auto is yes on a terminal that can, unless NO_COLOR is set to anything."""
    if color != "auto":
        return color == "always"
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def verbatim(text: str, _origin: str) -> str:
    """Nothing changed, for files and pipes."""
    return text


def safe(text: str, _origin: str = "") -> str:
    """Control characters made visible."""
    return text.translate(CONTROLS)


def shown_safely(text: str, out: TextIO) -> str:
    """What is told of a model, a draft or a file, whose names and words are other people's: safe on a terminal."""
    return painter("never", out)(text, "")


def coloured(text: str, origin: str) -> str:
    """Safe, and in the colour of its origin."""
    shown = safe(text, origin)
    return f"\x1b[{ANSI[origin]}m{shown}{RESET}" if origin in ANSI and shown else shown


def legend() -> str:
    """What the colours mean."""
    return "colours: " + ", ".join(coloured(name, name) for name in ANSI) + ", plain"


def write(text: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()
