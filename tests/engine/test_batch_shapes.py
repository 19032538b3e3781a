"""Shapes of one pass after another: what changes costs time."""

from types import SimpleNamespace

import pytest

from truedraw.engine.openvino.batch import Batch
from truedraw.engine.openvino.parts import Lane, Part

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
