"""What each text brings to a pass: its rows, their positions, and how attention is to see them.

Plain lists throughout: most parts have a row or two, and a batch turns all of them into arrays at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.trees import tree
from truedraw.protocol import Proposal

LONE_ROWS = 2  # attention rows that a sequence with one row brings: the kernel for one row sums in another order


@dataclass(slots=True)
class Lane:
    """What the attention kernel takes for one sequence: rows of a part, in the slots that follow `past`."""

    rows: Seq[int]  # [attention rows] -> row of the part
    past: int  # slots filled before
    pages: list[int]
    mask: NDArray[np.uint8] | None = None  # [rows, rows], 1 = sees; None = plainly causal

    @property
    def end(self) -> int:
        """One behind the last slot that the pass writes."""
        return self.past + len(self.rows)


@dataclass(slots=True)
class Part:
    """The rows of one text in a pass: what is not cached of it, then the nodes of a proposal.

    The first lane writes to the text's own pages. Further ones, where a tree is unrolled into its paths, get pages
    of their own for the length of the pass.
    """

    sequence: PagedSequence
    ids: list[int]  # [rows]
    positions: Seq[int]  # [rows]; a node's is its depth in the text
    lanes: list[Lane]
    first_wanted: int  # logits are wanted of this row and all after it
    cached: int  # tokens of the text in the own pages after the pass
    drafted: list[int]  # draft tokens that stand there behind the text, as a chain

    @property
    def untold(self) -> int:
        """How many of its first rows are text without logits, of a text whose hidden states nobody was told yet."""
        return 0 if self.sequence.shown.told else self.first_wanted


def chunk(sequence: PagedSequence, count: int) -> Part:
    """The next `count` uncached tokens of the text, no logits."""
    past = sequence.cached
    end = past + count
    lane = Lane(_never_lone(range(count)), past, sequence.pages)
    return Part(sequence, sequence.tokens[past:end], range(past, end), [lane], count, end, [])


def scored_chain(sequence: PagedSequence, drafted: list[int]) -> Part:
    """All uncached text, at least the last token, whose logits are row 0, then draft tokens one after the other."""
    length, text = len(sequence.tokens), sequence.num_uncached
    past = length - text
    ids = sequence.tokens[past:] + drafted
    lane = Lane(_never_lone(range(len(ids))), past, sequence.pages)
    return Part(sequence, ids, range(past, past + len(ids)), [lane], text - 1, length, drafted)


def scored_tree(sequence: PagedSequence, proposal: Proposal, paths: Seq[Seq[int]]) -> Part:
    """All uncached text, at least the last token, whose logits are row 0, then the nodes.

    Every path of nodes in `paths` is a lane, so that each row finds its ancestors in the very slots it would find
    them in by plain decoding, and sums in the same order. Without paths a mask hides a node's strangers, which is
    cheaper and right up to rounding.
    """
    length, text = len(sequence.tokens), sequence.num_uncached
    past = length - text
    tokens = proposal.tokens.tolist()
    depths, mask = tree(proposal, text)
    positions = [*range(past, length), *(length + depths).tolist()]
    nodes = paths or [range(len(tokens))]
    rows = [[*range(text), *(text + node for node in path)] for path in nodes]
    lanes = [Lane(each, past, sequence.pages, None if paths else mask) for each in rows]
    kept = paths[0] if paths else range(_chained(proposal))
    ids = sequence.tokens[past:] + tokens
    return Part(sequence, ids, positions, lanes, text - 1, length, [tokens[node] for node in kept])


def text_places(parts: Seq[Part], first: int) -> list[slice]:
    """Where the untold rows of each part stand, one part behind the other, those of all from `first` on."""
    ends = accumulate([part.untold for part in parts], initial=first)
    return [slice(start, end) for start, end in pairwise(ends)]


def apart(lane: Lane) -> list[Lane]:
    """Each row as a lane of its own, in the slot that it has anyway; rows before it are in the cache by then."""
    return [Lane((row,), lane.past + place, lane.pages) for place, row in enumerate(_once(lane.rows))]


def alone(lane: Lane) -> Lane:
    """Without the second row of `_never_lone`."""
    return Lane(_once(lane.rows), lane.past, lane.pages, lane.mask)


def num_apart(lanes: Iterable[Lane]) -> int:
    """How many lanes `apart` makes of these."""
    return sum([len(_once(lane.rows)) for lane in lanes])


def _once(rows: Seq[int]) -> Seq[int]:
    """Without the second row of `_never_lone`."""
    return rows[:1] if len(rows) == LONE_ROWS and rows[0] == rows[1] else rows


def _never_lone(rows: Seq[int]) -> Seq[int]:
    """A single row twice: a later row never influences an earlier one."""
    return (0,) * LONE_ROWS if len(rows) < LONE_ROWS else rows


def _chained(proposal: Proposal) -> int:
    """How many of the first nodes follow each other, so that their slots are their positions."""
    strays = np.flatnonzero(proposal.parents != np.arange(-1, len(proposal) - 1))
    return int(strays[0]) if len(strays) else len(proposal)
