"""The order of suffixes against sorting them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_files import index_of
from truedraw.draft.index.layout import DEPTH, END
from truedraw.draft.index.segments import FEWEST_SORTED, mapped, suffixes
from truedraw.draft.index.sorting import sorted_places


def keys(tokens, places):
    """What each suffix is sorted by."""
    texts = [tokens[place : place + DEPTH].tolist() for place in places]
    return [text[: text.index(END) + 1] if END in text else text for text in texts]


def require_sorted(tokens, places) -> None:
    assert sorted(places.tolist()) == [i for i, token in enumerate(tokens) if token != END]
    found = keys(np.asarray(tokens), places)
    assert found == sorted(found)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(END, 2), max_size=60))
def test_all_suffixes_in_order(given) -> None:
    tokens = np.array([*given, END], np.int32)
    require_sorted(tokens, sorted_places(tokens, len(tokens)))


def test_of_a_part_only_its_own_suffixes_and_they_look_beyond_it() -> None:
    tokens = np.array([1, 2, 1, 2, 0, END], np.int32)
    assert sorted_places(tokens, 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("period", [1, 7, 5000], ids=["one token", "a period", "no repetition"])
def test_runs_are_merged_in_order(tmp_path, period) -> None:
    rng, path = np.random.default_rng(8), tmp_path / "x.tdx"
    text = np.resize(rng.integers(0, 3, period), 5000).tolist()
    (segment,) = index_of(path, [text, text[:700], [2**31 - 2, 0]], memory_bytes=1).segments
    assert segment.num_tokens > 5 * FEWEST_SORTED
    with path.open("rb") as file:
        require_sorted(mapped(file, segment.start, segment.num_tokens), suffixes(file, segment))
