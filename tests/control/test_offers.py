"""Rows go to the drafts that are worth most, whose text they are and where in it they stand notwithstanding."""

from __future__ import annotations

import pytest

from truedraw.control.offers import LEAST, Offer, Pile

OFFERS = [Offer("ngram", [0.5, 0.2], True), None, Offer("head", [0.9, 0.8, 0.1], False), Offer("ngram", [0.6], True)]
FALLING = [0.9, 0.8, 0.6, 0.5, 0.2, 0.1]


@pytest.mark.parametrize("rows", range(8))
def test_the_first_rows_are_the_best(rows: int) -> None:
    pile = Pile(OFFERS)
    assert pile.best(rows) == pytest.approx(sum(FALLING[:rows]))
    assert pile.best(rows) == pytest.approx(sum(pile.worths(rows)))


def test_each_text_gets_its_own_of_them() -> None:
    first, nothing, later, third = Pile(OFFERS).taken(4)
    assert (first.source, first.nodes.tolist()) == ("ngram", [0])
    assert (nothing.source, nothing.nodes, nothing.tokens) == ("", None, 0)
    assert (later.source, later.nodes, later.tokens) == ("head", None, 2)
    assert (third.source, third.nodes.tolist()) == ("ngram", [0])


def test_nodes_that_are_worth_next_to_nothing_are_left_out() -> None:
    assert len(Pile([Offer("ngram", [0.5, LEAST, LEAST / 2], True)])) == 2
