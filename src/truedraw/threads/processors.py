"""How many processors this process may use: those of its mask, and no more than the share of time it is given.

A container with a share (docker --cpus, limits of a pod) shows all processors of the machine. Threads that are more
than its share use it up in the first part of each period and all stand still for the rest of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
VERSION_1 = "cpu", "cpu,cpuacct"  # folders that the older hierarchy may stand in


def processors() -> int:
    """At least one."""
    return min(_shown(), share() or _shown())


def share() -> int | None:
    """Whole processors of the least share that limits this process, at least one; None: none does."""
    limits = [limit for folder in _folders() if (limit := _limit(folder)) is not None]
    return max(1, int(min(limits))) if limits else None


def threads_at_most() -> int | None:
    """What a runtime is to be told that knows of no shares; None: it may decide."""
    limit = share()
    return limit if limit is not None and limit < _shown() else None


def _shown() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _folders() -> Iterator[Path]:
    """Of this process's groups and all above them; those that a container does not show are missing."""
    for line in _text(OWN).splitlines():
        names, _, path = line.partition(":")[2].partition(":")
        if names and "cpu" not in names.split(","):
            continue
        inner = PurePosixPath(path.lstrip("/"))
        for root in [GROUPS / name for name in VERSION_1] if names else [GROUPS]:
            yield from (root / above for above in (inner, *inner.parents))


def _limit(folder: Path) -> float | None:
    """Processors that a group may keep busy."""
    quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
    if not quota:
        quota, period = (_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    try:
        limit = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max", or no such file
        return None
    return limit if limit > 0 else None  # -1 stands for none


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
