"""Checksums of a fetched folder's files, kept in it, so that damage is noticed when somebody asks."""

from __future__ import annotations

import json
from pathlib import Path

from truedraw.models.fingerprint import digest_of

SUMS = ".sha256.json"  # {name: hexadecimal digits}


def write_sums(folder: Path) -> None:
    """Of all files at its top."""
    (folder / SUMS).write_text(json.dumps(_sums(folder)), encoding="utf-8")


def has_its_sums(folder: Path) -> bool:
    """Whether the files that were there when the sums were written still hold the same; True where none were."""
    try:
        known = json.loads((folder / SUMS).read_text("utf-8"))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    files = {name: folder / name for name in known} if isinstance(known, dict) else {}
    return bool(files) and all(file.is_file() and digest_of(file) == known[name] for name, file in files.items())


def _sums(folder: Path) -> dict[str, str]:
    return {file.name: digest_of(file) for file in sorted(folder.iterdir()) if file.is_file() and file.name != SUMS}


def keep_others(old: Path, new: Path) -> None:
    """What somebody laid beside the files of the old folder goes on into the new one."""
    for other in old.iterdir():
        if not (new / other.name).exists():
            other.rename(new / other.name)
