"""Writes docs/cli.md from the command line itself: python tools/cli_page.py. A test checks that the page is current."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

from truedraw.cli.main import command

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

Text goes to stdout, everything about it to stderr. Exit codes: 0 done, 1 a check that failed, 2 an error, which is one
line on stderr, 130 ended by ctrl-C. A flag counts before its twin in the environment, that before the file of
`--config`, that before the default. The twin of a flag that may be given several times holds one value a line.

With `--json`, stdout holds whole JSON values, one a line, and nothing else, unless it cannot be written to. An error
before there is any result leaves it empty. One behind that, or ctrl-C, leaves what was found by then: the object has
`error` (`type`, `message` and, where it is about a parameter, `param`), or `complete`, which is false. Errors are told
on stderr then, too, in its last line, `truedraw: error: ...`; notices before it begin with `truedraw: notice: `. So a
script may look at the exit code, and read each line of stdout by itself whatever that is.

This page is written by `python tools/cli_page.py`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for path, verb in verbs("truedraw", command()) for part in section(path, verb))])


def verbs(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    """(words to type, command) of every command that does something itself."""
    for name, verb in group.commands.items():
        if not hasattr(verb, "commands") or verb.invoke_without_command:
            yield f"{path} {name}", verb
        if hasattr(verb, "commands"):
            yield from verbs(f"{path} {name}", verb)


def section(path: str, verb: Any) -> Iterator[str]:
    """A heading, the help and a table of flags."""
    arguments = [each for each in verb.params if each.param_type_name == "argument"]
    yield f"## {' '.join([path, *(str(each.metavar or each.name).upper() for each in arguments)])}\n"
    yield cleandoc(verb.help or "") + "\n"
    yield from (f"* `{each.metavar or each.name}`: {each.help}" for each in arguments)
    yield "\n| flag | environment | meaning |\n|---|---|---|"
    yield from (row(each) for each in verb.params if each.param_type_name == "option")
    yield ""
    if examples := [line for line in (verb.epilog or "").splitlines() if line.startswith(("truedraw", "printf"))]:
        yield "\n".join(["```sh", *examples, "```", ""])


def row(option: Any) -> str:
    """One flag."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default
    told = (
        f" Default: {default}."
        if isinstance(default, str | int | float | Path) and not isinstance(default, bool) and default != ""
        else ""
    )
    environment = f"`{option.envvar}`" if option.envvar else ""
    choices = ", ".join(f"`{choice}`" for choice in _choices(option))
    one_of = f" One of {choices}." if choices else ""
    return f"| {names} | {environment} | {str(option.help).replace('|', '&#124;')}{one_of}{told} |"


def _choices(option: Any) -> tuple[str, ...]:
    """The only values that it takes, where they are few; typer has called their place otherwise."""
    kind = getattr(option, "type_descriptor", None) or getattr(option, "type", None)
    return tuple(getattr(kind, "choices", None) or ())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
