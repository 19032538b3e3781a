"""Places: one a text, however it was reached, and nothing left of those that nobody holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from truedraw.engine.logits_places import BLOCK_TOKENS, Places

LONG = 5 * BLOCK_TOKENS + 3


def walked(places, text, start=0):
    place = places.enter(text[:start])
    for token in text[start:]:
        place = places.step(place, token)
    return place


@given(st.lists(st.integers(0, 2**31 - 1), max_size=3 * BLOCK_TOKENS), st.data())
def test_entered_or_walked_it_is_the_same_place(text, data):
    places = Places()
    start = data.draw(st.integers(0, len(text)))
    place = walked(places, text, start)
    assert place == places.enter(text) == places.enter(tuple(np.array(text, np.int64)))
    assert hash(place) == hash(places.enter(text))


@given(st.sets(st.lists(st.integers(0, 1), max_size=2 * BLOCK_TOKENS).map(tuple), max_size=12))
def test_different_texts_have_different_places(texts):
    places = Places()
    assert len({places.enter(text) for text in texts}) == len(texts)


def test_texts_around_the_end_of_a_block():
    places = Places()
    text = list(range(2 * BLOCK_TOKENS + 2))
    found = [places.enter(text[:length]) for length in range(len(text) + 1)]
    assert len(set(found)) == len(found)
    assert [place.node.depth for place in found] == [length // BLOCK_TOKENS for length in range(len(text) + 1)]
    for length, place in enumerate(found[:-1]):
        assert places.step(place, text[length]) == found[length + 1]


def test_a_block_elsewhere_is_another_node():
    places = Places()
    block, other = [1] * BLOCK_TOKENS, [2] * BLOCK_TOKENS
    assert places.enter([*block, *other]) != places.enter([*other, *other])
    assert places.enter([*block, *other]) != places.enter([*other, *block])


def test_nothing_is_left_of_places_that_nobody_holds():
    places = Places()
    text = list(range(LONG))
    place = walked(places, text)
    assert len(places) == 5
    shallow = places.enter(text[: 2 * BLOCK_TOKENS])
    del place
    assert len(places) == 2
    del shallow
    assert len(places) == 0


def test_a_text_of_a_million_tokens_comes_and_goes():
    places = Places()
    place = places.enter(range(1_000_000))
    assert len(places) == place.node.depth == 1_000_000 // BLOCK_TOKENS
    del place
    assert len(places) == 0


def test_holders_are_counted_along_the_way():
    places = Places()
    text = list(range(LONG))
    deep, shallow = places.enter(text).node, places.enter(text[: 2 * BLOCK_TOKENS]).node
    side = places.enter([*text[: 3 * BLOCK_TOKENS], *([0] * BLOCK_TOKENS)]).node
    assert (deep.unheld(), shallow.unheld(), side.unheld()) == (5, 2, 4)
    assert deep.hold() == 5
    assert (deep.unheld(), shallow.unheld(), side.unheld()) == (0, 0, 1)
    assert [side.hold(), shallow.hold(), deep.hold()] == [1, 0, 0]
    assert [deep.release(), deep.release(), shallow.release()] == [0, 2, 0]
    assert (deep.unheld(), shallow.unheld(), side.unheld()) == (2, 0, 0)
    assert side.release() == 4


def test_the_empty_text_has_a_place_that_costs_no_node():
    places = Places()
    root = places.enter([]).node
    assert (root.unheld(), root.hold(), root.release(), len(places)) == (0, 0, 0, 0)
