"""What a process has in memory, mapping by mapping, as Linux tells it in /proc/<process>/smaps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SMAPS = Path("/proc/self/smaps")
KIB = 1024
NOT_DUMPED, LARGE_PAGES, SMALL_PAGES = "dd", "hg", "nh"  # flags of mappings that asked for these
LOOKED_AT = ("Rss:", "Anonymous:", "VmFlags:")  # of some twenty lines of a mapping
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s*(.*)")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of addresses and what of it is in memory."""

    start: int
    end: int
    permissions: str  # "r-xp"
    path: str  # of the file, or "[heap]", "[stack]", "" for memory without a file
    resident_bytes: int
    anonymous_bytes: int  # of those: belonging to no file, or changed since they were read
    flags: tuple[str, ...] = ()

    @property
    def num_bytes(self) -> int:
        """Address space, resident or not."""
        return self.end - self.start

    @property
    def is_file(self) -> bool:
        """Whether a file lies behind it, from which unchanged pages come back when dropped."""
        return self.path.startswith("/")


def own_mappings() -> list[Mapping]:
    """Those of this process; none where the system does not tell."""
    try:
        return list(read_smaps(SMAPS.read_text("utf-8", "replace")))
    except OSError:
        return []


def read_smaps(text: str) -> Iterator[Mapping]:
    """Mappings in the order of their addresses."""
    head: re.Match[str] | None = None
    values: dict[str, str] = {}
    for line in text.split("\n"):  # a path may hold what else ends a line
        if line[:1].isupper():  # a head begins with an address, in small letters
            if line.startswith(LOOKED_AT):
                key, _, value = line.partition(":")
                values[key] = value
            continue
        if head is not None:
            yield _mapping(head, values)
        head, values = _HEAD.fullmatch(line), {}
    if head is not None:
        yield _mapping(head, values)


def _mapping(head: re.Match[str], values: dict[str, str]) -> Mapping:
    return Mapping(
        start=int(head[1], 16),
        end=int(head[2], 16),
        permissions=head[3],
        path=head[4],
        resident_bytes=_bytes(values.get("Rss", "0 kB")),
        anonymous_bytes=_bytes(values.get("Anonymous", "0 kB")),
        flags=tuple(values.get("VmFlags", "").split()),
    )


def _bytes(size: str) -> int:
    return int(size.split(maxsplit=1)[0]) * KIB
