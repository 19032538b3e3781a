"""Models by their names on the hub, "org/name", in the cache."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from truedraw.errors import BadModelFile, TruedrawError, UnsupportedModel
from truedraw.models.cache import STAGING, disk_errors, folder_name, is_fetched, models_folder, remove, staging
from truedraw.models.checkpoint import Progress
from truedraw.models.hub_client import fetch, listed
from truedraw.models.pull import require_room, silent
from truedraw.models.sums import changed_files, keep_others, write_sums

T = TypeVar("T")
Check = Callable[[Path], object]
"""Opens a folder, and raises what is wrong with it."""
Notice = Callable[[str], object]
"""Is told what somebody would want to know who does not look."""


class Checks(NamedTuple):
    """Of a folder that is being fetched."""

    settings: Check  # before its weights are there
    whole: Check  # before it counts as fetched


def unheard(_said: str) -> None:
    """A notice that nobody reads."""


def is_hub_name(name: str) -> bool:
    """True for "org/name" as the hub spells names."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+", name, re.ASCII) is not None and not name.startswith((".", "-"))


def pulled_folder(name: str, cache: Path | None) -> Path | None:
    """The model's folder where it is in the cache already."""
    folder = models_folder(cache) / folder_name(name)
    return folder if is_fetched(folder) else None


def pull_from_hub(
    name: str, checks: Checks, *, cache: Path | None, progress: Progress | None, verify: bool, notice: Notice,
) -> Path:  # fmt: skip
    """Fetch a model unless it is there, `verify`: and can be opened; returns its folder.

    `notice` is told which files were there and not as they had been fetched. Raises PullError and UnknownModel;
    nothing half is left.
    """
    models = models_folder(cache)
    home, old = models / folder_name(name), models / STAGING / f"{folder_name(name)}.old"
    with disk_errors(name, models), staging(models, name, f"fetches {name}") as work:
        _restore(home, old)
        there = is_fetched(home)
        changed = changed_files(home) if there and verify else []
        if not there or (verify and (changed != [] or not _opens(home, checks.whole))):
            folder = work / "model"
            _download(name, folder, checks, progress or silent)
            said = _keep_others(home, folder, changed or []) if there else ""
            _put_in_place(folder, home, old)
            if said:
                notice(f"{name}: {said}")
        return home


def _opens(folder: Path, check: Check) -> bool:
    try:
        check(folder)
    except TruedrawError:  # it was none when it was fetched
        return False
    return True


def _download(name: str, folder: Path, checks: Checks, tell: Progress) -> None:
    """The weights once nothing can be said against the rest, and the sums of all files."""
    there = listed(name)
    there.check_kind(name)
    fetch(name, there.commit, there.settings(), folder, tell)
    _check(name, folder, checks.settings)
    weights = _check(name, folder, there.weights)
    require_room(name, sum(there.sizes[each] for each in weights), folder.parent.parent)
    fetch(name, there.commit, weights, folder, tell)
    there.check_contents(name, write_sums(folder))
    _check(name, folder, checks.whole)


def _check(name: str, folder: Path, check: Callable[[Path], T]) -> T:
    """What is wrong is said of the model's name: the folder is ours, and gone by then."""
    try:
        return check(folder)
    except (BadModelFile, UnsupportedModel) as error:
        raise type(error)(str(error).replace(str(folder), name)) from error


def _keep_others(home: Path, folder: Path, changed: list[str]) -> str:
    """What becomes of the files there that are no longer as they were fetched, in words."""
    kept = keep_others(home, folder, changed)
    if not changed and not kept:
        return ""
    found = ", ".join(changed) or "nobody knows which file"
    return f"fetched anew, for it was not as it had been fetched: {found}" + (
        f"; what it held is kept in {', '.join(kept)}" if kept else ""
    )


def _put_in_place(folder: Path, home: Path, old: Path) -> None:
    """What is there waits as `old` until the new one is there; see `_restore`."""
    if is_fetched(home):
        home.rename(old)
    else:
        remove(home)
    folder.rename(home)
    remove(old)


def _restore(home: Path, old: Path) -> None:
    """What a process left that was killed while it put one folder in place of another."""
    if old.is_dir() and not is_fetched(home):
        remove(home)
        old.rename(home)
    remove(old)
