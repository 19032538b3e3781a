"""A journal of what stands in --work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truedraw.distill.folders import kept_so_far
from truedraw.generate.offline.journal import Journal


class WorkJournal(Journal):
    """One whose disk may fill up in the midst of a training: that is a BadFile."""

    def append(self, record: dict[str, Any]) -> None:
        """One more line; raises BadFile."""
        with _told(self.path):
            super().append(record)

    def sync(self) -> None:
        """Wait until everything is on the disk; raises BadFile."""
        with _told(self.path):
            super().sync()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise kept_so_far(f"{path} cannot be written", error) from error
