"""Prompt lookup against its definition: scan the text for the longest suffix, the most recent place wins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truedraw.draft.ngram import NgramDrafter, NgramState
from truedraw.errors import BadParameter


def by_scanning(text: list[int], shortest: int, longest: int, budget: int) -> list[int]:
    for n in range(longest, shortest - 1, -1):
        for start in range(len(text) - n - 1, -1, -1):
            if n <= len(text) and text[start : start + n] == text[len(text) - n :]:
                found = text[start + n :]
                return [found[i % len(found)] for i in range(budget)]
    return []


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 3), st.integers(0, 3), st.integers(0, 7), st.data())
def test_the_incremental_index_finds_what_a_scan_finds(text, shortest, extra, budget, data) -> None:
    state = NgramState(shortest, shortest + extra)
    cut = data.draw(st.integers(0, len(text)))
    state.commit(text[:cut])
    state.commit(text[cut:])
    assert list(state.draft(budget).tokens) == by_scanning(text, shortest, shortest + extra, budget)


def test_proposals_are_certain_chains_within_their_budgets() -> None:
    drafter = NgramDrafter(1, 3)
    states = [drafter.open([5, 6, 7, 5, 6], None), drafter.open([1, 2, 3], None), drafter.open([4, 4], None)]
    first, second, third = drafter.propose(states, [4, 4, 0], [None] * 3)
    assert first.tokens.tolist() == [7, 5, 6, 7]
    assert first.laws == (None,) * 4
    assert np.array_equal(first.parents, [-1, 0, 1, 2])
    assert len(second) == len(third) == 0


@pytest.mark.parametrize("bounds", [(0, 3), (4, 2), (-1, -1)])
def test_bad_bounds_are_refused(bounds) -> None:
    with pytest.raises(BadParameter, match="prompt_lookup_min"):
        NgramDrafter(*bounds)


def test_confidence_grows_with_what_agrees() -> None:
    drafter = NgramDrafter(1, 2)
    texts = [1, 2, 9, 2], [1, 2, 3, 9, 1, 2, 3], [*range(50), 99, *range(50)]
    found = drafter.propose([drafter.open(text, None) for text in texts], [3] * 3, [None] * 3)
    for proposal, agreeing in zip(found, (1, 3, 32), strict=True):
        m = agreeing + np.arange(3)
        assert proposal.confidence == pytest.approx(m / (m + 4))
