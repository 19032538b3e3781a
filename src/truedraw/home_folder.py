"""Paths that people give, who may write ~ for their home folder, or begin in the folder that they work in."""

from __future__ import annotations

from pathlib import Path

from truedraw.errors import BadFile


def expanded(path: str | Path) -> Path:
    """With the home folder that a ~ stands for; raises BadFile where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadFile(f"{str(path)!r} begins with a home folder that is not known; write the path out") from error


def from_root(path: Path) -> Path:
    """Written out from the root of the files; raises BadFile where it begins in the working folder and that is gone."""
    try:
        return path.absolute()
    except FileNotFoundError as error:
        raise BadFile(
            f"{str(path)!r} cannot be found: the working folder was removed; go to one that exists"
        ) from error
