"""Trees of drafts over tables: shapes as data, drawn through the injected randomness like everything else.

A shape is a list of nodes (parent, source) in topological order. Sources:

    q, r    a sample of the first or the second draft table, whatever its siblings are (with replacement)
    w       a sample of q without the tokens of the earlier siblings (without replacement)
    h       a sample of q without the tokens of the certain siblings still to come (Hu's greedy drafts)
    t0, t1  certain: the likeliest or second likeliest token under q
    n       certain: the likeliest token under q that no earlier sibling has
    c0, c1  certain: token 0 or 1

A node whose source has nothing left, and its subtree, are not drafted. `only_if`, a rule on what was drawn before a
node, can leave out more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from known_laws import Table, lookup
from truedraw.protocol import ROOT, Floats, Proposal, Purpose, Randomness

Node = tuple[int, str]


@dataclass(frozen=True)
class Tables:
    """A target and two draft models."""

    name: str
    target: Table
    q: Table
    r: Table
    known: dict[tuple[str, tuple[int, ...]], Floats] = field(default_factory=dict, compare=False, repr=False)

    @property
    def vocab(self) -> int:
        return len(lookup(self.target, ()))

    def row(self, table: str, text: Sequence[int]) -> Floats:
        """[vocab], read-only: a verifier that writes into p or q fails."""
        key = (table, tuple(text))
        if key not in self.known:
            self.known[key] = np.array(lookup(getattr(self, table), text))
            self.known[key].flags.writeable = False
        return self.known[key]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Shape:
    name: str
    nodes: tuple[Node, ...]
    only_if: Callable[[Drawing, int, int], bool] = lambda drawing, node, parent: True

    def __str__(self) -> str:
        return self.name


class Drawing:
    """A tree as it grows. `spot[i]` is the place of shape node i in the proposal, None where it was left out."""

    def __init__(self, tables: Tables, shape: Shape, text: Sequence[int], randomness: Randomness) -> None:
        self.tables, self.shape, self.text, self.randomness = tables, shape, list(text), randomness
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.laws: list[Floats | None] = []
        self.spot: list[int | None] = []

    def proposal(self) -> Proposal:
        for node, (parent, source) in enumerate(self.shape.nodes):
            above = ROOT if parent == ROOT else self.spot[parent]
            left_out = above is None or not self.shape.only_if(self, node, above)
            drawn = None if left_out else self.draw(node, above, source)
            self.spot.append(None if drawn is None else len(self.tokens))
            if drawn is not None:
                self.tokens.append(drawn[0])
                self.parents.append(above)
                self.laws.append(drawn[1])
        parents = np.array(self.parents, dtype=np.int64)
        return Proposal(np.array(self.tokens, dtype=np.int64), parents, tuple(self.laws))

    def draw(self, node: int, parent: int, source: str) -> tuple[int, Floats | None] | None:
        if source[0] == "c":
            return int(source[1:]), None
        q = self.tables.row("r" if source == "r" else "q", [*self.text, *self.path(parent)])
        taken = self.siblings(parent)
        if source == "n":
            return next(((x, None) for x in ranked(q) if x not in taken), None)
        if source[0] == "t":
            return ranked(q)[int(source[1:])], None
        gone = taken if source == "w" else self.certain_to_come(node, q) if source == "h" else []
        law = without(q, gone) if gone else q
        return None if law is None else (self.sample(law, node), law)

    def sample(self, law: Floats, node: int) -> int:
        return self.randomness.choose(law, Purpose.DRAFT, len(self.text), node)

    def path(self, node: int) -> list[int]:
        path: list[int] = []
        while node != ROOT:
            path.insert(0, self.tokens[node])
            node = self.parents[node]
        return path

    def siblings(self, parent: int) -> list[int]:
        return [token for token, above in zip(self.tokens, self.parents, strict=True) if above == parent]

    def certain_to_come(self, node: int, q: Floats) -> list[int]:
        parent = self.shape.nodes[node][0]
        later = [source for above, source in self.shape.nodes[node + 1 :] if above == parent and source[0] == "t"]
        return [ranked(q)[int(source[1:])] for source in later]


def ranked(q: Floats) -> list[int]:
    """Tokens, the likeliest first."""
    return [int(token) for token in np.argsort(-q, kind="stable")]


def without(q: Floats, tokens: Sequence[int]) -> Floats | None:
    left = q.copy()
    left[list(tokens)] = 0.0
    return left / left.sum() if left.sum() > 0 else None


def target_rows(tables: Tables, text: Sequence[int], proposal: Proposal) -> list[Floats]:
    """protocol.Rows: p after the text and after every draft node."""
    paths: list[list[int]] = []
    for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
        paths.append([*(paths[parent] if parent != ROOT else []), token])
    return [tables.row("target", [*text, *path]) for path in [[], *paths]]


def chain(*sources: str) -> Shape:
    return Shape("chain " + " ".join(sources), tuple((i - 1, source) for i, source in enumerate(sources)))


def flat(*sources: str) -> Shape:
    return Shape("siblings " + " ".join(sources), tuple((ROOT, source) for source in sources))


def paths(count: int, length: int, source: str = "q") -> Shape:
    """Independent paths side by side, equal prefixes repeated."""
    nodes = [(ROOT if depth == 0 else path * length + depth - 1, source)
             for path in range(count) for depth in range(length)]  # fmt: skip
    return Shape(f"{count} paths of {length} {source}", tuple(nodes))


def tree(name: str, *nodes: Node) -> Shape:
    return Shape(name, nodes)
