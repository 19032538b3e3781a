"""A cheap identity of a model's files, for cache keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

SAMPLES = 64  # blocks read from a file, evenly spread; the first and the last one always
BLOCK_BYTES = 1 << 14  # two models that differ only outside one megabyte of samples do not occur by training


def fingerprint(files: Iterable[Path], named: bool = True) -> str:
    """32 hexadecimal digits from names (unless not `named`), sizes and samples of the files.

    Reads one megabyte a file at most.
    """
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda path: path.name):
        size = file.stat().st_size
        digest.update(f"{file.name if named else ''}\0{size}\0".encode())
        _sample(file, size, digest.update)
    return digest.hexdigest()[:32]


def written_at(path: Path) -> str:
    """When a file, or a folder's weights, were last written to, in nanoseconds; empty for what is not there.

    What is mended where nobody samples it has at least been written to.
    """
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    return " ".join(str(file.stat().st_mtime_ns) for file in files if file.is_file())


def _sample(file: Path, size: int, update: Callable[[bytes], None]) -> None:
    last = max(0, size - BLOCK_BYTES)
    with file.open("rb") as data:
        for start in sorted({last * step // (SAMPLES - 1) for step in range(SAMPLES)}):
            data.seek(start)
            update(data.read(BLOCK_BYTES))
