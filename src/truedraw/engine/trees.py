"""The shape of a proposal: what follows what."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truedraw.engine.texts import Limits, check_tokens
from truedraw.errors import EngineError
from truedraw.protocol import ROOT, Ints, Proposal


def is_chain(proposal: Proposal) -> bool:
    """Every node follows the one before it."""
    parents: list[int] = proposal.parents.tolist()
    return parents == list(range(ROOT, len(parents) - 1))


def paths(proposal: Proposal) -> list[list[int]]:
    """From the text to every leaf, the path of first children first."""
    parents = proposal.parents.tolist()
    found = []
    for leaf in set(range(len(parents))) - set(parents):
        path, node = [], leaf
        while node != ROOT:
            path.append(node)
            node = parents[node]
        found.append(path[::-1])
    return sorted(found)


def tree(proposal: Proposal, text: int) -> tuple[Ints, NDArray[np.uint8]]:
    """Depths of the nodes [nodes], 0 for those that follow the text, and the mask of `text` + nodes rows."""
    whole = text + len(proposal)
    rows = [b"\1" * (row + 1) + bytes(whole - row - 1) for row in range(text)]
    for node, parent in enumerate(proposal.parents.tolist()):
        own = bytearray(rows[text + parent])
        own[text + node] = 1
        rows.append(bytes(own))
    mask = np.frombuffer(bytearray().join(rows), np.uint8).reshape(whole, whole)
    return np.array(depths(proposal), np.int64), mask


def depths(proposal: Proposal) -> list[int]:
    """Of the nodes, 0 for those that follow the text."""
    found = list[int]()
    for parent in proposal.parents.tolist():
        found.append(0 if parent == ROOT else found[parent] + 1)
    return found


def check_proposal(proposal: Proposal, length: int, limits: Limits) -> None:
    """Raises EngineError for a tree out of order, an unknown token, or a node beyond the context."""
    parents, tokens = proposal.parents.tolist(), proposal.tokens.tolist()
    if not tokens and not parents:
        return
    if len(parents) != len(tokens) or not all(ROOT <= parent < node for node, parent in enumerate(parents)):
        raise EngineError("every draft token needs a parent that stands before it, or -1 for the text itself")
    check_tokens(tokens, limits.vocab_size)
    if length + len(tokens) > limits.length and length + height(proposal) > limits.length:
        raise EngineError(
            f"a draft of depth {height(proposal)} after {length} tokens leaves the model's context of "
            f"{limits.length}; draft less"
        )


def height(proposal: Proposal) -> int:
    """Tokens of its longest path."""
    return max(depths(proposal), default=-1) + 1
