"""Texts with their prompts: which row stands where, what a step reads, what is refused."""

import json

import numpy as np
import pytest

from distill.conftest import SHAPE
from distill.independent.conftest import write_texts
from truedraw.distill.independent import whole_texts
from truedraw.distill.independent.whole_texts import WholeTexts
from truedraw.distill.rows import Rows
from truedraw.errors import BadFile


def lines_of(folder):
    return [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]


def test_every_row_stands_behind_its_token_and_all_before(texts, tmp_path):
    lines = lines_of(tmp_path / "work")
    batch = texts.batch([3, 0, 17])
    assert batch.tokens.shape == (3, max(len(lines[n]["prompt"]) + len(lines[n]["answer"]) - 1 for n in (3, 0, 17)))
    np.testing.assert_array_equal(batch.tokens.reshape(-1)[batch.at], texts.data.tokens[batch.rows])
    for place, number in enumerate((3, 0, 17)):
        mine = batch.at[(batch.at >= place * batch.tokens.shape[1]) & (batch.at < (place + 1) * batch.tokens.shape[1])]
        positions = mine - place * batch.tokens.shape[1]
        prompt, answer = lines[number]["prompt"], lines[number]["answer"]
        assert positions.tolist() == list(range(len(prompt) - 1, len(prompt) + len(answer) - 1))
        assert batch.tokens[place, : positions[-1] + 1].tolist() == [*prompt, *answer[:-1]]


def test_steps_read_every_text_once_a_turn_and_no_held_out_one(texts):
    texts.at_once = 8
    read = [np.unique(texts.data.texts[texts.step(5, number).rows]) for number in range(51)]  # 8 turns of 51 texts
    seen = np.bincount(np.concatenate(read), minlength=53)
    assert seen[texts.held].tolist() == [0, 0]
    assert seen[texts.learnt].min() >= 7  # a step that ends one turn and begins another may have a text twice
    assert texts.held.tolist() == [24, 49]


def test_a_step_is_known_by_its_number_alone(texts):
    one, other = texts.step(1, 40), texts.step(1, 40)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert texts.step(2, 40).rows.tolist() != one.rows.tolist()


def test_the_beginning_of_a_long_text_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_texts, "MOST_TOKENS", 10)
    folder = write_texts(tmp_path, [(30, 4), (2, 25), (1, 5)])
    texts = WholeTexts(folder, Rows(folder, SHAPE))
    lines = lines_of(folder)
    for number, count in ((0, 4), (1, 10), (2, 5)):
        batch = texts.batch([number])
        whole = [*lines[number]["prompt"], *lines[number]["answer"][:-1]]
        assert batch.tokens[0].tolist() == whole[-10:]
        np.testing.assert_array_equal(batch.tokens[0][batch.at], texts.data.tokens[batch.rows])
        assert len(batch.rows) == count
        assert (texts.data.texts[batch.rows] == number).all()


@pytest.mark.parametrize("break_it", ["another token", "too few", "two in another order"])
def test_texts_of_other_features_are_refused(tmp_path, break_it):
    folder = write_texts(tmp_path, [(2, 9), (3, 9), (1, 9)])
    lines = lines_of(folder)
    if break_it == "another token":
        lines[1]["answer"][4] += 1
    elif break_it == "too few":
        lines.pop()
    else:
        lines[0], lines[1] = lines[1], lines[0]
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(BadFile, match="are not those that its features are of; give --overwrite"):
        WholeTexts(folder, Rows(folder, SHAPE))


def test_texts_that_came_after_the_features_are_left_out(tmp_path):
    folder = write_texts(tmp_path, [(2, 9), (3, 9), (1, 9)])
    with (folder / "texts.jsonl").open("a") as file:
        file.write(
            json.dumps({"key": [1, 0], "temperature": 1.0, "prompt": [1], "answer": [2] * 9, "seconds": 1}) + "\n"
        )
    assert len(WholeTexts(folder, Rows(folder, SHAPE)).learnt) == 2
