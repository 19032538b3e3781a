"""Checksums of a fetched folder's files, kept in it, so that damage is noticed when somebody asks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from truedraw.models.fingerprint import digest_of
from truedraw.sampling.values import parsed

SUMS = ".sha256.json"  # {name: hexadecimal digits}
EDITED = ".edited"  # behind the name of a file that somebody may have changed
TEXTS = (".json", ".jinja")


def write_sums(folder: Path) -> None:
    """Of all files at its top."""
    (folder / SUMS).write_text(json.dumps(_sums(folder)), encoding="utf-8")


def changed_files(folder: Path) -> list[str] | None:
    """Names of those that no longer hold what they held when the sums were written; none where no sums are.

    None where the sums themselves are damaged.
    """
    try:
        known = parsed((folder / SUMS).read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return None
    if not known or not isinstance(known, dict):
        return None
    return [name for name in known if not (folder / name).is_file() or digest_of(folder / name) != known[name]]


def _sums(folder: Path) -> dict[str, str]:
    return {file.name: digest_of(file) for file in sorted(folder.iterdir()) if file.is_file() and file.name != SUMS}


def keep_others(old: Path, new: Path, changed: Collection[str]) -> list[str]:
    """What somebody laid beside the files of the old folder is in the new one too, which may not be the old one yet.

    So are texts of the old one that were `changed`, by another name; returns those that they have now.
    """
    for other in sorted(old.iterdir()):
        if not os.path.lexists(new / other.name):
            _lay(other, new / other.name)
    edited = [old / name for name in changed if name.endswith(TEXTS) and (old / name).is_file()]
    places = [_free(new / f"{file.name}{EDITED}") for file in edited]
    for file, place in zip(edited, places, strict=True):
        _lay(file, place)
    return [place.name for place in places]


def _free(path: Path) -> Path:
    """The path, or one with a number behind it that nothing is called yet."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in count(2))
    return next(each for each in chain([path], numbered) if not os.path.lexists(each))


def _lay(source: Path, place: Path) -> None:
    """The same file or folder in a second place."""
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, place, symlinks=True)
    elif source.is_symlink():
        place.symlink_to(source.readlink())
    else:
        try:
            place.hardlink_to(source)
        except OSError:  # not every file system has such links
            shutil.copy2(source, place)
