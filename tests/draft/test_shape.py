"""The best drawn tree: against brute force over every tree, and what every tree has to be."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truedraw.draft import shape
from truedraw.draft.shape import best, chain_of, levels, worths
from verify.nested_shapes import is_nested

ROUNDING = 1e-12
MOST_NODES, DEEPEST = 6, 3


def falling(seed: int, places: int = 3) -> tuple[float, ...]:
    """Chances of so many candidates, which fall and sum to less than 1; now and then two are equal."""
    rng = np.random.default_rng(seed)
    found = np.sort(rng.dirichlet(np.full(places + 1, 0.8))[:places])[::-1]
    if seed % 3 == 0:
        found[1:] = found[-1]
    return tuple(found.tolist())


def trees(nodes: int, candidates: int, deepest: int) -> set[frozenset[tuple[int, ...]]]:
    """Every tree of at most so many nodes in which a candidate stands behind its parent and the one before it."""
    found, newest = {frozenset()}, {frozenset()}
    for _ in range(nodes):
        newest = {tree | {node} for tree in newest for node in addable(tree, candidates, deepest)}
        found |= newest
    return found


def addable(tree, candidates, deepest):
    paths = [(), *tree]
    nodes = {(*path, number) for path in paths if len(path) < deepest for number in range(candidates)}
    return [node for node in nodes - tree if node[-1] == 0 or (*node[:-1], node[-1] - 1) in tree]


def worth(tree, chances) -> float:
    return sum(prod(chances[number] for number in path) for path in tree)


def spelled(found) -> list[tuple[int, ...]]:
    """The nodes of levels, as paths."""
    above, paths = [()], []
    for level in found:
        above = [(*above[place], number) for place, count in level for number in range(count)]
        paths += above
    return paths


@pytest.mark.parametrize("seed", range(8))
def test_no_tree_is_worth_more(seed: int) -> None:
    chances = falling(seed)
    every = trees(MOST_NODES, len(chances), DEEPEST)
    for nodes in range(MOST_NODES + 1):
        most = max(worth(tree, chances) for tree in every if len(tree) <= nodes)
        found = best(nodes, chances, DEEPEST)
        assert worth([path for path, _ in found], chances) == pytest.approx(most, abs=ROUNDING)


@settings(max_examples=300, deadline=None)
@given(
    nodes=st.integers(0, 40), deepest=st.integers(0, 7),
    chances=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=6).map(lambda each: tuple(sorted(each, reverse=True))),
)  # fmt: skip
def test_what_every_tree_is(nodes: int, deepest: int, chances: tuple[float, ...]) -> None:
    found = best(nodes, chances, deepest)
    paths = [path for path, _ in found]
    assert len(set(paths)) == len(paths) <= nodes
    for number, path in enumerate(paths):
        assert 1 <= len(path) <= deepest
        assert path[:-1] in ((), *paths[:number])
        assert path[-1] == 0 or (*path[:-1], path[-1] - 1) in paths[:number]
        assert found[number][1] == pytest.approx(prod(chances[each] for each in path), abs=ROUNDING)
    assert is_nested(frozenset(paths))
    assert all(a[1] >= b[1] for a, b in pairwise(found))
    assert worths(nodes, chances, deepest) == tuple((each, len(path)) for path, each in found)
    assert sorted(spelled(levels(nodes, chances, deepest))) == sorted(paths)


def test_worths_never_rise_by_rounding() -> None:
    """Candidates that are exactly as likely, to many levels."""
    for chance in (0.1, 0.3, 1 / 3, 0.49):
        found = worths(200, (chance, chance), 12)
        assert all(a[0] >= b[0] for a, b in pairwise(found))


def test_a_tree_of_fewer_nodes_is_the_beginning_of_one_of_more() -> None:
    chances = (0.5, 0.2, 0.1)
    for nodes in range(1, 20):
        assert best(nodes, chances, 6) == best(20, chances, 6)[:nodes]


def test_one_sure_candidate_is_a_chain_and_unsure_ones_stand_side_by_side() -> None:
    assert levels(4, (0.9,), 6) == (((0, 1),),) * 4
    assert levels(4, (0.99, 0.01), 6) == (((0, 1),),) * 4
    assert levels(3, (0.1, 0.1, 0.1), 6) == (((0, 3),),)
    assert levels(3, (0.5, 0.4), 1) == (((0, 2),),)
    assert levels(0, (0.5,), 6) == levels(5, (0.5,), 0) == ()


def test_levels_name_the_nodes_above_in_the_order_drawn() -> None:
    """Of equal worth the earlier path comes first: a, its sibling b, then a's children before b's."""
    found = levels(6, (0.5, 0.5), 2)
    assert found == (((0, 2),), ((0, 2), (1, 2)))
    lopsided = levels(5, (0.6, 0.35), 3)  # (0), (0,0), (1), (0,0,0), then (0,1) and (1,0), each 0.21
    assert lopsided == (((0, 2),), ((0, 2),), ((0, 1),))


@pytest.mark.parametrize(("siblings", "nodes", "expected"), [
    (1, 3, (((0, 1),), ((0, 1),), ((0, 1),))), (2, 4, (((0, 2),), ((0, 1),), ((0, 1),))), (5, 3, (((0, 3),),)),
    (2, 0, ()), (1, 1, (((0, 1),),)),
])  # fmt: skip
def test_a_fixed_number_of_candidates_and_a_chain_behind_the_first(siblings, nodes, expected) -> None:
    assert chain_of(siblings, nodes) == expected


def test_shapes_are_kept_within_bounds() -> None:
    for number in range(shape.MOST_KNOWN + 50):
        levels(2, (0.5, 0.4 * number / 1000), 2)
    assert levels.cache_info().currsize <= shape.MOST_KNOWN
