"""No flag writes over a file that another flag of the command reads, however the two name it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from truedraw.errors import BadParameter
from truedraw.home_folder import from_root

PARTS = "*.safetensors", "*.safetensors.index.json", "*.gguf", "*.bin", "*.pt", "*.xml", "*.jinja", "*.model"
NAMES = "config.json", "*_config.json", "tokenizer*.json", "special_tokens_map.json", "vocab.*", "merges.txt"
"""What the files of a model's or a draft's folder are called; others in it are of no interest to us."""


class Named(NamedTuple):
    """A flag and its value; `over`: None where it writes nothing, else the flags whose files it may write over.

    `reads`: its value may be the name of something on the disk; that of any other flag is no name, whatever it says.
    """

    flag: str
    value: Any
    over: tuple[str, ...] | None
    reads: bool = True


def check_inputs_kept(flags: Sequence[Named]) -> None:
    """Raises BadParameter where a flag would write over what another one reads, or what stdout goes to."""
    stdout = _stdout()
    read = [(each.flag, path) for each in flags if each.over is None and each.reads for path in _named(each.value)]
    for flag, value, over, _ in flags:
        if over is None or not isinstance(value, str | Path):
            continue
        if stdout is not None and any(identity(file) == stdout for file in _written(value)):
            raise BadParameter(flag, f"{value} is the file that stdout goes to, too; give another file")
        for (other, path), file in product(read, _written(value)):
            if other not in over and _holds(path, file):
                raise BadParameter(flag, f"{value} would write over what {other} {path} reads; give another file")


def _stdout() -> object:
    """The file that stdout was redirected to, as `identity` has it; None where it is none."""
    try:
        found = os.fstat(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def identity(path: Path) -> object:
    """Equal for two paths to one file, through links of any kind, whether or not it is there yet."""
    try:
        found = path.stat()
    except OSError:
        return from_root(path).resolve()
    return found.st_dev, found.st_ino


def _holds(path: Path, file: Path) -> bool:
    """Whether `path` is the file, or a folder that it is a part of, through links too."""
    if not path.is_dir() or file.is_dir():
        return identity(path) == identity(file)
    return identity(file) in [identity(each) for each in path.iterdir() if each.is_file() and _is_part(each.name)]


def _is_part(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in (*PARTS, *NAMES))


def _written(value: str | Path) -> list[Path]:
    """What is there under the name of a file to write; not every flag takes ~ for the home folder."""
    return [path for path in {Path(value), _expanded(value)} if _exists(path)]


def _named(value: Any) -> Iterator[Path]:
    """What is there under the names that a value holds, also inside JSON, however deep."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str | Path):
            if _exists(path := _expanded(each)):
                yield path
            elif isinstance(each, str) and each.lstrip().startswith("{"):
                waiting.append(_from_json(each))
        elif isinstance(each, Mapping | list | tuple):
            waiting += reversed([*each.values()] if isinstance(each, Mapping) else each)


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None  # whoever reads it says what is wrong


def _expanded(value: str | Path) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:  # ~ of nobody
        return Path(value)


def _exists(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):  # too long a name, one with a null
        return False
