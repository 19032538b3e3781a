"""The file of counts: what was written is what is read, and whatever is wrong with a file is said."""

from __future__ import annotations

import json
import os
import zlib
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from draft.ngram_lm_texts import TEXTS
from truedraw.draft import ngram_lm_file
from truedraw.draft.ngram_lm_counts import count_ngrams
from truedraw.draft.ngram_lm_file import (
    MAGIC,
    PREFIX,
    SHIPPED,
    Origin,
    counts_for,
    read_counts,
    shipped,
    write_counts,
)
from truedraw.errors import BadFile, BadParameter

ORIGIN = Origin("größe/模型", "0123456789abcdef", 6)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "own.tdn"
    write_counts(file, count_ngrams(TEXTS, 3), ORIGIN)
    return file


def test_a_full_disk_is_told_what_to_do(path, monkeypatch) -> None:
    def full(_number):
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr("truedraw.whole_files.os.fsync", full)
    with pytest.raises(BadFile, match=r"No space left on device; free some space or give"):
        write_counts(path, count_ngrams(TEXTS, 3), ORIGIN)


def edited(path, **changes):
    """The same file with a header that says something else and is whole."""
    data = path.read_bytes()
    size = PREFIX.unpack(data[: PREFIX.size])[2]
    with_header(path, json.dumps({**json.loads(data[PREFIX.size : PREFIX.size + size]), **changes}).encode())


def with_header(path, body):
    """The same file with another header whose checksum is right."""
    data = path.read_bytes()
    size = PREFIX.unpack(data[: PREFIX.size])[2]
    path.write_bytes(PREFIX.pack(MAGIC, 1, len(body), zlib.crc32(body)) + body + data[PREFIX.size + size :])


def test_it_is_read_as_it_was_written(path) -> None:
    counts, origin = read_counts(path)
    expected = count_ngrams(TEXTS, 3)
    assert origin == ORIGIN
    for name in ("tokens", "counts", "begins"):
        assert np.array_equal(getattr(counts, name), getattr(expected, name))
        assert not getattr(counts, name).flags.writeable
    assert (counts.levels, counts.num_tokens, counts.num_texts) == (
        expected.levels,
        expected.num_tokens,
        expected.num_texts,
    )
    assert os.listdir(path.parent) == [path.name]


def test_no_text_at_all_can_be_written(tmp_path) -> None:
    write_counts(tmp_path / "none.tdn", count_ngrams([], 5), ORIGIN)
    assert read_counts(tmp_path / "none.tdn")[0].num_tokens == 0


def test_every_damaged_byte_is_noticed(path) -> None:
    data = path.read_bytes()
    for place in range(len(data)):
        spoilt = bytearray(data)
        spoilt[place] ^= 0x10
        path.write_bytes(spoilt)
        if PREFIX.size - 4 <= place < PREFIX.size:
            continue  # padding
        with pytest.raises(BadFile, match=r"own\.tdn"):
            read_counts(path)


def test_every_cut_is_noticed(path) -> None:
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(BadFile, match=r"own\.tdn"):
            read_counts(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(BadFile, match="bytes long"):
        read_counts(path)


@pytest.mark.parametrize(("changes", "words"), [
    ({"levels": [5, 10]}, "says nonsense"), ({"levels": "many"}, "says nonsense"),
    ({"column_bytes": [4, 4]}, "bytes long"), ({"origin": {"model": "m"}}, "says nonsense"),
    ({"origin": {"model": "m", "tokenizer": "t", "vocab_size": 3}}, "beyond its vocabulary"),
    ({"checksum": 1}, "damaged"), ({"num_tokens": float("inf")}, "says nonsense"),
], ids=str)  # fmt: skip
def test_a_header_that_says_nonsense_is_refused(changes, words, path) -> None:
    edited(path, **changes)
    with pytest.raises(BadFile, match=words):
        read_counts(path)


@pytest.mark.parametrize(
    "body", [b"no JSON", b"\xff", b"[" * 100_000, b"[]", b"null"], ids=["text", "bytes", "deep", "list", "null"]
)
def test_a_header_that_is_no_json_object_is_refused(body, path) -> None:
    with_header(path, body)
    with pytest.raises(BadFile, match="says nonsense"):
        read_counts(path)


def test_columns_that_lead_astray_are_refused(tmp_path) -> None:
    counts = count_ngrams(TEXTS, 3)
    begins = counts.begins.copy()
    begins[3] = begins[-1] + 7
    astray = type(counts)(counts.tokens, counts.counts, begins, counts.levels, 1, 1)
    write_counts(tmp_path / "astray.tdn", astray, ORIGIN)
    with pytest.raises(BadFile, match="followers out of order"):
        read_counts(tmp_path / "astray.tdn")


def test_other_files_are_refused(tmp_path, path) -> None:
    other = tmp_path / "text.txt"
    other.write_bytes(b"")
    with pytest.raises(BadFile, match="holds no counts"):
        read_counts(other)
    other.write_text("Once upon a time, there were 40 bytes and more.")
    with pytest.raises(BadFile, match="holds no counts"):
        read_counts(other)
    for missing in (tmp_path / "missing", tmp_path):
        with pytest.raises(BadFile, match="cannot be read"):
            read_counts(missing)
    data = path.read_bytes()
    path.write_bytes(PREFIX.pack(MAGIC, 2, 0, 0) + data[PREFIX.size :])
    with pytest.raises(BadFile, match="version 2"):
        read_counts(path)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path) -> None:
    with pytest.raises(BadFile, match="cannot be written"):
        write_counts(tmp_path / "no" / "own.tdn", count_ngrams(TEXTS, 2), ORIGIN)
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="cannot be written"):
        write_counts(tmp_path / "folder", count_ngrams(TEXTS, 2), ORIGIN)
    assert os.listdir(tmp_path) == ["folder"]


def test_counts_are_for_the_tokens_of_one_tokenizer(path) -> None:
    own, other = (SimpleNamespace(tokenizer=SimpleNamespace(fingerprint=name)) for name in (ORIGIN.tokenizer, "else"))
    assert counts_for(path, 6, own).num_tokens == sum(map(len, TEXTS))
    with pytest.raises(BadParameter, match=r"ngram_lm_path: .*größe/模型"):
        counts_for(path, 6, other)


def test_a_file_is_opened_once_until_it_changes(path) -> None:
    first = counts_for(path, 6, None)
    assert counts_for(str(path), 6, None) is first
    write_counts(path, count_ngrams(TEXTS[:1], 2), ORIGIN)
    assert counts_for(path, 6, None).num_texts == 1
    assert first.num_texts == len(TEXTS)  # who maps the old one keeps it


def test_counts_come_with_truedraw_for_one_family_of_models() -> None:
    """Whole, small, and for the tokens of the default model: what tools/own_counts.py makes."""
    (path,) = (Path(ngram_lm_file.__file__).parent / SHIPPED).glob("*.tdn")
    counts, origin = read_counts(path)
    assert origin.vocab_size == 49152
    assert counts.num_tokens > 400_000
    assert path.stat().st_size < 4 << 20
    assert shipped(SimpleNamespace(fingerprint=origin.tokenizer)) == path
    assert shipped(SimpleNamespace(fingerprint="of another family")) is None
