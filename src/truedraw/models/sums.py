"""Checksums of a fetched folder's files, kept in it, so that damage is noticed when somebody asks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from truedraw.models.fingerprint import digest_of
from truedraw.models.hub_files import SETTINGS
from truedraw.models.openvino_ir import GRAPH, WEIGHTS
from truedraw.models.safetensors_weights import WHOLE
from truedraw.sampling.values import parsed

SUMS = ".sha256.json"  # {name: hexadecimal digits}
EDITED = ".edited"  # behind the name of a file that somebody may have changed
BY_NAME = (WHOLE, GRAPH, WEIGHTS)  # of weights, that a folder is opened by


def write_sums(folder: Path) -> None:
    """Of all files at its top."""
    (folder / SUMS).write_text(json.dumps(_sums(folder)), encoding="utf-8")


def changed_files(folder: Path) -> list[str] | None:
    """Names of those that no longer hold what they held when the sums were written; none where no sums are.

    None where the sums themselves are damaged.
    """
    known = _known(folder)
    if known is None:
        return None
    return [name for name in known if not (folder / name).is_file() or digest_of(folder / name) != known[name]]


def _known(folder: Path) -> dict[str, str] | None:
    """{} where no sums are, None where they are damaged."""
    try:
        known = parsed((folder / SUMS).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return known if known and isinstance(known, dict) else None


def _sums(folder: Path) -> dict[str, str]:
    return {file.name: digest_of(file) for file in sorted(folder.iterdir()) if file.is_file() and file.name != SUMS}


def keep_others(old: Path, new: Path, changed: Collection[str]) -> list[str]:
    """What somebody laid beside the files of the old folder is in the new one too, which may not be the old one yet.

    What was fetched is not, as it would be read with the new files, nor what is called so where nobody knows. Of texts
    among these that are not as they were fetched there is a copy by another name; returns those names.
    """
    known = _known(old) or {}
    others = [each for each in sorted(old.iterdir()) if each.name != SUMS]
    theirs = [each for each in others if each.name not in known and (known or not _is_read(each))]
    for other in theirs:
        if not os.path.lexists(new / other.name):
            _lay(other, new / other.name)
    texts = [
        each for each in others if each.name.endswith(SETTINGS) and (each.name not in known or each.name in changed)
    ]
    edited = [each for each in texts if each.is_file() and not _holds_the_same(new / each.name, each)]
    places = [_free(new / f"{file.name}{EDITED}") for file in edited]
    for file, place in zip(edited, places, strict=True):
        _lay(file, place)
    return [place.name for place in places]


def _is_read(file: Path) -> bool:
    """Whether a folder is opened by a file of such a name."""
    return file.name.endswith(SETTINGS) or file.name in BY_NAME


def _holds_the_same(file: Path, other: Path) -> bool:
    return file.is_file() and file.read_bytes() == other.read_bytes()


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
