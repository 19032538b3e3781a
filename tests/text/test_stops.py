"""Stop strings: cut before, hold back no more than needed, whatever the pieces."""

import gc
import sys
from itertools import pairwise
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truedraw.errors import BadParameter
from truedraw.text import StopStrings

LETTERS = st.text("ab", max_size=30)
STOPS = st.lists(st.text("ab", min_size=1, max_size=4), max_size=3)


def run(stops, pieces):
    stopper = StopStrings(stops)
    shown = [stopper.push(piece) for piece in pieces]
    return [*shown, stopper.flush()], stopper.stopped_by


def expected(stops, text):
    """By definition: the stop that is complete first, the longest of those that end together."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            stop = max(ending, key=len)
            return text[: end - len(stop)], stop
    return text, None


@given(stops=STOPS, text=LETTERS, cuts=st.sets(st.integers(0, 30)))
def test_the_outcome_does_not_depend_on_the_pieces(stops, text, cuts):
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    shown, stopped_by = run(stops, pieces)
    assert ("".join(shown), stopped_by) == expected(stops, text)


@given(stops=STOPS, text=LETTERS)
def test_no_more_is_held_back_than_could_become_a_stop(stops, text):
    stopper, shown = StopStrings(stops), ""
    for i, letter in enumerate(text):
        shown += stopper.push(letter)
        if stopper.stopped_by is not None:
            break
        held = text[len(shown) : i + 1]
        assert not held or any(stop.startswith(held) for stop in stops)


def test_a_stop_across_tokens():
    assert run(["\n\nUser:"], ["Hi", ".\n", "\nUs", "er", ": x", "more"]) == (
        ["Hi", ".", "", "", "", "", ""],
        "\n\nUser:",
    )


def test_what_only_began_like_a_stop_is_shown():
    assert run(["END"], ["E", "N", "x"]) == (["", "", "ENx", ""], None)
    assert run(["END"], ["abE"]) == (["ab", "E"], None)


def test_behind_a_flush_nothing_is_left_of_what_began() -> None:
    stopper = StopStrings(["ab"])
    assert [stopper.push("xa"), stopper.flush(), stopper.push("b"), stopper.flush()] == ["x", "a", "b", ""]
    assert stopper.stopped_by is None


def test_no_stops_hold_nothing_back():
    assert run([], ["a", "b"]) == (["a", "b", ""], None)


def test_one_string_is_one_stop():
    assert run("ab", ["xaby"]) == (["x", ""], "ab")


@pytest.mark.parametrize("stops", [[""], ["a", ""], "", [3], [None]])
def test_empty_and_odd_stops_are_refused(stops):
    with pytest.raises(BadParameter, match=r"^stop: ") as caught:
        StopStrings(stops)
    assert caught.value.parameter == "stop"


def calls_of(stops, text):
    """How much is called for a text, once the stops are known."""
    stopper, calls = StopStrings(stops), 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        for letter in text:
            stopper.push(letter)
    finally:
        sys.setprofile(None)
    return calls


def test_a_text_costs_the_same_however_many_stops_there_are():
    few, many = ([f"{i:05d}!" for i in range(count)] for count in (10, 5000))
    assert calls_of(many, "once 00001 upon 0000" * 5) < 2 * calls_of(few, "once 00001 upon 0000" * 5)


def test_a_long_stop_that_a_text_keeps_beginning_costs_no_more_than_the_text():
    long = "a" * 2000 + "b"
    assert calls_of([long], "a" * 4000) < 10 * 4000


def test_stops_within_stops():
    assert run(["abcd", "bc"], ["a", "b", "c", "d"]) == (["", "", "a", "", ""], "bc")
    assert run(["xabcx", "abc", "c"], ["xab", "c"]) == (["", "x", ""], "abc")
    assert run(["ab\U0001f600"], ["a", "b", "\U0001f600"]) == (["", "", "", ""], "ab\U0001f600")


def test_samples_with_the_same_stops_share_what_finds_them_and_nobody_keeps_it():
    one, other = StopStrings(("ab", "c")), StopStrings(("ab", "c"))
    assert one._automaton is other._automaton
    automaton = ref(one._automaton)
    del one, other
    gc.collect()
    assert automaton() is None
