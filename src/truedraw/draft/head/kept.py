"""A head's matrices as its kernels read them, kept beside converted weights.

To round them and lay them out takes a sixth of a second, which a single short text does not bring back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from truedraw.compiled import sources
from truedraw.draft.head.file import HeadFile, Numbers
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.replaced import Origin, drop_orphans
from truedraw.engine.constants.store import open_stored
from truedraw.engine.constants.writing import Writing
from truedraw.engine.native.blocks import Blocks
from truedraw.engine.native.machine import HAS_HALVES
from truedraw.engine.native.weights import read_blocks, write_kind
from truedraw.errors import EngineError

KIND = "head"  # of what is kept
MAKERS = Path(__file__).parent / "kinds"
"""Whose files say, with those around them and the kernels', what is made of the numbers."""
Make = Callable[[], Sequence[Blocks]]


def kept_blocks(file: Numbers, written: Matrix | None, folder: Path | None, make: Make) -> list[Blocks]:
    """What `make` makes of a head's file, of rows of its target's, and of nothing else: from the folder, or made now
    and kept there for the next time.

    folder: None keeps nothing, and neither does one that cannot be written to. Raises BadFile, as `make` does.
    """
    if folder is None or not isinstance(file, HeadFile):
        return list(make())
    rows = sum_of({str(number): array for number, array in enumerate(_arrays(written))})
    key, origin = _key(file, rows), Origin(str(file.path.resolve()), f"{KIND} {rows}", 1)
    if not (folder / key).exists():
        drop_orphans(folder, KIND)
    try:
        return _read(open_stored(folder, key, partial(_write, make), origin, elsewhere=False))
    except EngineError:
        return list(make())


def _key(file: HeadFile, rows: str) -> str:
    """Stands for all that the blocks are made of, to the byte, and for how."""
    how = [repr(file.card), rows, HAS_HALVES, sources(MAKERS)]  # as JSON a card's curves take six times as long
    return sha256(json.dumps([how, sum_of(file.arrays)], sort_keys=True).encode()).hexdigest()[:32]


def _arrays(matrix: Matrix | None) -> list[np.ndarray]:
    if matrix is None:
        return []
    found = matrix.values, np.array(matrix.zero), matrix.scales, matrix.least, *matrix.nested
    return [np.zeros(0) if each is None else each for each in found]


def sum_of(arrays: Mapping[str, np.ndarray]) -> str:
    """32 hexadecimal digits, of names, kinds, shapes and values."""
    found = sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:32]


def _write(make: Make, writing: Writing) -> None:
    for number, blocks in enumerate(make()):
        write_kind(str(number), blocks, writing)


def _read(held: MappedConstants) -> list[Blocks]:
    names = sorted({int(key.partition(":")[0]) for key in held})
    return [read_blocks(str(number), held) for number in names]
