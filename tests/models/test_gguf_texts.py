"""Texts of a GGUF file read together are those read one by one, and what is broken is broken either way."""

import mmap
import struct

import pytest

from truedraw.models.gguf_cursor import Cursor
from truedraw.models.gguf_texts import MEAN_BYTES, short_texts

BEFORE, BEHIND = b"head", b"tail of the file"


@pytest.fixture
def mapped(tmp_path):
    """A file of a head, texts each with its length, and what follows."""

    def write(*texts, behind=BEHIND):
        path = tmp_path / "texts"
        path.write_bytes(BEFORE + b"".join(struct.pack("<Q", len(each)) + each for each in texts) + behind)
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    return write


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "bc", ""],
        ["", "", ""],
        ["Ġthe", "ĉ", "日本語", "🙂", "e\u0301", "\n", " "],
        ["x" * 255, "é" * 127, *"abcdefgh"],
        [f"token {i}" for i in range(3000)],
    ],
    ids=["plain", "empty", "letters", "longest", "many"],
)
def test_they_are_read_together(mapped, texts):
    data = mapped(*(each.encode() for each in texts))
    found, end = short_texts(data, len(BEFORE), len(texts))
    assert found == texts
    assert data[end:] == BEHIND


@pytest.mark.parametrize(
    "texts",
    [
        [b"a", b"x" * 256],
        [b"x" * 300, b"a"],
        [b"a", b"b\0c"],
        [b"\0", b""],
        [b"a", b"\xc4"],
        [b"\xc4", b"\xa0"],  # a character, but of two texts
        [bytes([200]) * 200, b"a"],
    ],
)
def test_others_are_left_alone(mapped, texts):
    assert short_texts(mapped(*texts), len(BEFORE), len(texts)) is None


def test_long_ones_are_read_one_by_one(mapped):
    texts = ["x" * 3 * MEAN_BYTES, "y" * 1000, "a\0b", ""]
    data = mapped(*(each.encode() for each in texts))
    cursor = Cursor(data, len(BEFORE))
    assert cursor._strings(len(texts)) == texts
    assert data[cursor.position :] == BEHIND


@pytest.mark.parametrize("missing", range(1, 15))
def test_a_file_that_ends_within_them(mapped, missing):
    whole = mapped(b"one", b"two", b"three", behind=b"")
    cut = whole[: len(whole) - missing]
    assert short_texts(cut, len(BEFORE), 3) is None
    with pytest.raises((ValueError, struct.error)):
        Cursor(cut, len(BEFORE))._strings(3)
