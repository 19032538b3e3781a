"""The texts of a run: journalled, resumed, refused."""

import errno
import json
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest

from truedraw.distill import gathering as stage
from truedraw.distill.documents import document_texts
from truedraw.distill.gathering import gather
from truedraw.distill.plan import TextPlan
from truedraw.distill.texts import NAME, Gathered, prompts_of, read_texts
from truedraw.errors import BadFile
from truedraw.generate.loading import load
from truedraw.generate.offline import journal

SETTINGS = {"model": "none", "hidden_size": 64}


def record(number, length=10):
    return {"key": [0, number], "temperature": 1.0, "prompt": [1, 2], "answer": [number] * length}


def no_room(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def told():
    said = []

    def tell(stage, done, words):
        said.append((stage, done, words))

    tell.said = said
    return tell


@pytest.fixture
def source(monkeypatch):
    """Texts 0, 1, 2, ... but those that are done; .asked collects what was."""

    def drawn(_model, _plan, done, watched, _clock):
        assert watched is None
        asked.append([tuple(each["key"]) for each in done])
        return (record(number) for number in range(100) if (0, number) not in asked[-1])

    asked = []
    monkeypatch.setattr(stage, "_source", drawn)
    return SimpleNamespace(asked=asked)


def test_texts_are_gathered_until_there_are_enough(tmp_path, source, told):
    found = gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told))
    assert (found.texts, found.tokens) == (4, 40)
    assert [text.answer[0] for text in read_texts(tmp_path)] == [0, 1, 2, 3]
    assert told.said[-1][0] == "texts"
    assert told.said[-1][1] >= 1
    assert "4 texts, 40 tokens" in told.said[-1][2]


@pytest.mark.parametrize(("refused", "kept"), [("write", [0]), ("fsync", [0, 1])])
def test_a_disk_that_fills_up_is_told_and_the_run_goes_on(tmp_path, source, told, monkeypatch, refused, kept):
    gather(None, TextPlan(tokens=10), tmp_path, SETTINGS, (None, told))
    monkeypatch.setattr(journal, "SYNC_SECONDS", -1.0)
    with monkeypatch.context() as full:
        full.setattr(journal.os, refused, no_room)
        with pytest.raises(BadFile, match=f"{NAME} cannot be written: No space left.*again"):
            gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told))
    assert [text.answer[0] for text in read_texts(tmp_path)] == kept
    assert gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told)).texts == 4


def test_a_run_goes_on_where_it_was(tmp_path, source, told):
    gather(None, TextPlan(tokens=15), tmp_path, SETTINGS, (None, told))
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"key": [0, 2], "answ')  # killed here
    found = gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told))
    assert source.asked == [[], [(0, 0), (0, 1)]]
    assert found.tokens == 40
    assert [text.answer[0] for text in read_texts(tmp_path)] == [0, 1, 2, 3]
    gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told))
    assert len(source.asked) == 2  # there are enough: nobody is asked


@pytest.mark.parametrize(("documents", "texts"), [((), 3), ((Path("book.txt"),), 1)])
def test_when_the_time_is_up_what_was_begun_is_kept_and_no_more_is_read(tmp_path, monkeypatch, told, documents, texts):
    def late(*_, **__):
        sleep(0.02)
        yield from map(record, range(3))

    monkeypatch.setattr(stage, "_source", late)
    assert gather(None, TextPlan(documents=documents), tmp_path, SETTINGS, (0.01, told)).texts == texts


def test_time_counts_over_runs(tmp_path, source, told):
    (tmp_path / NAME).write_text(json.dumps({**record(0), "seconds": 50.0}) + "\n")
    (tmp_path / f"{NAME}.settings.json").write_text(json.dumps(SETTINGS))
    found = gather(None, TextPlan(), tmp_path, SETTINGS, (49.0, told))
    assert found == Gathered(1, 10, 50.0)
    assert not source.asked


def test_another_model_or_width_is_refused(tmp_path, source, told):
    gather(None, TextPlan(tokens=15), tmp_path, SETTINGS, (None, told))
    with pytest.raises(BadFile, match=r"hidden_size was 64, is 32.*give those again, another --work, or --overwrite"):
        gather(None, TextPlan(tokens=15), tmp_path, {**SETTINGS, "hidden_size": 32}, (None, told))
    assert len(list(read_texts(tmp_path))) == 2
    gather(None, TextPlan(tokens=5), tmp_path, {**SETTINGS, "hidden_size": 32}, (None, told), overwrite=True)
    assert len(list(read_texts(tmp_path))) == 1


def test_no_text_at_all_is_an_error(tmp_path, monkeypatch, told):
    monkeypatch.setattr(stage, "_source", lambda *_, **__: iter(()))
    with pytest.raises(BadFile, match="zero tokens"):
        gather(None, TextPlan(), tmp_path, SETTINGS, (None, told))


def test_a_foreign_line_is_refused(tmp_path, told):
    (tmp_path / NAME).write_text('{"prompt": "once"}\n')
    (tmp_path / f"{NAME}.settings.json").write_text(json.dumps(SETTINGS))
    with pytest.raises(BadFile, match="no text of ours"):
        gather(None, TextPlan(), tmp_path, SETTINGS, (None, told))


@pytest.mark.parametrize(("name", "value"), [
    ("key", None), ("key", 3), ("key", [1]), ("key", [1, "x"]), ("key", [0, -1]), ("seconds", None), ("seconds", "x"),
    ("temperature", "warm"), ("prompt", []), ("prompt", "once"), ("answer", [1.5]), ("answer", [True]), ("answer", {}),
])  # fmt: skip
def test_a_line_that_is_damaged_is_refused(tmp_path, told, source, name, value):
    line = {**record(1), "seconds": 1.0, name: value}
    if value is None:
        del line[name]
    lines = [{**record(0), "seconds": 0.5}, line]
    (tmp_path / NAME).write_text("".join(json.dumps(each) + "\n" for each in lines))
    (tmp_path / f"{NAME}.settings.json").write_text(json.dumps(SETTINGS))
    said = r"texts\.jsonl, line 2, is no text of ours; give another --work, or --overwrite"
    with pytest.raises(BadFile, match=said):
        gather(None, TextPlan(tokens=50), tmp_path, SETTINGS, (None, told))
    with pytest.raises(BadFile, match=said):
        list(read_texts(tmp_path))


@pytest.fixture(scope="module")
def tokenizer():
    with load("tabular") as toy:
        yield toy.tokenizer


def toy(tokenizer, context_length):
    return SimpleNamespace(name="tabular", tokenizer=tokenizer, engine=SimpleNamespace(context_length=context_length))


def test_documents_are_cut_to_what_a_context_holds(tmp_path, tokenizer):
    file = tmp_path / "own.txt"
    file.write_text("the cat sat the dog ran. the cat sat.")
    whole = tokenizer.encode(file.read_text(), add_special=False)
    pieces = list(document_texts(toy(tokenizer, 5), [file]))
    assert [piece["prompt"] + piece["answer"] for piece in pieces] == [
        whole[i : i + 4] for i in range(0, len(whole), 4) if len(whole) - i > 1
    ]
    assert pieces[1]["key"] == [0, 4]
    assert pieces[0]["temperature"] is None


def test_documents_with_ids_of_another_model_are_read_as_texts(tmp_path, tokenizer):
    file = tmp_path / "own.jsonl"
    file.write_text('{"model": "other", "token_ids": [1, 2], "text": "the cat sat"}')
    (piece,) = document_texts(toy(tokenizer, 100), [file])
    assert piece["prompt"] + piece["answer"] == tokenizer.encode("the cat sat", add_special=False)


@pytest.mark.parametrize("contents", [b"", b"\n\n"])
def test_documents_without_text_are_refused(tmp_path, tokenizer, contents):
    file = tmp_path / "empty.jsonl"
    file.write_bytes(contents)
    with pytest.raises(BadFile, match=r"empty\.jsonl: there is no text to train on, zero tokens"):
        list(document_texts(toy(tokenizer, 100), [file]))


def test_documents_that_are_the_same_are_one(tmp_path, monkeypatch, told):
    """So that none is held out that a copy of was learnt from; answers go by their prompts alone."""
    pieces = [{**record(number % 3), "key": [number, 0], "temperature": None} for number in range(6)]
    monkeypatch.setattr(stage, "_source", lambda *_: iter(pieces))
    gather(None, TextPlan(documents=(Path("x"),)), tmp_path, SETTINGS, (None, told))
    assert prompts_of(tmp_path) == [0, 1, 2, 0, 1, 2]
    assert prompts_of(tmp_path, shortest=11) == [0] * 6


def test_answers_go_by_their_prompts(tmp_path, source, told):
    gather(None, TextPlan(tokens=35), tmp_path, SETTINGS, (None, told))
    assert prompts_of(tmp_path) == [0] * 4
