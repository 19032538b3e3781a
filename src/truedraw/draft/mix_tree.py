"""Several drafts of one text in one tree: what was sampled as it stands, then what is certain, the likeliest first.

Why the tree keeps the law, whatever rule for all trees verifies it (verify/traversal.py, verify/recursive.py). A
sampled draft is submitted whatever it turned out to be, and its law is the one it was drawn from given everything that
was drawn before it. A certain draft is its own law as soon as it stands in the tree; whether it does may be decided by
any other token of the tree. So a certain draft that spells the same text as a sampled one need not stand beside it:
when the sampled one fails, nothing is left of p at its token, and when it is kept, what follows the certain one can
just as well follow the sampled one. Two samples of one token are never merged: each has a law of its own to answer for.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from truedraw.errors import BadProposal
from truedraw.protocol import ROOT, DraftLaw, Proposal

UNKNOWN = 0.5  # chance of a draft token of which its source has no opinion


class Trie:
    """What certain sources offer: nodes in the order they came, and a text once, whoever offers it.

    `chances[i]` is how likely node i is kept once its parent was, by the source that thinks best of it.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.chances: list[float] = []
        self.below: dict[int, list[int]] = {ROOT: []}
        self._at: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, proposal: Proposal, chances: Sequence[float]) -> None:
        """Enter a tree of certain tokens."""
        nodes: list[int] = []
        for token, above, chance in zip(proposal.tokens.tolist(), parents(proposal), chances, strict=True):
            nodes.append(self._node(token, above if above == ROOT else nodes[above], chance))

    def _node(self, token: int, parent: int, chance: float) -> int:
        node = self._at.setdefault((parent, token), len(self.tokens))
        if node < len(self.tokens):
            self.chances[node] = max(self.chances[node], chance)
            return node
        self.tokens.append(token)
        self.parents.append(parent)
        self.chances.append(chance)
        self.below[parent].append(node)
        self.below[node] = []
        return node


class Tree:
    """The proposal while it grows."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._parents: list[int] = []
        self._laws: list[DraftLaw | None] = []
        self._chances: list[float] = []
        self._at: dict[tuple[int, int], int] = {}  # the first of equal siblings

    def __len__(self) -> int:
        return len(self._tokens)

    def plant(self, proposal: Proposal, chances: Sequence[float]) -> None:
        """The whole of a tree with sampled tokens; a parent that is none is still none, for whoever looks at all."""
        first = len(self)
        nodes = zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, chances, strict=True)
        for token, above, law, chance in nodes:
            place = first + above if 0 <= above < len(self) - first else len(self)
            self._add(token, above if above == ROOT else place, law, chance)

    def graft(self, trie: Trie, room: int) -> None:
        """At most `room` further nodes, those that are likeliest reached. One whose text stands here takes no room."""
        places: list[int | None] = [None] * len(trie)
        full = len(self) + room
        waiting = [(-trie.chances[node], node) for node in trie.below[ROOT]]
        heapify(waiting)
        while waiting:
            reached, node = heappop(waiting)
            places[node] = place = self._placed(trie, node, places, len(self) < full)
            for child in trie.below[node] if place is not None else ():
                heappush(waiting, (reached * trie.chances[child], child))

    def proposal(self) -> Proposal:
        """The tree."""
        return Proposal(
            np.array(self._tokens, dtype=np.int64),
            np.array(self._parents, dtype=np.int64),
            tuple(self._laws),
            np.array(self._chances),
        )

    def _placed(self, trie: Trie, node: int, places: Sequence[int | None], may_grow: bool) -> int | None:
        """Where the text of a node of the trie stands, once it does; that of its parent does."""
        above, token = trie.parents[node], trie.tokens[node]
        parent = ROOT if above == ROOT else places[above]
        assert parent is not None
        place = self._at.get((parent, token))
        if place is None and may_grow:
            place = self._add(token, parent, None, trie.chances[node])
        return place

    def _add(self, token: int, parent: int, law: DraftLaw | None, chance: float) -> int:
        node = len(self)
        self._at.setdefault((parent, token), node)
        self._tokens.append(token)
        self._parents.append(parent)
        self._laws.append(law)
        self._chances.append(chance)
        return node


def parents(proposal: Proposal) -> list[int]:
    """Those of a proposal; raises BadProposal where one does not stand before its children."""
    found: list[int] = proposal.parents.tolist()
    for node, parent in enumerate(found):
        if not ROOT <= parent < node:
            raise BadProposal(f"draft node {node} has parent {parent}; a parent is -1 or an earlier node")
    return found
