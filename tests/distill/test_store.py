"""Features on disk: what is read is what was written, whatever happened in between."""

import errno
import json
from types import SimpleNamespace

import numpy as np
import pytest

from distill.conftest import SETTINGS, SHAPE, VOCAB, text_of
from truedraw.distill import store as stores
from truedraw.distill.rows import EVERY, Rows
from truedraw.distill.store import FEATURES, INDEX, ROW, ROWS, Store, check_space
from truedraw.errors import BadFile, BadParameter


def test_rows_are_read_as_they_were_written(fill):
    data = Rows(fill(3, 7), SHAPE)
    assert (data.count, data.num_texts) == (21, 3)
    features, laws, _ = text_of(1, 7)
    np.testing.assert_array_equal(data.features[7:14], features.astype(np.float16))
    np.testing.assert_array_equal(data.tokens[7:14], laws["token"])
    np.testing.assert_array_equal(data.tops[7:14], laws["top"])
    assert data.texts.tolist() == [0] * 7 + [1] * 7 + [2] * 7
    assert data.temperature[[0, 7, 14]].tolist() == [1.0, 0.7, 1.0]


def test_what_a_kill_left_behind_the_last_whole_text_is_cut_off(fill):
    folder = fill(2, 5)
    whole = (folder / FEATURES).read_bytes(), (folder / ROWS).read_bytes()
    with (folder / FEATURES).open("ab") as file:
        file.write(b"half a text")
    with (folder / ROWS).open("ab") as file:
        file.write(b"x")
    with (folder / INDEX).open("ab") as file:
        file.write(b'{"rows": 9')
    fill(1, 5, start=2)
    data = Rows(folder, SHAPE)
    assert data.count == 15
    assert (folder / FEATURES).read_bytes()[: len(whole[0])] == whole[0]
    np.testing.assert_array_equal(data.features[10:], text_of(2, 5)[0].astype(np.float16))


def test_a_text_counts_once_its_rows_are_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "SYNC_SECONDS", 1e9)
    store = Store(tmp_path, SHAPE, SETTINGS)
    store.append(*text_of(0, 5), seconds=1.0)
    assert (tmp_path / INDEX).read_bytes() == b""
    store.sync()
    assert json.loads((tmp_path / INDEX).read_text()) == {"rows": 5, "temperature": 1.0, "seconds": 1.0}
    store.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_line_that_was_not_written_leaves_no_line_behind_it(tmp_path, monkeypatch, error):
    """Later lines would be of the rows of the text before."""
    monkeypatch.setattr(stores, "SYNC_SECONDS", 1e9)
    append, calls = stores.Journal.append, []

    def broken(journal, record):
        calls.append(record)
        if len(calls) == 2:
            raise error
        append(journal, record)

    monkeypatch.setattr(stores.Journal, "append", broken)
    store = Store(tmp_path, SHAPE, SETTINGS)
    for number in range(4):
        store.append(*text_of(number, 5 + number), seconds=1.0)
    with pytest.raises(type(error)):
        store.sync()
    store.close()
    with Store(tmp_path, SHAPE, SETTINGS) as store:
        assert (store.texts, store.rows) == (1, 5)


def test_files_that_are_shorter_than_their_index_are_refused(fill):
    folder = fill(2, 5)
    (folder / ROWS).write_bytes((folder / ROWS).read_bytes()[:-3])
    with pytest.raises(BadFile, match=r"rows\.bin is cut.*--overwrite"):
        Store(folder, SHAPE, SETTINGS)
    with pytest.raises(BadFile, match=r"rows\.bin cannot be read"):
        Rows(folder, SHAPE)


def test_other_settings_are_refused_and_leave_all_as_it_was(fill):
    folder = fill(2, 5)
    with pytest.raises(BadFile, match="hidden_size was not given, is 8"):
        Store(folder, SHAPE, {**SETTINGS, "hidden_size": 8})
    assert Rows(folder, SHAPE).count == 10


def test_overwriting_begins_anew(fill):
    folder = fill(2, 5)
    with Store(folder, SHAPE, {"model": "another"}, overwrite=True) as store:
        assert (store.texts, store.rows) == (0, 0)
    assert (folder / FEATURES).stat().st_size == 0


def test_huge_hidden_states_stay_finite(tmp_path):
    features, laws, temperature = text_of(0, 5)
    features[0, 0, 0] = 1e9
    with Store(tmp_path, SHAPE, SETTINGS) as store:
        store.append(features, laws, temperature, 1.0)
    assert Rows(tmp_path, SHAPE).features[0, 0, 0] == np.finfo(np.float16).max


def test_a_disk_without_room_is_found_before_the_work(tmp_path):
    check_space(tmp_path, 1000)
    with pytest.raises(BadParameter, match=r"--feature-bytes: features would take 1,125,899,907 MB more"):
        check_space(tmp_path, 1 << 50)
    with pytest.raises(
        BadParameter, match=r" MB to spare beside the 268 MB that are kept free; give less, or --work on"
    ):
        check_space(tmp_path, 1 << 50)


def test_features_that_are_all_there_need_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "disk_usage", lambda _: SimpleNamespace(free=100))
    check_space(tmp_path, 0)
    with pytest.raises(BadParameter, match=r"would take 1 MB more, and the disk of .* has 0 MB to spare beside"):
        check_space(tmp_path, 1)


def test_a_disk_that_fills_up_loses_nothing(fill, monkeypatch):
    folder = fill(2, 5)
    store = Store(folder, SHAPE, SETTINGS)

    raw = [file.fileno() for file in store._files]

    def full(number):
        if number in raw:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stores.os, "fsync", full)
    monkeypatch.setattr(stores, "SYNC_SECONDS", -1.0)
    with pytest.raises(BadFile, match="No space left on device; make room and run the same command again"):
        store.append(*text_of(2, 5), seconds=3.0)
    with pytest.raises(BadFile, match="No space left"):
        store.close()
    monkeypatch.undo()
    with Store(folder, SHAPE, SETTINGS) as again:
        assert (again.texts, again.rows, again.seconds) == (2, 10, 2.0)


@pytest.mark.parametrize("line", [{}, {"rows": 0, "temperature": 1.0, "seconds": 1}, {"rows": "5"}])
def test_a_foreign_line_is_refused(fill, line):
    folder = fill(1, 5)
    with (folder / INDEX).open("a") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(BadFile, match="holds a line that is not ours"):
        Store(folder, SHAPE, SETTINGS)


def test_the_same_texts_are_held_out_when_more_have_come(fill):
    before = Rows(fill(EVERY + 3, 6), SHAPE)
    held = set(before.texts[before.held].tolist())
    after = Rows(fill(2 * EVERY, 6, start=EVERY + 3), SHAPE)
    assert held == {EVERY - 1}
    assert set(after.texts[after.held].tolist()) == {EVERY - 1, 2 * EVERY - 1, 3 * EVERY - 1}
    assert not set(after.texts[~after.held].tolist()) & held


def test_held_out_rows_have_a_name_of_their_own(fill):
    before = Rows(fill(EVERY, 6), SHAPE).held_name
    assert Rows(fill(EVERY - 1, 6, start=EVERY), SHAPE).held_name == before
    assert Rows(fill(1, 6, start=2 * EVERY - 1), SHAPE).held_name != before


@pytest.mark.parametrize("count", [2, 3, EVERY, EVERY + 7])
def test_all_answers_to_a_prompt_are_held_out_or_none(fill, count):
    numbers = [number % count for number in range(3 * count)]
    data = Rows(fill(len(numbers), 3), SHAPE, prompts=[*numbers, 0])  # one text has no features yet
    held = [set(data.held[data.texts == text].tolist()) for text in range(len(numbers))]
    assert held == [{number == min(count, EVERY) - 1} for number in numbers]


def test_of_one_prompt_some_answers_are_held_out(fill):
    held = Rows(fill(4, 6), SHAPE, prompts=[0] * 4).held
    assert held.tolist() == [False] * 18 + [True] * 6


def test_texts_that_are_gone_are_told(fill):
    with pytest.raises(BadFile, match="are not those that its features are of; give --overwrite to begin anew"):
        Rows(fill(4, 6), SHAPE, prompts=[0, 1])


@pytest.mark.parametrize("field", ["token", "top"])
@pytest.mark.parametrize("wrong", [VOCAB, -1])
def test_a_token_that_no_vocabulary_has_is_told(fill, field, wrong):
    folder = fill(3, 6)
    rows = np.fromfile(folder / ROWS, ROW)
    Rows(folder, SHAPE).check_tokens(VOCAB)
    rows[field][7] = wrong
    rows.tofile(folder / ROWS)
    said = rf"rows\.bin is damaged: it has token {wrong}, and the vocabulary ends at 11; give --overwrite"
    with pytest.raises(BadFile, match=said):
        Rows(folder, SHAPE).check_tokens(VOCAB)


def test_temperatures_are_named_that_texts_were_drawn_at(fill):
    assert Rows(fill(1, 6), SHAPE).drawn_at((1.0, 0.7, 0.3)) == [1.0]
    assert Rows(fill(2, 6, start=1), SHAPE).drawn_at((0.7, 1.0, 0.3, 1.0)) == [0.7, 1.0, 1.0]


def test_held_out_rows_are_of_the_temperature_that_is_asked_for(fill):
    data = Rows(fill(3 * EVERY, 6), SHAPE)
    for temperature in (1.0, 0.7):
        rows = data.held_out(temperature, 100, by=2)
        assert data.held[rows].all()
        assert set(data.temperature[rows].tolist()) == {temperature}
        assert (data.texts[rows] == data.texts[rows + 2]).all()
    assert len(data.held_out(0.0, 100, by=2)) == 3 * 4  # none was drawn at it: all
    assert len(data.held_out(0.0, 5, by=2)) <= 5


def test_the_commonest_tokens_rise_and_leave_held_out_text_alone(fill):
    data = Rows(fill(4, 50), SHAPE)
    tokens = data.commonest(5, VOCAB)
    assert (np.diff(tokens) > 0).all()
    learnt = ~data.held
    counts = np.bincount(data.tokens[learnt], minlength=VOCAB) + np.bincount(data.tops[learnt], minlength=VOCAB)
    assert counts[tokens].min() >= np.delete(counts, tokens).max()
    assert data.commonest(100, VOCAB).tolist() == list(range(VOCAB))


def test_streams_are_scaled_by_their_size(fill):
    data = Rows(fill(4, 50), SHAPE)
    sizes = np.sqrt(np.square(data.features[~data.held].astype(float)).mean((0, 2)))
    np.testing.assert_allclose(data.scale() * sizes, 1, rtol=1e-3)


@pytest.mark.parametrize(("texts", "rows"), [(1, 50), (5, 3), (1, 1), (1, 4), (2, 2)])
def test_too_little_text_is_refused(fill, texts, rows):
    with pytest.raises(BadFile, match="too little text to train on"):
        Rows(fill(texts, rows), SHAPE).check(5)


@pytest.mark.parametrize("damage", [
    {"rows": 0}, {"rows": True}, {"rows": "3"}, {"seconds": "x"}, {"seconds": None}, {"temperature": "x"},
], ids=str)  # fmt: skip
def test_a_line_that_is_damaged_is_refused(fill, damage):
    folder = fill(3, 6)
    first, *others = (folder / INDEX).read_text().splitlines()
    (folder / INDEX).write_text("\n".join([*others, json.dumps({**json.loads(first), **damage})]) + "\n")
    for opened in (lambda: Rows(folder, SHAPE), lambda: Store(folder, SHAPE, SETTINGS)):
        with pytest.raises(BadFile, match=r"features\.jsonl holds a line that is not ours; give another --work"):
            opened()


def test_other_settings_name_the_flag_that_helps(tmp_path):
    with Store(tmp_path, SHAPE, SETTINGS) as store:
        store.append(*text_of(0, 5), seconds=1.0)
    with pytest.raises(BadFile, match=r"other settings: layers .*; give those again, another --work, or --overwrite"):
        Store(tmp_path, SHAPE, {**SETTINGS, "layers": [0]})
