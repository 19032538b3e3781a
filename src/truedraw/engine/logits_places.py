"""Where texts stand: a trie over token prefixes that is as small as what is stored in it.

An edge carries a block of tokens, so that a long prompt is a few nodes, and the place of a text is the node of its
whole blocks and the tokens behind them. That form is unique: two texts are equal where their places are. A node lives
as long as a place, a longer text's node or somebody who stores by place refers to it, so texts that are only read or
written, never stored, leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

TOKEN_BYTES = 4
BLOCK_TOKENS = 64  # longer: fewer nodes for a prompt, but more to copy at every step
EDGE_BYTES = BLOCK_TOKENS * TOKEN_BYTES


class Node:
    """A text of whole blocks. `holders` counts the rows stored right here and the next nodes that lead to any."""

    __slots__ = ("__weakref__", "depth", "holders", "number", "parent")

    def __init__(self, parent: Node | None, number: int) -> None:
        self.parent, self.number = parent, number
        self.depth: int = 0 if parent is None else parent.depth + 1  # blocks
        self.holders = 0

    def unheld(self) -> int:
        """How many nodes from here to the root lead to no row; the root does not count."""
        node, count = self, 0
        while node.parent is not None and node.holders == 0:
            node, count = node.parent, count + 1
        return count

    def hold(self) -> int:
        """One more row is stored here; returns how many nodes lead to a row only now."""
        node, count = self, 0
        while node.parent is not None:
            node.holders += 1
            if node.holders > 1:
                break
            node, count = node.parent, count + 1
        return count

    def release(self) -> int:
        """One row fewer is stored here; returns how many nodes lead to no row any more."""
        node, count = self, 0
        while node.parent is not None:
            node.holders -= 1
            if node.holders > 0:
                break
            node, count = node.parent, count + 1
        return count


class Place(NamedTuple):
    """A text. It stays valid for ever, whatever is stored or given up."""

    node: Node
    tail: bytes  # the tokens behind the node's, fewer than a block


class Places:
    """All texts of one trie."""

    def __init__(self) -> None:
        self._root = Node(None, 0)
        self._made = 0
        self._nodes: WeakValueDictionary[tuple[int, bytes], Node] = WeakValueDictionary()  # (number of parent, edge)

    def __len__(self) -> int:
        """Nodes that somebody refers to, the root not counted."""
        return len(self._nodes)

    def hold_nothing(self) -> None:
        """No row is stored anywhere."""
        for node in self._nodes.values():
            node.holders = 0

    def enter(self, tokens: Iterable[int]) -> Place:
        """The place of a text, the empty one included."""
        text = np.fromiter(tokens, "<i4").tobytes()
        node, start = self._root, 0
        while len(text) - start >= EDGE_BYTES:
            node = self._next(node, text[start : start + EDGE_BYTES])
            start += EDGE_BYTES
        return Place(node, text[start:])

    def step(self, place: Place, token: int) -> Place:
        """The place one token later."""
        tail = place.tail + int(token).to_bytes(TOKEN_BYTES, "little")
        return Place(place.node, tail) if len(tail) < EDGE_BYTES else Place(self._next(place.node, tail), b"")

    def _next(self, node: Node, edge: bytes) -> Node:
        key = (node.number, edge)
        found = self._nodes.get(key)
        if found is None:
            self._made += 1
            found = self._nodes[key] = Node(node, self._made)
        return found
