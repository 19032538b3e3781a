"""Constants in a file that is mapped rather than read."""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.replaced import INDEX

DATA = "constants.bin"
FORGET_SECONDS = 0.002  # pause between two sweeps: a few tens of megabytes are mapped in at most


class MappedConstants:
    """Implements weights.Constants over a file that the system may drop from memory and read again at any time.

    `not_kept` says why the next process will have to convert them again; None: it finds them.
    """

    not_kept: str | None = None

    def __init__(self, entry: Path) -> None:
        self._index = json.loads((entry / INDEX).read_text())["arrays"]
        with (entry / DATA).open("rb") as file:
            # A private mapping: the runtime wants writable memory, and nothing writes.
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    @property
    def num_bytes(self) -> int:
        """Of all of them."""
        return len(self._memory)

    def matrix(self, names: tuple[str, ...]) -> Matrix | None:
        """See Constants."""
        key = "+".join(names)
        if f"{key}:values" not in self._index:
            return None
        scales, least = (
            self.array(f"{key}:{name}") if f"{key}:{name}" in self._index else None for name in ("scales", "least")
        )
        return Matrix(self.array(f"{key}:values"), scales, self._index[f"{key}:values"]["zero"], least)

    def vector(self, name: str) -> NDArray[np.float32]:
        """See Constants."""
        return self.array(f"{name}:values")

    def __contains__(self, key: str) -> bool:
        """Whether there is an array of that whole name."""
        return key in self._index

    def __iter__(self) -> Iterator[str]:
        """The whole names of arrays."""
        return iter(self._index)

    def array(self, key: str) -> NDArray[Any]:
        """Any of them by its whole name, see writing.py; no copy."""
        at = self._index[key]
        count = int(np.prod(at["shape"]))
        return np.frombuffer(self._memory, at["dtype"], count, at["offset"]).reshape(at["shape"])

    def forget(self) -> None:
        """Let go of what is resident; it comes back from the file where it is touched again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED)

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Keep letting go while the runtime repacks the constants, so that not both copies are resident."""
        done = threading.Event()

        def sweep() -> None:
            while not done.wait(FORGET_SECONDS):
                self.forget()

        thread = threading.Thread(target=sweep, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.forget()
