"""A row has one law, bit for bit, wherever its numbers lie in memory.

Compiled loops may add up in vectors or one by one, depending on how far apart two short arrays are.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from truedraw.sampling.kernels.softmax import excess_into, keep, log_normaliser, softmax_here, softmax_into

SIZES = (2, 3, 4, 6, 7, 8, 11, 16, 24, 33, 100, 1000)
GAPS = range(0, 400, 8)  # bytes
MOST_ARRAYS = 3


def laid_out(arrays: list[np.ndarray]):
    """Copies of the arrays in one block of memory, in every order, at many distances."""
    room = sum(each.nbytes for each in arrays) + MOST_ARRAYS * (GAPS.stop + 16)
    for order in permutations(range(len(arrays))):
        for gap in GAPS:
            memory, here, copies = np.zeros(room // 8 + 8), 0, {}
            for index in order:
                each = arrays[index]
                copies[index] = memory.view(np.uint8)[here : here + each.nbytes].view(each.dtype)
                copies[index][:] = each
                here += -(-each.nbytes // 8) * 8 + gap
            yield [copies[index] for index in range(len(arrays))]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_a_softmax_and_its_normaliser(size: int, kind) -> None:
    row = np.random.default_rng(size).normal(0, 3, size).astype(kind)
    laws, logs = set(), set()
    for logits, out in laid_out([row, np.zeros(size)]):
        softmax_into(logits, 0.7, out)
        laws.add(out.tobytes())
        logs.add(log_normaliser(logits))
    assert (len(laws), len(logs)) == (1, 1)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_computed_in_place(size: int) -> None:
    rng = np.random.default_rng(size)
    p, kept, found = rng.dirichlet(np.ones(size)), rng.random(size) < 0.7, set()
    kept[0] = True
    for law, mask in laid_out([p, kept]):
        mass = keep(law, mask)
        found.add((mass, law.tobytes()))
        softmax_here(law, 1.0)
        found.add((0.0, law.tobytes()))
    assert len(found) == 2


@pytest.mark.parametrize("size", SIZES)
def test_what_a_rejected_draft_leaves(size: int) -> None:
    p, q = np.random.default_rng(size).dirichlet(np.ones(size), 2)
    found = set()
    for law, drafts, left in laid_out([p, q, np.zeros(size)]):
        total = excess_into(0.9, law, drafts, left)
        found.add((total, left.tobytes()))
    assert len(found) == 1
