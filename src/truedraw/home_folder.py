"""Paths that people give, who may write ~ for their home folder."""

from __future__ import annotations

from pathlib import Path

from truedraw.errors import BadFile


def expanded(path: str | Path) -> Path:
    """With the home folder that a ~ stands for; raises BadFile where there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadFile(f"{str(path)!r} begins with a home folder that is not known; write the path out") from error
