"""What drafters take for texts that draft together."""

from __future__ import annotations

import pytest

from truedraw.control.experience import Record
from truedraw.control.pace import COMPANY, Pace
from truedraw.control.promise import Promise

ALONE, FURTHER_LEVEL = 0.5, 0.3  # milliseconds of a chain's first token, and of the others


def call(texts: int, tokens: int, more: float) -> float:
    """A text's part of what a head takes, of whose first text each further one takes such a part more."""
    return (ALONE + FURTHER_LEVEL * (tokens - 1)) * (1 + more * (texts - 1)) / texts


@pytest.mark.parametrize("more", [0.1, 0.3, 1.0])
def test_it_is_learnt_what_further_texts_take(more) -> None:
    pace = Pace()
    for turn in range(60):
        texts, tokens = 1 + turn % 4, 1 + turn % 3
        pace.add(call(texts, tokens, more), tokens, tokens, texts=texts)
    for texts in (1, 2, 4, 8):
        for tokens in (1, 2, 3):
            assert pace.part(texts) * pace.tree(tokens, tokens) == pytest.approx(call(texts, tokens, more), rel=0.15)


@pytest.mark.parametrize("texts", [1, 2, 6])
def test_where_it_was_seen_it_is_what_was_seen(texts) -> None:
    """Whatever is thought of other numbers of texts, of which nothing is known."""
    pace = Pace()
    for _ in range(30):
        pace.add(call(texts, 1, 1.0), 1, 1, texts=texts)
    assert pace.part(texts) * pace.tree(1, 1) == pytest.approx(call(texts, 1, 1.0), rel=0.02)
    assert Pace().part(texts) == pytest.approx((1 + COMPANY * (texts - 1)) / texts)


def test_a_text_is_promised_its_part() -> None:
    record = Record()
    for _ in range(30):
        record.pace.add(ALONE, 1, 1)
        record.acceptance.add(2, 1)
    for worths in (None, [(0.6, 1), (0.4, 2)]):
        alone, three = (Promise.of(record, worths, texts) for texts in (1, 3))
        assert three.gains == alone.gains
        assert [*three.seconds] == pytest.approx([record.pace.part(3) * each for each in alone.seconds])
        assert three.seconds[0] < 0.6 * alone.seconds[0]
