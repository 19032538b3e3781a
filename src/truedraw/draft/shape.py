"""The shape of a drawn tree, settled before anything is drawn.

Candidates at one place are drawn without replacement. A node is worth the product of the chances along its path, and
the n nodes that are worth most are a tree, for no node is worth more than its parent or the candidate before it (Chen
et al., Sequoia, 2402.12374: with chances that depend on nothing but the number of the candidate, its dynamic programme
takes the same nodes).
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush

MOST_KNOWN = 2048  # shapes kept: texts differ in their chances
Level = tuple[tuple[int, int], ...]
"""Of each place of one depth where candidates are drawn: the node of the level above it, and how many."""
Path = tuple[int, ...]
"""A node by the numbers of the candidates that lead to it."""


@lru_cache(maxsize=MOST_KNOWN)
def levels(nodes: int, chances: tuple[float, ...], deepest: int) -> tuple[Level, ...]:
    """The best tree of at most so many nodes, level by level; nodes of a level are numbered in the order drawn."""
    paths = [path for path, _ in best(nodes, chances, deepest)]
    found: list[Level] = []
    above: list[Path] = [()]
    while True:
        counts = [sum(path[:-1] == parent for path in paths) for parent in above]
        level = tuple((place, count) for place, count in enumerate(counts) if count)
        if not level:
            return tuple(found)
        found.append(level)
        above = [(*above[place], number) for place, count in level for number in range(count)]


@lru_cache(maxsize=MOST_KNOWN)
def worths(nodes: int, chances: tuple[float, ...], deepest: int) -> tuple[tuple[float, int], ...]:
    """Tokens that the first, second, ... node of the best tree is worth, which fall, and its level, from 1 on."""
    return tuple((worth, len(path)) for path, worth in best(nodes, chances, deepest))


def chain_of(siblings: int, nodes: int) -> tuple[Level, ...]:
    """So many candidates for the first token, and a chain behind the first of them; at most so many nodes."""
    first = min(siblings, nodes)
    return () if first < 1 else (((0, first),), *(((0, 1),) for _ in range(nodes - first)))


def best(nodes: int, chances: tuple[float, ...], deepest: int) -> list[tuple[Path, float]]:
    """The nodes that are worth most, with their worth, the best first."""
    found: list[tuple[Path, float]] = []
    waiting: list[tuple[float, Path, float]] = [(-chances[0], (0,), 1.0)] if deepest > 0 else []  # with its parent's
    while waiting and len(found) < nodes:
        worth, path, parent = heappop(waiting)
        found.append((path, -worth))
        above, last = path[:-1], path[-1]
        if last + 1 < len(chances):
            heappush(waiting, (-parent * chances[last + 1], (*above, last + 1), parent))
        if len(path) < deepest:
            heappush(waiting, (worth * chances[0], (*path, 0), -worth))
    return found
