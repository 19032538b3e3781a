"""What a file of results was begun with, in a file beside it, so that a run that goes on is the same run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truedraw.errors import BadFile
from truedraw.sampling.values import parsed
from truedraw.whole_files import replacing

SUFFIX = ".settings.json"
LONGEST_SHOWN = 60  # characters of a value that a message repeats
MOST_SHOWN = 3  # settings that a message names
ABSENT = "not given"
ANEW = "give another file, or --overwrite to begin anew"
CONTENTS = "contents"
"""The setting {name of another setting: digest of what it names, or None}: names of equal contents are not compared."""
TEXT_FILES = "text_files"
"""Likewise {name: digest of a model's tokenizer and templates, or None}; results that were begun without it go on."""


def beside(path: Path) -> Path:
    """Where the settings of the results at `path` stand; raises BadFile for what is only ever a folder."""
    if not path.name:
        raise BadFile(f"the output cannot be {str(path)!r}, which is a folder; give a file")
    return path.with_name(path.name + SUFFIX)


def begin(path: Path, settings: Mapping[str, Any], instead: str = ANEW) -> None:
    """Write the settings down, or find the same ones there; raises BadFile naming what differs, and what to do instead.

    A file of results without settings was not begun by us and is refused. Where there are no results, earlier settings
    bind nobody.
    """
    if not _has_results(path):
        _write(beside(path), settings)
        return
    known = read(path)
    if known is None:
        raise BadFile(f"{path} is there already and was not begun by a run like this; {instead}")
    now = _as_json(settings)
    now = now if TEXT_FILES in known else {name: now[name] for name in now if name != TEXT_FILES}
    moved = _same_contents(known, now)
    before, after = ({name: each[name] for name in each if name not in moved} for each in (known, now))
    differing = _differing(before, after)
    if differing:
        more = f"; and {len(differing) - MOST_SHOWN} more" if len(differing) > MOST_SHOWN else ""
        shown = "; ".join(differing[:MOST_SHOWN]) + more
        raise BadFile(f"{path} was begun with other settings: {shown}; {instead}")


def begun_with(path: Path, name: str) -> Any:
    """One setting of the run that began the results at `path`; None where there are none."""
    known = read(path)
    return known.get(name) if known is not None and _has_results(path) else None


def read(path: Path) -> dict[str, Any] | None:
    """The settings that stand beside `path`; None where there are none; raises BadFile for what is no JSON object."""
    file = beside(path)
    try:
        found = parsed(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFile(f"{file} cannot be read: {error.strerror}") from error
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise BadFile(f"{file} is not what a run wrote; {ANEW}")
    return found


def check_removable(path: Path) -> None:
    """Raises BadFile where the settings of the results at `path` are no file of ours to remove."""
    file = beside(path)
    if file.exists() and not file.is_file():
        raise BadFile(f"{file} is no regular file, and settings are written there; give another file for the output")


def forget(path: Path) -> None:
    """Remove the settings of the results at `path`; raises BadFile."""
    try:
        beside(path).unlink(missing_ok=True)
    except OSError as error:
        raise BadFile(f"{beside(path)} cannot be removed: {error.strerror}; give another file") from error


def _has_results(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _write(file: Path, settings: Mapping[str, Any]) -> None:
    """On the disk before the first result is."""
    with replacing(file) as fresh:
        fresh.write_text(json.dumps(settings, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As they will be read again: tuples are lists, keys are text."""
    found: dict[str, Any] = json.loads(json.dumps(settings, allow_nan=False))
    return found


def _same_contents(known: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """The settings that name the same contents, perhaps by another name."""
    before, after = known.get(CONTENTS), now.get(CONTENTS)
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return set()
    return {name for name, digest in after.items() if digest is not None and before.get(name) == digest}


def _differing(known: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> list[str]:
    """A few words for each setting that is another one, by its path."""
    words: list[str] = []
    for name in [*known, *(name for name in now if name not in known)]:
        before, after = known.get(name, ABSENT), now.get(name, ABSENT)
        if isinstance(before, dict) and isinstance(after, dict):
            words += _differing(before, after, f"{within}{name}.")
        elif before != after:
            words.append(f"{within}{name} was {_short(before, after)}, is {_short(after, before)}")
    return words


def _short(value: Any, other: Any) -> str:
    """Of a long one what it has where it first differs from the other."""
    text, beside = _text(value), _text(other)
    both = zip(text, beside, strict=False)
    same = next((i for i, (one, another) in enumerate(both) if one != another), min(len(text), len(beside)))
    first = max(0, same - LONGEST_SHOWN // 2) if max(len(text), len(beside)) > LONGEST_SHOWN else 0
    shown = text[first : first + LONGEST_SHOWN]
    return f"{'…' if first else ''}{shown}{'…' if first + len(shown) < len(text) else ''}"


def _text(value: Any) -> str:
    return ABSENT if value == ABSENT else json.dumps(value, ensure_ascii=False)
