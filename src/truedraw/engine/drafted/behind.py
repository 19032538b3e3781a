"""What drafts have computed behind one text: rows of logits, and texts in the cache that go on from there."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Sequence as Seq
from typing import NamedTuple

import numpy as np

from truedraw.protocol import ROOT, Engine, Logits, Proposal, Sequence

Path = tuple[int, ...]
"""Tokens behind the text; () is the text itself."""


class Missing(NamedTuple):
    """Rows to compute: the one at `path`, and one behind each node of the proposal that hangs there."""

    path: Path
    proposal: Proposal


class Behind:
    """Rows [vocab] by the path that they follow. It lasts while some draft stands at the text, which then goes on.

    `ahead` are texts of the engine, each at the path that is its key, whose last token may not be computed yet.
    """

    def __init__(self, engine: Engine, tokens: Seq[int]) -> None:
        self.tokens = list(tokens)
        self.rows: dict[Path, Logits] = {}
        self.holders = 0
        self._engine = engine
        self._ahead: dict[Path, Sequence] = {}

    def keep(self, path: Path, row: Logits) -> None:
        """A copy of a row [vocab] of the engine's, whose next pass overwrites it."""
        self.rows[path] = row.copy()

    def stacked(self, paths_wanted: Seq[Path]) -> Logits:
        """[paths, vocab], of rows that are all known; a copy, since others are to be told what was computed."""
        if len(paths_wanted) == 1:  # sooner
            return self.rows[paths_wanted[0]][None].copy()
        return np.stack([self.rows[path] for path in paths_wanted])

    def reach(self, path: Path, text: Sequence, busy: Container[Path] = ()) -> Sequence:
        """A text of the engine that stands at `path`; `text` is one that stands at (), and stays there.

        So do those at the paths that are `busy`; any other one that is on the way goes on from where it is.
        """
        if path == ():
            return text
        free = [key for key in self._ahead if path[: len(key)] == key and key not in busy]
        longest = max(free, key=len, default=())
        found = self._ahead.pop(longest) if longest else self._engine.fork(text, 1)[0]
        if len(path) > len(longest):
            found.commit(path[len(longest) :])
        self._ahead[path] = found
        return found

    def goes_on(self, tokens: Seq[int]) -> Sequence | None:
        """Of the texts ahead the one that has most of what comes next, made to stand behind all of it."""
        longest = max((key for key in self._ahead if tuple(tokens[: len(key)]) == key), key=len, default=())
        if not longest:
            return None
        self._ahead[longest].commit(tokens[len(longest) :])
        return self._ahead.pop(longest)

    def forget(self) -> None:
        """Free everything; it is computed again when it is wanted again."""
        self.rows = {}
        while self._ahead:
            self._ahead.popitem()[1].close()


def paths(start: Path, proposal: Proposal) -> list[Path]:
    """Where each row of a work stands [1 + nodes], its text, which is the row of ROOT, standing at `start`."""
    found = [start]
    for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
        found.append((*found[1 + parent], token))
    return found


def missing(start: Path, proposal: Proposal, known: Container[Path]) -> list[Missing]:
    """What of a work is not known: the trees that hang on known rows, or all of it where its first row is not.

    A tree begins behind the token of its root, so that the known row above it is not computed once more.
    """
    if start not in known:
        return [Missing(start, proposal)]
    places = paths(start, proposal)
    above = [1 + parent for parent in proposal.parents.tolist()]  # rows
    trees: dict[Path, list[int]] = {}  # nodes by the path of the tree's root
    tree_of: dict[int, Path] = {}  # by row
    for node, parent in enumerate(above):
        path = places[1 + node]
        if parent in tree_of:
            tree_of[1 + node] = tree_of[parent]
            trees[tree_of[parent]].append(node)
        elif path not in known:
            tree_of[1 + node] = path
            trees.setdefault(path, [])
    return [Missing(path, hanging(proposal, nodes)) for path, nodes in trees.items()]


def hanging(proposal: Proposal, nodes: Seq[int]) -> Proposal:
    """The nodes alone, as certain ones; those whose parent is not among them hang on the text."""
    place = {node: index for index, node in enumerate(nodes)}
    parents = [place.get(parent, ROOT) for parent in proposal.parents[list(nodes)].tolist()]
    return Proposal(proposal.tokens[list(nodes)], np.array(parents, np.int64), (None,) * len(nodes))
