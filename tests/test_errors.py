"""Errors go from one process to another, as those of a pool of workers have to, and say what may have been meant."""

from __future__ import annotations

import pickle

import pytest

import truedraw
from truedraw import errors


def kinds(base=errors.TruedrawError):
    return {base, *(each for kind in base.__subclasses__() for each in kinds(kind))}


@pytest.mark.parametrize("kind", sorted(kinds(), key=lambda kind: kind.__name__))
def test_what_was_pickled_says_the_same(kind) -> None:
    error = kind("n", "give 1 or more") if issubclass(kind, errors.BadParameter) else kind("give 1 or more")
    error.add_note("in the third request")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def test_an_error_that_fails_to_say_anything() -> None:
    noted = ValueError("lost the index")
    noted.add_note("in a part of it")
    assert errors.in_words(noted) == "ValueError: lost the index (in a part of it)"
    assert errors.in_words(Mute()) == "Mute, which does not say why"
    noted.__notes__ = 3
    assert errors.in_words(noted) == "ValueError, which does not say why"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"temprature": 1}, "temperature"),
        ({"speculative": "ngrm"}, "ngram"),
        ({"speculative": {"metod": "ngram"}}, "method"),
        ({"speculative": {"method": "ngram", "prompt_lookup_mx": 2}}, "prompt_lookup_max"),
    ],
)
def test_who_mistypes_a_name_is_told_what_was_meant(given, meant) -> None:
    with truedraw.load("tabular") as model, pytest.raises(truedraw.TruedrawError, match=rf"\(did you mean {meant}\?\)"):
        model.generate("the cat", **given)


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert errors.did_you_mean("x", ["temperature", "ngram"]) == ""
