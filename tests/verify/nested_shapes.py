"""Every shape in which what stands below a candidate stands below the one before it, too: as drafters draw them."""

from __future__ import annotations

from collections.abc import Callable

from sibling_drafts import Shape, tree
from truedraw.protocol import ROOT

Path = tuple[int, ...]  # a node by the numbers of the candidates that lead to it


def is_nested(paths: frozenset[Path]) -> bool:
    """Whether every node has its parent, and its like behind the candidate before any on its way."""
    return all(
        path[:-1] in ({()} | paths)
        and all(number == 0 or (*path[:at], number - 1, *path[at + 1 :]) in paths for at, number in enumerate(path))
        for path in paths
    )


def nested(nodes: int, candidates: int, deepest: int) -> list[frozenset[Path]]:
    """Those of 1 to so many nodes."""
    newest: set[frozenset[Path]] = {frozenset()}
    found: list[frozenset[Path]] = []
    for _ in range(nodes):
        newest = {
            grown
            for paths in newest for above in [(), *paths] if len(above) < deepest for number in range(candidates)
            if (*above, number) not in paths and is_nested(grown := paths | {(*above, number)})
        }  # fmt: skip
        found += sorted(newest, key=sorted)
    return found


def shape_of(paths: frozenset[Path], source: Callable[[Path], str]) -> Shape:
    """It, level by level, each candidate from its source."""
    order = sorted(paths, key=lambda path: (len(path), path))
    at = {(): ROOT} | {path: node for node, path in enumerate(order)}
    return tree(" ".join("".join(map(str, path)) for path in order), *((at[path[:-1]], source(path)) for path in order))
