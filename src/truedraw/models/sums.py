"""Checksums of a fetched folder's files, kept in it, so that damage is noticed when somebody asks."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from truedraw.models.fingerprint import digest_of
from truedraw.models.folder_text import TEMPLATES
from truedraw.models.hub_files import SETTINGS
from truedraw.models.openvino_ir import GRAPH, WEIGHTS
from truedraw.models.safetensors_weights import WHOLE
from truedraw.sampling.values import parsed

SUMS = ".sha256.json"  # {name: hexadecimal digits}
EDITED = ".edited"  # behind the name of a file that somebody may have changed
BY_NAME = (WHOLE, GRAPH, WEIGHTS)  # of weights, that a folder is opened by


def write_sums(folder: Path) -> dict[str, str]:
    """Of all files at its top, and of the templates beside them; they are returned, too."""
    found = _sums(folder)
    (folder / SUMS).write_text(json.dumps(found), encoding="utf-8")
    return found


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
    return {name: digest_of(file) for name, file in _entries(folder).items() if file.is_file()}


def _entries(folder: Path) -> dict[str, Path]:
    """What lies at its top, but for the sums, by name; the folder of templates is there as what it holds."""
    found = {each.name: each for each in sorted(folder.iterdir()) if each.name != SUMS}
    within = found.get(TEMPLATES)
    if within is None or within.is_symlink() or not within.is_dir():
        return found
    del found[TEMPLATES]
    return found | {f"{TEMPLATES}/{each.name}": each for each in sorted(within.iterdir())}


def keep_others(old: Path, new: Path, changed: Collection[str]) -> list[str]:
    """What somebody laid beside the files of the old folder is in the new one too, which may not be the old one yet.

    What was fetched is not, as it would be read with the new files, nor what is called so where nobody knows. Of texts
    among these that are not as they were fetched there is a copy by another name; returns those names.
    """
    known, others = _known(old) or {}, _entries(old)
    theirs = [name for name in others if name not in known and (known or not _is_read(name))]
    for name in theirs:
        if not os.path.lexists(new / name):
            _lay(others[name], new / name)
    texts = [name for name in others if name.endswith(SETTINGS) and (name not in known or name in changed)]
    edited = [name for name in texts if others[name].is_file() and not _holds_the_same(new / name, others[name])]
    places = [_free(new / f"{name}{EDITED}") for name in edited]
    for name, place in zip(edited, places, strict=True):
        _lay(others[name], place)
    return [place.relative_to(new).as_posix() for place in places]


def _is_read(name: str) -> bool:
    """Whether a folder is opened by a file of such a name."""
    return name.endswith(SETTINGS) or name in BY_NAME


def _holds_the_same(file: Path, other: Path) -> bool:
    return file.is_file() and file.read_bytes() == other.read_bytes()


def _free(path: Path) -> Path:
    """The path, or one with a number behind it that nothing is called yet."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in count(2))
    return next(each for each in chain([path], numbered) if not os.path.lexists(each))


def _lay(source: Path, place: Path) -> None:
    """The same file or folder in a second place."""
    place.parent.mkdir(exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, place, symlinks=True)
    elif source.is_symlink():
        place.symlink_to(source.readlink())
    else:
        try:
            place.hardlink_to(source)
        except OSError:  # not every file system has such links
            shutil.copy2(source, place)
