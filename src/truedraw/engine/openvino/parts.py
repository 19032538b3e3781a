"""What each text brings to a pass: its rows, their positions, and how attention is to see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.openvino.sequence import PagedSequence, check_tokens
from truedraw.errors import EngineError
from truedraw.protocol import ROOT, Ints, Proposal

LONE_ROWS = 2  # attention rows that a sequence with one row brings: the kernel for one row sums in another order


@dataclass(slots=True)
class Lane:
    """What the attention kernel takes for one sequence: rows of a part, in the slots that follow `past`."""

    rows: Ints  # [attention rows] -> row of the part
    past: int  # slots filled before
    pages: list[int]
    mask: NDArray[np.uint8] | None = None  # [rows, rows], 1 = sees; None = plainly causal

    @property
    def end(self) -> int:
        """One behind the last slot that the pass writes."""
        return self.past + len(self.rows)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one text in a pass: what is not cached of it, then the nodes of a proposal.

    The first lane writes to the text's own pages. Further ones, where a tree is unrolled into its paths, get pages
    of their own for the length of the pass.
    """

    sequence: PagedSequence
    ids: Ints  # [rows]
    positions: Ints  # [rows]; a node's is its depth in the text
    lanes: list[Lane]
    first_wanted: int  # logits are wanted of this row and all after it
    drafted: list[int]  # draft tokens that stand in the own pages behind the text after the pass, as a chain


def chunk(sequence: PagedSequence, count: int) -> Part:
    """The next `count` uncached tokens of the text, no logits."""
    past = sequence.cached
    ids = np.asarray(sequence.tokens[past : past + count], np.int64)
    lane = Lane(_never_lone(np.arange(count)), past, sequence.pages)
    return Part(sequence, ids, np.arange(past, past + count), [lane], count, [])


def scored(sequence: PagedSequence, proposal: Proposal, *, unrolled: bool) -> Part:
    """All uncached text, at least the last token, whose logits are row 0, then the nodes.

    `unrolled`: a tree's every path is a lane, so that each row finds its ancestors in the very slots it would find
    them in by plain decoding, and sums in the same order. Otherwise a mask hides a node's strangers, which is
    cheaper and right up to rounding.
    """
    length = len(sequence.tokens)
    text = sequence.num_uncached
    past = length - text
    ids = np.concatenate([np.asarray(sequence.tokens[past:], np.int64), proposal.tokens])
    chained = is_chain(proposal)
    depths, mask = (np.arange(len(proposal)), None) if chained else tree(proposal, text)
    positions = np.concatenate([np.arange(past, length), length + depths])
    nodes = paths(proposal) if unrolled and not chained else [np.arange(len(proposal))]
    rows = [np.concatenate([np.arange(text), text + path]) for path in nodes]
    lanes = [Lane(_never_lone(each), past, sequence.pages, None if unrolled else mask) for each in rows]
    drafted = proposal.tokens[nodes[0]] if unrolled else proposal.tokens[: chain_length(proposal)]
    return Part(sequence, ids, positions, lanes, text - 1, drafted.tolist())


def _never_lone(rows: Ints) -> Ints:
    """A single row twice: a later row never influences an earlier one."""
    return np.resize(rows, LONE_ROWS) if len(rows) < LONE_ROWS else rows


def paths(proposal: Proposal) -> list[Ints]:
    """From the text to every leaf, the path of first children first."""
    inner = set(proposal.parents.tolist())
    found = []
    for leaf in set(range(len(proposal))) - inner:
        path, node = [], leaf
        while node != ROOT:
            path.append(node)
            node = int(proposal.parents[node])
        found.append(path[::-1])
    return [np.array(path) for path in sorted(found)]


def is_chain(proposal: Proposal) -> bool:
    """Every node follows the one before it."""
    return len(proposal) == 0 or chain_length(proposal) == len(proposal)


def chain_length(proposal: Proposal) -> int:
    """How many of the first nodes follow each other, so that their slots are their positions."""
    strays = np.flatnonzero(proposal.parents != np.arange(-1, len(proposal) - 1))
    return int(strays[0]) if len(strays) else len(proposal)


def tree(proposal: Proposal, text: int) -> tuple[Ints, NDArray[np.uint8]]:
    """Depths of the nodes [nodes], 0 for those that follow the text, and the mask of `text` + nodes rows."""
    nodes = len(proposal)
    depths = np.zeros(nodes, np.int64)
    mask = np.tri(text + nodes, dtype=np.uint8)
    mask[text:] = 0
    for node, parent in enumerate(proposal.parents):
        above = text - 1 if parent == ROOT else text + parent
        mask[text + node] = mask[above]
        mask[text + node, text + node] = 1
        depths[node] = 0 if parent == ROOT else depths[parent] + 1
    return depths, mask


def check_proposal(proposal: Proposal, length: int, vocab_size: int, limit: int) -> None:
    """Raises EngineError for a tree out of order, an unknown token, or a node beyond the context."""
    nodes = np.arange(len(proposal))
    if len(proposal.parents) != len(nodes) or ((proposal.parents < ROOT) | (proposal.parents >= nodes)).any():
        raise EngineError("every draft token needs a parent that stands before it, or -1 for the text itself")
    check_tokens(proposal.tokens.tolist(), vocab_size)
    if length + len(proposal) > limit and length + _height(proposal) > limit:
        raise EngineError(
            f"a draft of depth {_height(proposal)} after {length} tokens leaves the model's context of {limit}; "
            "draft less"
        )


def _height(proposal: Proposal) -> int:
    return 0 if len(proposal) == 0 else int(tree(proposal, 1)[0].max()) + 1
