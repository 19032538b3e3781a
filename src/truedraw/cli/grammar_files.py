"""Grammars and schemas on the command line: written out, or in a file."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path

from truedraw.cli.stdin import argument_text
from truedraw.errors import BadFile


def grammar_text(flag: str, value: str) -> str:
    """The text of a grammar or schema; raises BadFile for a file that is missing or cannot be read as UTF-8.

    A value that names a file is read. Otherwise one that could be a grammar (it has a rule's colon) or JSON (a brace,
    true or false) is taken as it is.
    """
    if isfile(value):  # False for what can be no name, be it too long
        return _read(flag, Path(value))
    written_out = ":" in value if flag == "--grammar" else value.strip().startswith(("{", "true", "false"))
    if not written_out:
        raise BadFile(f"{flag}: there is no file {value[:80]!r}, and it is not written out either; give one of the two")
    return argument_text(value)


def _read(flag: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise BadFile(f"{flag}: {path} cannot be read as UTF-8 text ({error}); give another file") from error
