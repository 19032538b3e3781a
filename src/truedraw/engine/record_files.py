"""Small files of what was found out about a model or a machine; each is there whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truedraw.models.cache import remove
from truedraw.sampling.values import parsed
from truedraw.whole_files import part_of, sweep


def read_record(file: Path) -> Any:
    """Raises OSError where there is none, ValueError where it is damaged."""
    return parsed(file.read_bytes())


def write_record(file: Path, values: Any) -> None:
    """Whole or not at all; a folder that cannot be written only means that it is found out again."""
    fresh = part_of(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        sweep(file)
        fresh.write_text(json.dumps(values), encoding="utf-8")
        if file.is_dir():
            remove(file)
        fresh.replace(file)
    except OSError:
        remove(fresh)


def drop_record(file: Path, min_age_seconds: float, now: float) -> None:
    """Remove it, unless it is younger than that at `now`, in seconds since the epoch."""
    try:
        age = now - file.stat().st_mtime
    except OSError:
        return
    if not 0 <= age < min_age_seconds:
        remove(file)
