"""Errors go from one process to another, as those of a pool of workers have to."""

from __future__ import annotations

import pickle

import pytest

from truedraw import errors


def kinds(base=errors.TruedrawError):
    return {base, *(each for kind in base.__subclasses__() for each in kinds(kind))}


@pytest.mark.parametrize("kind", sorted(kinds(), key=lambda kind: kind.__name__))
def test_what_was_pickled_says_the_same(kind) -> None:
    error = kind("n", "give 1 or more") if issubclass(kind, errors.BadParameter) else kind("give 1 or more")
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
