"""The pool, the board and the windows of lookahead decoding by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truedraw.draft.lookahead_board import Board
from truedraw.draft.lookahead_pool import MOST_BEHIND, NgramPool
from truedraw.draft.lookahead_window import Columns, Line, prefixes
from truedraw.draft.scored import ScoredTree
from truedraw.protocol import ROOT, Proposal, Scores
from truedraw.verify.proposals import check_tree

TAIL = [1, 2, 3, 4, 5]
Paths = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), max_size=12)


@given(Paths, st.integers(0, 9))
def test_a_board_is_a_tree_in_which_every_path_stands_once(paths, room) -> None:
    board, kept = Board(room), set()
    for path in paths:
        before = board.room
        needed = len({*map(tuple, prefixes(tuple(path)))} - kept)
        assert board.add(path, [0.5] * len(path)) == (needed <= before)
        kept |= {*prefixes(tuple(path))} if needed <= before else set()
    proposal = board.proposal()
    check_tree(proposal)
    spelled = [spelling(proposal, node) for node in range(len(proposal))]
    assert len(set(spelled)) == len(spelled) == room - board.room
    assert set(spelled) == kept
    assert proposal.confidence is None or len(proposal.confidence) == len(proposal)


def spelling(proposal, node):
    return () if node == ROOT else (*spelling(proposal, int(proposal.parents[node])), int(proposal.tokens[node]))


def test_a_pool_forgets_the_oldest_of_the_token_that_was_longest_without() -> None:
    pool = NgramPool(2, 3)
    for gram in ((1, 5), (2, 6), (1, 7)):
        pool.add(gram)
    pool.add((1, 5))  # becomes the latest, and is no fourth
    assert (pool.behind(1), pool.behind(2), len(pool)) == ([(5,), (7,)], [(6,)], 3)
    pool.add((3, 8))
    assert (pool.behind(1), pool.behind(2), pool.behind(3), len(pool)) == ([(5,), (7,)], [], [(8,)], 3)
    pool.add((3, 9))
    assert (pool.behind(1), pool.behind(3), len(pool)) == ([(5,)], [(9,), (8,)], 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=120), st.integers(1, 50))
def test_a_pool_keeps_its_bounds(grams, most) -> None:
    pool = NgramPool(2, most)
    for gram in grams:
        pool.add(gram)
        assert pool.behind(gram[0])[0] == gram[1:]
    known = [pool.behind(first) for first in range(4)]
    assert len(pool) == sum(map(len, known)) <= most
    assert max(map(len, known)) <= MOST_BEHIND


def test_a_copy_of_a_pool_goes_its_own_way() -> None:
    pool = NgramPool(3, 2)
    pool.read([1, 2, 3, 4])
    twin = pool.copy()
    twin.add((9, 9, 9))
    assert (pool.behind(1), pool.behind(9), twin.behind(1), len(twin)) == ([(2, 3)], [], [], 2)
    pool.add((2, 3, 7))
    assert twin.behind(2) == [(3, 4)]
    pool.read([1, 2])  # too short for an n-gram
    assert len(pool) == 2


def columns(*found, width=2, committed=1, room=9):
    """(asked for, and asked for after a pass that found these tokens) of a window of columns of two tokens."""
    window = Columns(width, 2)
    asked = window.place(Board(room), (), TAIL)
    window.learn(dict(zip(asked, found, strict=False)), committed)
    return asked, window.place(Board(room), (), TAIL)


def test_columns_begin_with_the_text_and_go_on_with_what_was_found() -> None:
    assert columns(21, 22) == ([(1, 2), (1, 3, 4)], [(2, 21), (2, 4, 22)])


def test_columns_follow_a_text_that_goes_on_faster() -> None:
    assert columns(21, 22, committed=2)[1] == [(4, 22), (4, 5, 1)]
    assert columns(21, 22, committed=9)[1] == [(5, 1), (5, 2, 3)]


def test_columns_that_were_not_read_move_with_the_text() -> None:
    assert columns()[1] == [(3, 4), (3, 5, 1)]
    assert columns(21)[1] == [(3, 4), (3, 5, 1)]


@pytest.mark.parametrize(("room", "expected"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (99, 2)])
def test_only_whole_columns_are_placed(room, expected) -> None:
    board = Board(room)
    assert len(Columns(2, 2).place(board, (), TAIL)) == expected
    assert room - board.room == 2 * expected == Columns(2, 2).num_rows(room)


def test_a_line_has_a_guess_for_a_place_or_a_token_of_the_text() -> None:
    line = Line(2)
    line.learn({(): 6, (6,): 7, (6, 7): 8, (6, 7, 8): 9}, 1)
    assert line.place(Board(9), (), TAIL) == [(7,), (7, 8)]
    assert line.place(Board(9), (5,), TAIL) == [(5,), (5, 8), (5, 8, 9)]
    assert line.place(Board(9), (5, 5), TAIL) == [(5,), (5, 5), (5, 5, 9), (5, 5, 9, 4)]
    assert line.place(Board(1), (), TAIL) == [(7,)]
    line.learn({}, 2)  # nothing was read: the text alone went on
    assert line.place(Board(9), (), TAIL) == [(9,), (9, 2)]


def test_what_was_scored() -> None:
    tree = Proposal(np.array([5, 6, 7, 8]), np.array([-1, 0, -1, 2]), (None,) * 4)
    scored = ScoredTree(Scores(np.zeros((5, 9)), proposal=tree), Proposal.chain([1]))
    assert [scored.path(path) for path in ([5, 6], [7, 8, 9], [6], [])] == [[0, 1], [2, 3], [], []]
    fewer = ScoredTree(Scores(np.zeros((3, 9)), proposal=None), tree)
    assert (fewer.tokens, fewer.path([7])) == ([5, 6], [])
