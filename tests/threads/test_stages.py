"""How threads share what lies in a row."""

from __future__ import annotations

import numba
import pytest

from truedraw.threads.stages import AT_ONCE, num_stretches, stretch


@numba.njit
def shared_out(tiles, threads):
    return [stretch(piece, tiles, threads) for piece in range(num_stretches(tiles, threads))]


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8, 64])
def test_every_tile_is_in_one_stretch(threads: int) -> None:
    for tiles in (*range(1, 100), 768, 2376):
        found = shared_out(tiles, threads)
        assert [tile for begin, end in found for tile in range(begin, end)] == list(range(tiles))
        assert all(begin < end for begin, end in found[threads:])


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
def test_threads_begin_with_long_stretches_and_end_with_short_ones(threads: int) -> None:
    for tiles in range(8 * threads, 40 * threads):
        found = [end - begin for begin, end in shared_out(tiles, threads)]
        assert found[:threads] == [found[0]] * threads
        assert abs(found[0] - AT_ONCE * tiles / threads) <= 1
        assert max(found[threads:], default=0) <= found[0] / 2
