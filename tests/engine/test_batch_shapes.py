"""Shapes of one pass after another: what changes costs time."""

from types import SimpleNamespace

import pytest

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.fixed import shape_of
from truedraw.engine.openvino.row_counts import rounded
from truedraw.engine.paged.pages import SCRATCH
from truedraw.engine.paged.parts import Lane, Part

PAGE = 32


def drafting(tokens):
    """A text of ten tokens, all but the last in the cache, and a chain of drafts behind it."""
    rows = range(1 + tokens) if tokens else (0, 0)
    lane = Lane(rows, 9, [1])
    return Part(SimpleNamespace(told=True), [5] * (1 + tokens), range(9, 10 + tokens), [lane], 0, 10, [5] * tokens)


def shapes(drafts):
    batch = Batch([drafting(tokens) for tokens in drafts], 24, PAGE)
    return {name: feed.shape for name, feed in batch.feeds().items() if name not in ("logit_rows", "block_indices")}


@pytest.mark.parametrize(
    "drafts", [[1] * 8 + [0] * 8, [2, 0] * 4 + [0] * 8, [4, 4] + [0] * 14, [1, 3, 3, 1] + [0] * 12]
)
def test_attention_has_as_many_rows_whoever_drafts_how_much(drafts):
    """Lone rows count twice there, drafted ones once: 32 to 38 rows for the same 24."""
    found = shapes(drafts)
    assert found["input_ids"] == found["position_ids"] == (24,)
    assert found["attention_rows"] in ((32,), (40,))
    assert found["attention_rows"][0] - (16 * 2 + sum(drafts) - sum(1 for each in drafts if each)) < 8


@pytest.mark.parametrize("lanes", [1, 2, 7])
def test_rows_apart_are_lanes_of_their_own_and_as_many_as_threads(lanes):
    """Each in the slot that it would have had, a lone row once; those that fill up write nowhere."""
    batch = Batch([drafting(0), drafting(2)], 4, PAGE, lanes=lanes)
    feeds = batch.feeds()
    wanted = max(4, rounded(lanes))
    assert feeds["attention_rows"].tolist() == [0, 1, 2, 3] + [0] * (wanted - 4)
    assert feeds["past_lens"].tolist() == [9, 9, 10, 11] + [0] * (wanted - 4)
    assert feeds["subsequence_begins"].tolist() == list(range(wanted + 1))
    assert feeds["block_indices"].tolist() == [1] * 4 + [SCRATCH] * (wanted - 4)
    assert feeds["back_rows"].tolist() == [0, 1, 2, 3]
    assert shape_of([drafting(0), drafting(2)], lanes) == ((4, 4) if lanes < 5 else (8, 8))
    assert shape_of([drafting(0)] * 32, lanes) == (32, 32)
    assert shape_of([drafting(0)] * 32) == (32, 64)
