"""Texts with their prompts as the rows of a store, and where drafts begin in them."""

import json

import numpy as np
import pytest

from distill.eagle.conftest import SHAPE, write_whole
from truedraw.distill.eagle import whole_rows
from truedraw.distill.eagle.whole_rows import WholeRows
from truedraw.distill.rows import Rows
from truedraw.errors import BadFile


def by_hand(texts, numbers):
    """(row in the store, whether a draft begins there) of each row of these texts, from the journal's own lines."""
    for number in numbers:
        store = np.flatnonzero(texts.data.texts == number)
        prompt = texts.prompts[number]
        for place, row in enumerate(store):
            yield row, place, prompt - 1 <= place < len(store) - 1


def with_prompts(texts, lengths):
    texts.prompts = [prompt for prompt, _ in lengths]
    return texts


def test_a_batch_has_all_rows_and_begins_drafts_behind_the_answer_alone(tmp_path):
    lengths = [(3, 9), (1, 12), (6, 7), (2, 1), *[(2, 8)] * 30]
    texts = with_prompts(write_whole(tmp_path, lengths), lengths)
    batch = texts.batch([2, 0, 1])
    wanted = list(by_hand(texts, [2, 0, 1]))
    assert batch.rows.tolist() == [row for row, _, _ in wanted]
    assert batch.places.tolist() == [place for _, place, _ in wanted]
    assert batch.bases.tolist() == [number for number, (_, _, begins) in enumerate(wanted) if begins]
    assert batch.ends.tolist() == [12, 12 + 11, 12 + 11 + 12]
    assert batch.end_of(np.array([0, 11, 12, 22, 23])).tolist() == [12, 12, 23, 23, 35]
    assert texts.tokens == sum(answer for _, answer in lengths)
    assert 3 not in texts.learnt, "its answer has no room for a chain"
    assert not set(texts.learnt) & set(texts.held)
    held, learnt = (texts.answer_rows(which) for which in (True, False))
    assert len(held) + len(learnt) == texts.tokens
    assert texts.data.held[held].all()
    assert not texts.data.held[learnt].any()
    assert texts.held_tokens == len(held)


def test_every_text_comes_once_a_turn(texts):
    count, seen = len(texts.learnt), []
    texts.at_once = 4
    for number in range(-(-count // 4)):
        seen += np.unique(texts.data.texts[texts.step(5, number).rows]).tolist()
    assert set(seen) == set(texts.learnt.tolist())
    assert texts.step(5, 3).rows.tolist() == texts.step(5, 3).rows.tolist() != texts.step(6, 3).rows.tolist()


def test_long_texts_are_cut_at_their_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_rows, "MOST_TOKENS", 10)
    texts = write_whole(tmp_path, [(6, 20), (30, 8), *[(2, 8)] * 30])
    for number, bases in ((0, list(range(9))), (1, list(range(2, 9)))):
        batch, rows = texts.batch([number]), np.flatnonzero(texts.data.texts == number)
        assert batch.rows.tolist() == rows[-10:].tolist()
        assert batch.bases.tolist() == bases
        assert batch.places.tolist() == list(range(10))


def test_texts_of_another_run_are_refused(tmp_path):
    write_whole(tmp_path, [(3, 9)] * 30)
    data, path = Rows(tmp_path, SHAPE), tmp_path / "texts.jsonl"
    lines = path.read_text().splitlines()
    other = json.loads(lines[4])
    other["prompt"][0] = (other["prompt"][0] + 1) % 12
    path.write_text("\n".join([*lines[:4], json.dumps(other), *lines[5:]]) + "\n")
    with pytest.raises(BadFile, match="are not those that its features are of"):
        WholeRows(tmp_path, data)
    path.write_text("\n".join(lines[:7]) + "\n")
    with pytest.raises(BadFile, match="are not those that its features are of"):
        WholeRows(tmp_path, data)


def test_too_little_text_is_said(tmp_path):
    with pytest.raises(BadFile, match=r"too little text to train on: of 3 texts 0 can be .* answers of 5 tokens"):
        write_whole(tmp_path, [(20, 3)] * 3)
