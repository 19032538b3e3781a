"""How the matrices of a head are rounded: what is large in one place of a row shall not wipe out the rest of it."""

from __future__ import annotations

import numpy as np

from draft.head.random_heads import dense
from truedraw.draft.head.file import codes_of
from truedraw.engine.constants.rounding import GROUP, quantise


def test_small_numbers_beside_large_ones_are_kept() -> None:
    """As where a head begins: the identity over one stream, and little else over the others."""
    chance = np.random.default_rng(0)
    streams = chance.normal(size=(3 * GROUP, 6 * GROUP)) * 1e-3
    streams[:, -3 * GROUP :] += np.eye(3 * GROUP)
    others = np.s_[:, : 3 * GROUP]
    spread = np.std(streams[others])
    assert np.abs(dense(codes_of(streams)) - streams)[others].max() < 0.05 * spread
    assert np.abs(dense(quantise(streams.astype(np.float32))) - streams)[others].max() > spread


def test_rows_that_are_no_whole_groups_have_one_scale() -> None:
    found = codes_of(np.random.default_rng(0).normal(size=(5, GROUP + 3)))
    assert found.scales.shape == (5, 1)
    assert codes_of(np.zeros((5, 2 * GROUP))).scales.shape == (5, 2)
