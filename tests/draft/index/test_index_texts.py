"""Texts for an index out of text files and JSON lines, ours and others'."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from truedraw.draft.index import texts as texts_module
from truedraw.draft.index.layout import END
from truedraw.draft.index.segments import quiet
from truedraw.draft.index.texts import Texts
from truedraw.errors import BadFile


class Bytes:
    """A tokenizer whose tokens are bytes."""

    vocab_size = 256

    def encode(self, text, add_special=True):
        assert not add_special
        return list(text.encode())


def read(*files, kind=None):
    """The texts, each as bytes."""
    ids = [token for array in Texts(Bytes(), quiet, "bytes").of(files, kind) for token in array.tolist()]
    assert not ids or ids[-1] == END
    parts, text = [], []
    for token in ids:
        if token == END:
            parts.append(bytes(text))
            text = []
        else:
            text.append(token)
    return parts


@pytest.fixture
def lines(tmp_path):
    def write(*records, name="x.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.mark.skipif(os.name == "nt", reason="a pipe with a name")
def test_a_pipe_is_read_to_its_end_and_a_device_is_not(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=(b"some\ntext",))
    writing.start()
    assert read(pipe) == [b"some\ntext"]
    writing.join()
    with pytest.raises(BadFile, match="is a device; give a file, or a pipe"):
        read(Path("/dev/zero"))


def test_every_kind_of_record(lines) -> None:
    path = lines(
        {"text": "one"},
        {"completion": "two", "id": 7},
        {"prompt": "three "},
        {"prompt": "a question, ", "completion": "an answer"},
        {"prompt": [65, 66], "text": "C"},
        {"token_ids": [68, 69], "text": "not looked at"},
        {"choices": [{"text": "first", "index": 0}, {"message": {"role": "assistant", "content": "second"}}]},
        {"line": 3, "error": {"type": "BadPrompt", "message": "too long"}},
        {"prompt": 4, "sample": 1, "temperature": 0.7, "seed": 1, "text": "of a sweep"},
        {"text": "", "finish_reason": "stop"},
        {"text": "", "completion": "behind nothing"},
        {"prompt": "alone", "text": None, "choices": None, "token_ids": None},
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{}]}}, {"text": "third"}]},
        {"choices": [{"message": {"role": "assistant", "tool_calls": [{}]}}]},
        {"text": "\ud83e\udd8a both halves"},
        {"text": "last"},
    )
    wanted = "one", "two", "three ", "a question, an answer", "ABC", "DE", "first", "second", "of a sweep"
    wanted = *wanted, "behind nothing", "alone", "third", "\U0001f98a both halves", "last"
    assert read(path) == [text.encode() for text in wanted]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "half', "not JSON"),
        ("[1]", "got '[1]'; give one JSON object a line"),
        ('{"answer": "x"}', "no text; give token_ids"),
        ('{"token_ids": [1, 256]}', "the token id 256; this model's are whole numbers from 0 to 255"),
        ('{"token_ids": [true]}', "the token id True"),
        ('{"prompt": ["a"], "text": "b"}', "the token id 'a'"),
        ('{"choices": ["a"]}', "a choice is 'a'"),
        ("[" * 100_000, "not JSON"),
        ('{"text": 5}', "text is 5; give a text, or token ids"),
        ('{"text": 0}', "text is 0; give a text, or token ids"),
        ('{"text": {"a": 1}}', "text is {'a': 1}; give a text, or token ids"),
        ('{"text": "good", "completion": false}', "completion is False; give a text, or token ids"),
        ('{"prompt": {"a": 1}, "text": "good"}', "prompt is {'a': 1}; give a text, or token ids"),
        ('{"prompt": true, "text": "good"}', "prompt is True; give a text, or token ids"),
        ('{"prompt": 3}', "no text; give token_ids"),
        ('{"text": null, "completion": null}', "no text; give token_ids"),
        ('{"token_ids": "a", "text": "good"}', "token_ids is 'a'; give token ids"),
        ('{"choices": []}', "choices is []; give a list of objects"),
        ('{"choices": {"text": "a"}}', "choices is {'text': 'a'}; give a list of objects"),
        ('{"choices": [{"message": {"content": 7}}]}', "content is 7; give a text, or token ids"),
        ('{"choices": [{"message": "a"}]}', "message is 'a'; give an object with content"),
        ('{"text": "a \\ud83e b"}', "a text holds half of a surrogate pair"),
        ('{"prompt": "a", "completion": "\\udd8a"}', "a text holds half of a surrogate pair"),
        ('{"choices": [{"message": {"content": "\\udc80"}}]}', "a text holds half of a surrogate pair"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, problem) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "good"}\n\n' + line + "\n")
    with pytest.raises(BadFile) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}, line 3: {problem}")


OTHER = {"model": "other", "token_ids": [66], "text": "words"}


def test_ids_of_another_model_give_way_to_its_texts(lines) -> None:
    path = lines(
        {**OTHER, "model": "bytes"},
        {**OTHER, "model": None},
        OTHER,
        {**OTHER, "prompt": [65], "completion": None},
        {**OTHER, "prompt": "a text of "},
        {"model": "./bytes", "choices": [{"token_ids": [67], "text": "one"}, {"message": {"content": "two"}}]},
        {"model": "bytes", "choices": [{"token_ids": [67], "text": "one"}]},
        {"model": 5, "prompt": "alone"},
    )
    assert read(path) == [b"B", b"B", b"words", b"words", b"a text of words", b"one", b"two", b"C", b"alone"]


@pytest.mark.parametrize(
    "record",
    [
        {"token_ids": [66]},
        {"prompt": [66]},
        {"prompt": 4, "token_ids": [66]},
        {"text": [66], "prompt": [65]},
        {"choices": [{"text": "one"}, {"token_ids": [66]}]},
        {"choices": [{"message": {"content": [66]}}]},
    ],
)
def test_nothing_but_ids_of_another_model_is_refused(lines, record) -> None:
    with pytest.raises(BadFile, match=r"x\.jsonl, line 2: no text, and ids of the model 'other' .* with --model$"):
        read(lines({"text": "good"}, {"model": "other", **record}))
    assert len(read(lines({"text": "good"}, {"model": "bytes", **record}))) > 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_lines_that_are_not_utf_8_are_none(tmp_path, encoding: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes('{"text": "thé"}'.encode(encoding))
    with pytest.raises(BadFile, match=r"line 1: byte \d+ is .*; save the file as UTF-8"):
        read(path)


def test_a_text_file_is_one_text_however_it_is_read(tmp_path, monkeypatch) -> None:
    text = "Æsop’s fables 🦊\n\nIt was “ripe”.\r\nNo line ends here: " + "ä" * 50
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    for size in (1 << 20, 1, 7, 64):
        monkeypatch.setattr(texts_module, "READ_BYTES", size)
        assert read(path) == [text.encode()]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_a_text_file_that_holds_nothing_is_no_text(tmp_path, data) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    assert read(path) == []


def test_kinds_go_by_the_name_unless_told(lines, tmp_path) -> None:
    path, upper = lines({"text": "a"}, name="x.json"), lines({"text": "b"}, name="Y.JSONL")
    assert read(path, upper) == [b'{"text": "a"}\n', b"b"]
    assert read(path, upper, kind="jsonl") == [b"a", b"b"]
    assert read(upper, kind="text") == [b'{"text": "b"}\n']
    (tmp_path / "marked.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "c"}\r\n')
    assert read(tmp_path / "marked.jsonl") == [b"c"]


@pytest.mark.parametrize(("data", "word"), [(b"good\n\xff\xfe", "about byte 6"), (b"good\xc3", "half a character")])
def test_a_text_that_is_not_utf_8(tmp_path, data, word) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=word):
        read(path)


def test_files_that_cannot_be_read(tmp_path) -> None:
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            read(path)
    (tmp_path / "empty.txt").touch()
    assert read(tmp_path / "empty.txt") == []
