"""Folders that training makes: the one it works in, and a draft that is one.

A draft is written beside, then moved, so that it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from shutil import rmtree
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.eagle.card import CARD, FORMAT
from truedraw.errors import BadFile
from truedraw.generate.offline.locking import opened
from truedraw.sampling.values import parsed
from truedraw.whole_files import STALE_SECONDS, behind_links, make_room, to_disk

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # what others read of it
PART, OLD = ".truedraw-part", ".truedraw-old"
"""Behind a folder's name and a process: the new one so far, and the one before."""
LONGEST_NAME = 230  # bytes, which leaves room for what stands behind it meanwhile
WITH_OTHERS = "give those again, another --work, or --overwrite to begin it anew, with its texts"
LOCK = "lock"  # the file in --work that a training holds; it stays


def check_work(folder: Path) -> None:
    """Raises BadFile where no folder of this name is or can be made."""
    there = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise BadFile(_no_work(folder, f"{there} is no folder that may be written to"))


def make_work(folder: Path) -> None:
    """Made, with those above it, if it is not there; raises BadFile."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(_no_work(folder, error.strerror or str(error))) from error


@contextmanager
def worked_in(folder: Path) -> Iterator[None]:
    """Made if it is not there, and meanwhile no other process trains there; raises BadFile."""
    make_work(folder)
    lock = opened(folder / LOCK, "give another --work")
    try:
        yield
    finally:
        os.close(lock)


def _no_work(folder: Path, why: str) -> str:
    return f"{folder} cannot be worked in ({why}); name another folder with --work"


def kept_so_far(what: str, error: OSError) -> BadFile:
    """That there is no room for what a run keeps in --work, and that nothing is lost; what: and where."""
    return BadFile(
        f"{what}: {error.strerror or error}; {make_room(error)} and run the same command again, what is there is kept"
    )


def check_output(folder: Path, kind: str) -> None:
    """Raises BadFile where something else than a draft of this kind stands there, or its name is too long for one."""
    place = behind_links(folder)
    if len(os.fsencode(place.name)) > LONGEST_NAME:
        raise BadFile(f"{folder} cannot be written: its name has more than {LONGEST_NAME} bytes; give a shorter one")
    restore(place)
    is_free = not folder.exists() and not place.is_symlink()  # which is in a circle
    if is_free or (folder.is_dir() and (is_ours(folder, kind) or not any(folder.iterdir()))):
        return
    raise BadFile(f"{folder} is there already and is no draft of ours; give another --output, a folder to be made")


def restore(folder: Path) -> None:
    """What a process left that was killed while it put a new draft in place of an old one: the old one comes back.

    Where the new one was there already, it goes: removed later, the draft would come back as what it was before.
    """
    for old in _left(folder, OLD):
        if not folder.exists():
            old.rename(folder)
        elif (folder / CARD).is_file():  # whole, for it was moved there
            rmtree(old, ignore_errors=True)
    for part in _left(folder, PART):
        if time() - part.stat().st_mtime > STALE_SECONDS:
            rmtree(part, ignore_errors=True)


def _left(folder: Path, what: str) -> list[Path]:
    """Folders named by `write_folder`, of whatever process; those of eagle.v2 are none of eagle's."""
    before = f"{folder.name}."
    found = folder.parent.glob(f"{escape(before)}*{what}")
    return [each for each in found if each.is_dir() and each.stem.removeprefix(before).isdecimal()]


def is_ours(folder: Path, kind: str) -> bool:
    """Whether `truedraw train draft` wrote the folder."""
    try:
        found = parsed((folder / CARD).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get(FORMAT) == kind


def write_folder(folder: Path, kind: str, write: Callable[[Path], None]) -> None:
    """`write` puts all files into an empty folder; what was there before stays until then. Raises BadFile.

    A link stays one: the folder that it leads to is replaced.
    """
    check_output(folder, kind)
    folder = behind_links(folder)
    fresh, old = (folder.with_name(f"{folder.name}.{os.getpid()}{what}") for what in (PART, OLD))
    try:
        rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        write(fresh)
        for file in fresh.iterdir():
            to_disk(file)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        rmtree(old, ignore_errors=True)
    except OSError as error:
        rmtree(fresh, ignore_errors=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise BadFile(
            f"{folder} cannot be written: {error.strerror}; {make_room(error)}, and the same command goes on"
        ) from error


def write_tensors(folder: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """By their names, for torch and for us."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    (folder / WEIGHTS).write_bytes(save(whole, metadata={"format": "pt"}))


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """For people to read, too."""
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8", "replace")
