"""A tuning as a config file for --config: TOML, whose comments say why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

WIDTH = 116  # of comments
SHORTHANDS = {"method": "spec-method", "model": "spec-model", "num_speculative_tokens": "spec-tokens"}
"""Keys of the speculative config that have flags of their own, which a command line can override one by one."""


def tuned_file(config: Mapping[str, Any], paragraphs: Sequence[Sequence[str]], flags: Mapping[str, Any],
               verbs: Iterable[str]) -> str:  # fmt: skip
    """The whole file. `flags`: of the model that was measured; `verbs`: who is to have a table of them."""
    settings = {**flags, **speculation_flags(config)}
    tables = [
        "\n".join([f"[{verb}]", *(f"{name} = {value(each)}" for name, each in settings.items())]) for verb in verbs
    ]
    return "\n".join([*comments(paragraphs), "", "\n\n".join(tables), ""])


def speculation_flags(config: Mapping[str, Any]) -> dict[str, Any]:
    """A speculative config as flags."""
    if config.keys() <= SHORTHANDS.keys():
        return {SHORTHANDS[key]: each for key, each in config.items()}
    return {"speculative-config": json.dumps(config, ensure_ascii=False)}


def comments(paragraphs: Sequence[Sequence[str]]) -> list[str]:
    """Lines that TOML skips; every entry of a paragraph begins a line, and goes on indented."""
    lines = []
    for paragraph in paragraphs:
        for entry in paragraph:
            wrapped = wrap(
                printable(entry), WIDTH, subsequent_indent="  ", break_on_hyphens=False, drop_whitespace=True
            )
            lines += [f"# {line}" for line in wrapped]
        lines.append("#")
    return lines[:-1]


def value(of: str | float) -> str:
    """A TOML value. JSON's texts are TOML's but for the character DEL."""
    return json.dumps(of, ensure_ascii=False).replace("\x7f", "\\u007f")


def printable(text: str) -> str:
    """Without what a comment must not hold."""
    return "".join(c if c.isprintable() else " " for c in text)
