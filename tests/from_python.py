"""Compiled functions that have no way in from Python, called from there."""

import numba


def from_python(function):
    """The same function with such a way."""

    @numba.njit
    def call(*arguments):
        return function(*arguments)

    return call
