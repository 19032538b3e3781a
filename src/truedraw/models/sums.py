"""Checksums of a fetched folder's files, kept in it, so that damage is noticed when somebody asks."""

from __future__ import annotations

import json
from hashlib import file_digest
from pathlib import Path

SUMS = ".sha256.json"  # {name: hexadecimal digits}


def write_sums(folder: Path) -> None:
    """Of all files at its top."""
    (folder / SUMS).write_text(json.dumps(_sums(folder)), encoding="utf-8")


def has_its_sums(folder: Path) -> bool:
    """Whether the files are those that were there when the sums were written; True where none were."""
    try:
        known = json.loads((folder / SUMS).read_text("utf-8"))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return bool(known == _sums(folder))


def _sums(folder: Path) -> dict[str, str]:
    files = [each for each in sorted(folder.iterdir()) if each.is_file() and each.name != SUMS]
    return {file.name: _sum(file) for file in files}


def _sum(file: Path) -> str:
    with file.open("rb") as data:
        return file_digest(data, "sha256").hexdigest()
