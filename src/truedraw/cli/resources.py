"""What this process has cost so far, where the system tells it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

STAT, UPTIME = Path("/proc/self/stat"), Path("/proc/uptime")
START_FIELD = 19  # of /proc/self/stat behind the name in brackets: clock ticks from the system's start to ours
KILO = 1024  # the kB of Linux


def used(start_seconds: float | None) -> str | None:
    """One line for people, "start 1.7 s, peak memory 417 MB"; `start_seconds` as `process_seconds`. None: unknown."""
    peak = peak_bytes()
    parts = [
        None if start_seconds is None else f"start {start_seconds:.1f} s",
        None if peak is None else f"peak memory {peak / 1e6:.0f} MB",
    ]
    return ", ".join(part for part in parts if part) or None


def process_seconds() -> float | None:
    """Seconds since this process was started, interpreter and imports included; None where nobody knows."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(STAT.read_text().rpartition(")")[2].split()[START_FIELD])
        return float(UPTIME.read_text().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
    return None


def peak_bytes() -> int | None:
    """The largest resident size of this process; None where nobody knows.

    getrusage is asked last: on Linux it remembers the parent's size from before the program was started.
    """
    from truedraw.bench.residence import peak_bytes as told

    with suppress(OSError, ValueError):
        if peak := told():
            return peak
    with suppress(ImportError):
        import resource

        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size if sys.platform == "darwin" else size * KILO
    return None
