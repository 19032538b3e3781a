"""What each text brings to a pass."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.pytorch.sequence import TorchSequence
from truedraw.engine.trees import tree
from truedraw.protocol import NOTHING, Ints, Logits, Proposal


@dataclass(frozen=True, slots=True)
class Part:
    """The text of a sequence up to `end`, from where it is computed on, then the nodes of a proposal."""

    sequence: TorchSequence
    end: int
    proposal: Proposal = NOTHING
    scored: bool = True  # whether the last token of the text and the nodes are to have scores
    past: int = field(init=False)  # tokens that are not computed again

    def __post_init__(self) -> None:
        object.__setattr__(self, "past", min(self.sequence.num_past, self.end - 1))

    @property
    def num_rows(self) -> int:
        """Of the text and the nodes."""
        return self.end - self.past + len(self.proposal)

    @property
    def num_scores(self) -> int:
        """Its last rows, those that are wanted."""
        return 1 + len(self.proposal) if self.scored else 0

    @property
    def untold(self) -> int:
        """How many of its first rows are text without scores, of a text whose hidden states nobody was told yet."""
        return 0 if self.sequence.shown.told else self.end - self.past - self.scored


class Found(NamedTuple):
    """The wanted rows of a part."""

    logits: Logits  # [rows, vocab]
    hidden: NDArray[np.float32] | None  # [rows, layers, width]


class Batch(NamedTuple):
    """Parts side by side; short ones have padding before their rows, which nobody looks at."""

    ids: Ints  # [parts, rows]
    positions: Ints  # [parts, rows]
    visible: NDArray[np.bool_]  # [parts, 1, rows, past + rows]
    past: int  # slots before the rows: the most that any part has computed


def batch(parts: Seq[Part]) -> Batch:
    """Every row sees the text before it and its own ancestors; a part's past stands in the first slots."""
    rows = [_rows(part) for part in parts]
    width, past = max(len(ids) for ids, _, _ in rows), max(part.past for part in parts)
    ids, positions = np.zeros((len(parts), width), np.int64), np.zeros((len(parts), width), np.int64)
    visible = np.zeros((len(parts), 1, width, past + width), np.bool_)
    visible[:, 0, np.arange(width), past + np.arange(width)] = True  # padding sees itself: no row may see nothing
    for index, (part, (own, depths, mask)) in enumerate(zip(parts, rows, strict=True)):
        first = width - len(own)
        ids[index, first:], positions[index, first:] = own, depths
        visible[index, 0, first:, : part.past] = True
        visible[index, 0, first:, past + first :] = mask
    return Batch(ids, positions, visible, past)


def _rows(part: Part) -> tuple[list[int], Ints, NDArray[np.bool_]]:
    """Ids [rows], positions [rows], and which of the rows each one sees [rows, rows]."""
    text = part.sequence.tokens[part.past : part.end]
    depths, mask = tree(part.proposal, len(text))
    positions = np.concatenate([np.arange(part.past, part.end), part.end + depths])
    return [*text, *part.proposal.tokens.tolist()], positions, mask.astype(np.bool_)
