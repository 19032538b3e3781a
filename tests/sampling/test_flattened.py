"""Arrays as one of one axis, in machine code: the same numbers in the same order, and nobody's copy."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from truedraw.threads.borrowing import alive, flattened


@njit
def doubled(array):
    """In place, through the flat one; its length and sum."""
    line, total = flattened(array), 0.0
    for k in range(len(line)):
        total += line[k]
        line[k] *= 2
    return line.shape[0], total, line.size


@njit
def last_of_own(n):
    """Of an array that nobody else holds."""
    own = np.arange(n * n).reshape(n, n)
    line = flattened(own)
    found = line[-1]
    alive(own)
    return found


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4, 5), (0, 7), (1, 1)])
def test_it_is_the_array_itself(kind, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    before = array.copy()
    assert doubled(array) == (array.size, before.sum(), array.size)
    assert (array == 2 * before).all()


def test_a_part_of_whole_rows_is_flat():
    array = np.arange(12.0).reshape(4, 3)
    assert doubled(array[1:3])[:2] == (6, 33.0)
    assert array.ravel().tolist() == [0, 1, 2, 6, 8, 10, 12, 14, 16, 9, 10, 11]


def test_one_that_is_only_read():
    array = np.ones((2, 2))
    array.flags.writeable = False
    assert njit(lambda each: flattened(each).sum())(array) == 4
    with pytest.raises(TypingError, match="readonly"):
        doubled(array)


def test_what_is_not_contiguous_is_refused():
    for array in (np.ones((4, 4))[:, :2], np.ones((3, 2)).T):
        with pytest.raises(TypingError, match="is not contiguous; no other array is flat"):
            doubled(array)


def test_an_array_that_was_made_there_lives_long_enough():
    assert last_of_own(40) == 1599
