"""Features on disk: what the target knew and said at each row of a text.

    features.f16     [rows, streams, width] float16: hidden states, the final norm's output last
    rows.bin         [rows] ROW: the row's token, and what is needed of the target's law behind it
    features.jsonl   a line a text: how many rows it has, and the temperature it was drawn at

A text's line is written after its rows are on the disk, so that whatever stands behind the last line's rows after a
kill is no loss: it is cut off and computed again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.folders import WITH_OTHERS, kept_so_far
from truedraw.distill.halves import HALF, halved
from truedraw.distill.read_values import is_number, is_temperature, is_whole
from truedraw.errors import BadFile, BadParameter
from truedraw.generate.offline.journal import SYNC_SECONDS, Journal

INDEX, FEATURES, ROWS = "features.jsonl", "features.f16", "rows.bin"
TEMPERATURES = (1.0, 0.7)
"""At which a law's normaliser over the whole vocabulary is kept: a head knows few tokens of it."""
ROW = np.dtype([("token", "<i4"), ("top", "<i4"), ("normaliser", "<f4", (len(TEMPERATURES),))])
KEEP_FREE_BYTES = 256 << 20  # of the disk, for checkpoints and for others
MEGABYTE = 1e6


class Shape(NamedTuple):
    """Of the hidden states of one row."""

    streams: int
    width: int

    @property
    def row_bytes(self) -> int:
        """What a row takes on disk."""
        return self.streams * self.width * HALF.itemsize + ROW.itemsize


class Store:
    """To append to; nobody else may write to it meanwhile. Raises BadFile."""

    def __init__(self, folder: Path, shape: Shape, settings: Mapping[str, Any], overwrite: bool = False) -> None:
        self.folder, self.shape = folder, shape
        self._index = Journal(folder / INDEX, settings, overwrite, WITH_OTHERS)
        try:
            self._index.renew()  # the rows are cut below, and none of them may be listed then
            lines = list(self._index.records())
            self.texts, self.rows = len(lines), sum(rows_of(line, folder) for line in lines)
            self.seconds = float(lines[-1]["seconds"]) if lines else 0.0  # that they took to compute
            sizes = (HALF.itemsize * shape.streams * shape.width, ROW.itemsize)
            paths = {folder / name: self.rows * size for name, size in zip(NAMES, sizes, strict=True)}
            for path, size in paths.items():
                _check_whole(path, size)
            self._files = [_cut(path, size) for path, size in paths.items()]
        except BaseException:
            self._index.close()
            raise
        self._waiting: list[dict[str, Any]] = []
        self._synced = monotonic()

    @property
    def num_bytes(self) -> int:
        """On disk."""
        return self.rows * self.shape.row_bytes

    def has_room(self, rows: int) -> bool:
        """Whether the disk has, for so many more, beside what is kept free of it."""
        return disk_usage(self.folder).free >= KEEP_FREE_BYTES + rows * self.shape.row_bytes

    def append(
        self,
        features: NDArray[np.float32] | NDArray[np.float16],
        rows: NDArray[Any],
        temperature: float | None,
        seconds: float,
    ) -> None:
        """One text: features [rows, streams, width], rows [rows] ROW. Raises BadFile where the disk is full."""
        half = halved(features)
        try:
            for file, values in zip(self._files, (half, rows), strict=True):
                file.write(values.tobytes())
            self._waiting.append({"rows": len(rows), "temperature": temperature, "seconds": round(seconds, 3)})
            self.texts, self.rows, self.seconds = self.texts + 1, self.rows + len(rows), seconds
            if monotonic() - self._synced > SYNC_SECONDS:
                self.sync()
        except OSError as error:
            raise kept_so_far(f"features cannot be written to {self.folder}", error) from error

    def sync(self) -> None:
        """Rows first, then the lines that say that they are there; behind one that fails none is written any more."""
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self._index.append(line)
        self._index.sync()
        self._synced = monotonic()

    def close(self) -> None:
        """All on the disk. Raises BadFile."""
        try:
            self.sync()
        except OSError as error:
            raise kept_so_far(f"features cannot be written to {self.folder}", error) from error
        finally:
            for file in self._files:
                _quietly_closed(file)
            self._index.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


NAMES = (FEATURES, ROWS)


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raises BadParameter where the disk has not so much to spare."""
    free = max(disk_usage(folder).free - KEEP_FREE_BYTES, 0)
    if needed_bytes > free:
        raise BadParameter(
            "--feature-bytes",
            f"features would take {-(-needed_bytes // MEGABYTE):,.0f} MB more, and the disk of {folder} has "
            f"{free / MEGABYTE:,.0f} MB to spare beside the {KEEP_FREE_BYTES / MEGABYTE:,.0f} MB that are kept "
            "free; give less, or --work on another disk",
        )


def rows_of(line: Mapping[str, Any], folder: Path) -> int:
    """Raises BadFile."""
    rows = line.get("rows")
    if not (is_whole(rows, least=1) and is_number(line.get("seconds")) and is_temperature(line)):
        raise BadFile(f"{folder / INDEX} holds a line that is not ours; give another --work, or --overwrite")
    return int(line["rows"])


def _check_whole(path: Path, size: int) -> None:
    there = path.stat().st_size if path.exists() else 0
    if there < size:
        raise BadFile(f"{path} is cut: it has {there:,} bytes and should have {size:,}; give --overwrite to begin anew")


def _cut(path: Path, size: int) -> BinaryIO:
    """Open to append behind the first `size` bytes."""
    file = path.open("ab")
    os.truncate(path, size)
    return file


def _quietly_closed(file: BinaryIO) -> None:
    """What could not be written was said before."""
    with suppress(OSError):
        file.close()
