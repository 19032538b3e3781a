"""A head's file with a correction in it, beside the arrays that it has anyway (../file.py):

    refit.read [width, rank], refit.say [rank, tokens], refit.bias [tokens]     float32; R, S and b of correction.py

The rows that a head writes with are the target's own and not in the file, so a correction cannot be folded into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.card import Card, is_chance
from truedraw.draft.head.cell import Cell, shown
from truedraw.draft.head.file import HeadFile, Numbers, check_ours, write_arrays
from truedraw.draft.head.refit.cell import CorrectedCell
from truedraw.draft.head.refit.correction import Correction
from truedraw.draft.head.refit.learning import Learnt, Refit
from truedraw.errors import BadFile, BadParameter

READ, SAY, BIAS = NAMES = ("refit.read", "refit.say", "refit.bias")
REFIT, PLACES, ACCEPTANCE = "refit", "places", "acceptance"  # in what a card says of training
MOST_RANK = 256  # a file that says more is not meant


def corrected(cell: Cell, file: Numbers) -> Cell:
    """The cell with its file's correction, where that has one; raises BadFile."""
    if not isinstance(file, HeadFile) or not set(NAMES) & set(file.arrays):
        return cell
    found = stored(file, width_shown(cell, file.card))
    return CorrectedCell(cell, lambda: found)


def stored(file: HeadFile, width: int) -> Correction:
    """The correction of a file, for a cell that shows [n, width]; raises BadFile."""
    missing = [name for name in NAMES if name not in file.arrays]
    if missing:
        raise BadFile(f"{file.path} lacks {missing[0]}; refit it again")
    say, known = file.arrays[SAY], len(file.tokens)
    rank = len(say) if say.ndim else 0
    if rank > MOST_RANK:
        raise BadFile(f"{file.path} is damaged: its correction has a rank of {rank}, and {MOST_RANK} is the most")
    shapes = {READ: (width, rank), SAY: (rank, known), BIAS: (known,)}
    return Correction(*(reals(file, name, shape) for name, shape in shapes.items()))


def reals(file: HeadFile, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Finite numbers of this shape; raises BadFile."""
    found = file.arrays[name]
    if found.dtype != np.float32 or found.shape != shape or not np.isfinite(found).all():
        raise BadFile(f"{file.path} is damaged: {name} should be {shape} finite float32 numbers")
    return found


def refit_of(cell: Cell, card: Card) -> Refit:
    """For a head that is open; it goes on from the correction in its file."""
    if isinstance(cell, CorrectedCell):
        return Refit(cell.inner, width_shown(cell, card), cell.correction)
    return Refit(cell, width_shown(cell, card))


def width_shown(cell: Cell, card: Card) -> int:
    """Numbers that the cell shows of a state."""
    return int(shown(cell, np.zeros((1, card.width), np.float32)).shape[1])


def check_saved(source: Path, path: Path) -> None:
    """Raises BadParameter where what the head at `source` learns has no place, BadFile for a file that would go."""
    if source.is_dir():
        raise BadParameter(REFIT, f"{source} is a folder, into which nothing learnt is written; refit a head in a file")
    check_ours(path, "path")


def write_refitted(source: Path, card: Card, path: Path, refit: Refit) -> None:
    """The head that was read from the file `source`, with this card, and what was learnt on top of it.

    Whole or not at all; the two files may be one, also a second time. Raises BadFile.
    """
    file = HeadFile(source)
    if bare(file.card) != bare(card):
        raise BadFile(f"{source} is another head by now; load that one, and refit it")
    parts = dict(zip(NAMES, refit.correction, strict=True))
    write_arrays(path, told(card, refit.learnt), {**file.arrays, **parts})


def told(card: Card, learnt: Learnt) -> Card:
    """The card of a head as it was opened, with places of all times counted together."""
    return replace(card, training={**card.training, REFIT: joined(card.training.get(REFIT), learnt).to_dict()})


def joined(before: Any, learnt: Learnt) -> Learnt:
    """With what a card says of earlier places, as far as it can be meant: acceptance is the mean over all of them."""
    said: Mapping[str, Any] = before if isinstance(before, Mapping) else {}
    earlier: Any = said.get(PLACES)
    kept: Any = said.get(ACCEPTANCE)
    if type(earlier) is not int or earlier < 0:
        return learnt
    total = earlier + learnt.places
    if not total or not _are_chances(kept):
        return Learnt(total, learnt.acceptance)
    first, second = (
        (earlier * old + learnt.places * new) / total for old, new in zip(kept, learnt.acceptance, strict=True)
    )
    return Learnt(total, (first, second))


def _are_chances(kept: Any) -> bool:
    """Whether these are two."""
    return isinstance(kept, list | tuple) and len(kept) == len(("without", "with")) and all(map(is_chance, kept))


def bare(card: Card) -> Card:
    """Without what it says of refits."""
    return replace(card, training={name: value for name, value in card.training.items() if name != REFIT})
