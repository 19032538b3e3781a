"""How much of this process is in memory now, and of what kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from truedraw.engine.mappings import (
    KIB,
    LARGE_PAGES,
    NOT_DUMPED,
    SMALL_PAGES,
    SMAPS,
    Mapping,
    own_mappings,
)

STATUS = Path("/proc/self/status")
MEASURED_BY = "/proc/self/smaps"


@dataclass(frozen=True, slots=True)
class Residence:
    """One look at the process."""

    name: str
    anonymous_bytes: int  # belongs to no file or was changed; only swap can take it back
    file_bytes: int  # unchanged pages of files
    pages_bytes: int  # of the anonymous bytes: pages of the cache
    peak_bytes: int  # the largest resident size so far

    @property
    def resident_bytes(self) -> int:
        """What system monitors show."""
        return self.anonymous_bytes + self.file_bytes


def can_measure() -> bool:
    """Whether this system tells."""
    return SMAPS.exists() and STATUS.exists()


def residence(name: str) -> Residence:
    """Look now."""
    mappings = own_mappings()
    resident = sum(mapping.resident_bytes for mapping in mappings)
    anonymous = sum(mapping.anonymous_bytes for mapping in mappings)
    pages = sum(mapping.anonymous_bytes for mapping in mappings if is_cache(mapping))
    return Residence(name, anonymous, resident - anonymous, pages, max(peak_bytes(), resident))


def is_cache(mapping: Mapping) -> bool:
    """The reservation that holds keys and values: no other memory is kept from dumps and says which pages it wants."""
    says = LARGE_PAGES in mapping.flags or SMALL_PAGES in mapping.flags
    return mapping.path == "" and NOT_DUMPED in mapping.flags and says


def peak_bytes(status: str | None = None) -> int:
    """The largest resident size of this process so far, of /proc/self/status or of its given text."""
    text = STATUS.read_text() if status is None else status
    lines = [line for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) * KIB if lines else 0
