"""A head's matrices as its kernels read them, kept beside converted weights.

To round them and lay them out takes a sixth of a second, which a single short text does not bring back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from truedraw.draft.head.file import HeadFile, Numbers
from truedraw.engine.constants.mapped import MappedConstants
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.replaced import Origin
from truedraw.engine.constants.store import open_stored
from truedraw.engine.constants.writing import Writing
from truedraw.engine.native.blocks import Blocks
from truedraw.engine.native.machine import HAS_HALVES
from truedraw.engine.native.weights import read_blocks, write_kind
from truedraw.errors import EngineError

FORM = "head", 1  # the number is to be raised when four_bits.py or blocks.py make something else of the same numbers
Make = Callable[[], Sequence[Blocks]]


def kept_blocks(file: Numbers, written: Matrix | None, folder: Path | None, make: Make) -> list[Blocks]:
    """What `make` makes of a head's file, of rows of its target's, and of nothing else: from the folder, or made now
    and kept there for the next time.

    folder: None keeps nothing, and neither does a full disk. Raises BadFile, as `make` does.
    """
    if folder is None or not isinstance(file, HeadFile):
        return list(make())
    try:
        held = open_stored(folder, _key(file, written), partial(_write, make), Origin(str(file.path.resolve()), *FORM))
    except EngineError:
        return list(make())
    return _read(held)


def _key(file: HeadFile, written: Matrix | None) -> str:
    """Stands for all that the blocks are made of, to the byte."""
    rows = () if written is None else (written.values, written.scales, written.least, *written.nested)
    whole = sha256(json.dumps([file.card.to_metadata(), *FORM, HAS_HALVES, written and written.zero]).encode())
    for name, array in (*sorted(file.arrays.items()), *enumerate(rows)):
        whole.update(b"-" if array is None else f"{name} {array.dtype.str} {array.shape}".encode())
        whole.update(b"" if array is None else np.ascontiguousarray(array).data)
    return whole.hexdigest()[:32]


def _write(make: Make, writing: Writing) -> None:
    for number, blocks in enumerate(make()):
        write_kind(str(number), blocks, writing)


def _read(held: MappedConstants) -> list[Blocks]:
    names = sorted({int(key.partition(":")[0]) for key in held})
    return [read_blocks(str(number), held) for number in names]
