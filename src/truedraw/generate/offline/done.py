"""Which lines of a batch are done, in eight bytes a line."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from truedraw import errors
from truedraw.errors import BadFile, BadInput, TruedrawError
from truedraw.generate.offline.lines import DIGEST_BYTES, Line

MOST_LINES = 1 << 27  # of a file of prompts: a larger number is damage, and would take gigabytes

PASSING = {
    name for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, TruedrawError) and not issubclass(kind, BadInput)
}  # fmt: skip
"""Errors that are no fault of the line; what is, is a BadInput of some kind."""


def may_pass(record: Mapping[str, Any]) -> bool:
    """Whether the record is an error that another try may not meet."""
    error = record.get("error")
    return isinstance(error, Mapping) and error.get("type") in PASSING


class Done:
    """The digests of the lines that have a result, by their numbers; 0 where there is none.

    A line whose error lay in the circumstances, as no room in the cache, has none: it is tried again.
    """

    def __init__(self, records: Iterable[Mapping[str, Any]] = (), path: Path | None = None) -> None:
        self._path = path
        self._digests = array("Q")
        self.count = 0
        self.failed = 0
        self._met = 0  # of the lines that have a result
        for record in records:
            self._add(record)

    def remaining(self, lines: Iterable[Line | None]) -> Iterator[Line | None]:
        """The lines without a result, and None for others; raises BadFile for one that has become another since."""
        self._met = 0
        for line in lines:
            yield line if line is not None and self._is_left(line) else None

    def _is_left(self, line: Line) -> bool:
        digest = self._digests[line.number - 1] if line.number <= len(self._digests) else 0
        if digest and digest != line.digest:
            raise BadFile(
                f"line {line.number} of the prompts is not what it was when {self._path} was begun; "
                "give the same prompts, another file for the output, or --overwrite to begin anew"
            )
        self._met += bool(digest)
        return not digest

    def check_all_met(self) -> None:
        """Raises BadFile where the lines that `remaining` was given last lack some that have a result."""
        if self._met < self.count:
            raise BadFile(
                f"the prompts have become fewer: {self.count - self._met} of the {self.count} that {self._path} has "
                "results of are gone; give the same prompts or more, another file for the output, or --overwrite to "
                "begin anew"
            )

    def _add(self, record: Mapping[str, Any]) -> None:
        try:
            number = record["line"] if type(record["line"]) is int else 0
            digest = int(record["digest"], 16)
        except (KeyError, TypeError, ValueError, OverflowError):
            number = digest = 0
        if not (1 <= number <= MOST_LINES and 1 <= digest < 1 << 8 * DIGEST_BYTES):
            raise BadFile(f"{self._path} holds a result without a line of prompts; give another file for the output")
        if may_pass(record):
            return
        if number > len(self._digests):
            self._digests.extend([0] * (number - len(self._digests)))
        if self._digests[number - 1]:
            raise BadFile(
                f"{self._path} holds two results of line {number} of the prompts; take one out, or give another file"
            )
        self.count += 1
        self.failed += "error" in record
        self._digests[number - 1] = digest
