"""An index is there whole or not at all; what is added later is found as if it had been there from the start."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from index_files import EMPTY, arrays, index_of, means
from truedraw import whole_files
from truedraw.draft.index import header as headers
from truedraw.draft.index import segments as segment_files
from truedraw.draft.index import writing
from truedraw.draft.index.header import FIRST_WORD, HEADER_BYTES, check_tokenizer
from truedraw.draft.index.known_texts import KnownTexts
from truedraw.draft.index.layout import WORD_BYTES
from truedraw.draft.index.mapping import checked_header, open_index
from truedraw.draft.index.writing import GROWTH, MOST_SEGMENTS, add, build, num_merged
from truedraw.errors import BadFile

TEXT, MORE = [1, 2, 3, 4], [1, 2, 9]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tdx"


def drafted(path, text, budget=3):
    source = KnownTexts(open_index(path), 24)
    return source.draft(source.behind(source.text(), text), budget, 0.0, True)[0].tolist()


def texts(number, rng):
    return [rng.integers(0, 50, 20 + i).tolist() for i in range(number)]


def test_many_additions_make_few_segments_and_little_waste(path) -> None:
    rng = np.random.default_rng(3)
    batches = [texts(1 + n % 4, rng) for n in range(30)]
    header = index_of(path, *batches)
    sizes = [segment.num_tokens for segment in header.segments]
    assert 1 < len(sizes) <= MOST_SEGMENTS
    assert all(size >= GROWTH * sum(sizes[i + 1 :]) for i, size in enumerate(sizes))
    assert header.num_texts == sum(map(len, batches))
    assert header.num_tokens == sum(len(text) for batch in batches for text in batch)
    assert header.end - FIRST_WORD <= 2 * header.num_live_words
    assert path.stat().st_size == header.end * WORD_BYTES
    assert checked_header(path) == header
    once = index_of(path.with_name("once.tdx"), [text for batch in batches for text in batch])
    assert (once.num_texts, once.num_tokens, len(once.segments)) == (header.num_texts, header.num_tokens, 1)
    both = [KnownTexts(open_index(each), 24) for each in (path, path.with_name("once.tdx"))]
    for _ in range(50):
        text = rng.integers(0, 50, 3).tolist()
        one, other = (known.draft(known.behind(known.text(), text), 8, 0.0, True) for known in both)
        assert sorted(one[2].tolist()) == pytest.approx(sorted(other[2].tolist()))


def test_there_are_few_segments_however_large_they_are() -> None:
    """Segments that fall off so steeply in size that none has grown like the next are merged all the same."""
    sizes = [GROWTH * 3**place for place in range(3 * MOST_SEGMENTS, 0, -1)]
    for count in range(1, len(sizes) + 1):
        merged = num_merged(sizes[:count], most=10**20)
        assert count - merged + 1 == min(count, MOST_SEGMENTS)


def test_a_segment_holds_no_more_than_it_may(path) -> None:
    header = index_of(path, [[1, 2, 3, 4, 5], [6, 7]], [[8]], most_tokens=4)
    assert max(segment.num_tokens for segment in header.segments) <= 4
    assert header.num_tokens == 8
    assert drafted(path, [6], 1) == [7]


class Stop(KeyboardInterrupt):
    pass


def interrupted():
    yield arrays([MORE])[0]
    raise Stop


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interrupted_build_leaves_what_was_there(path, overwrite) -> None:
    before = None
    if overwrite:
        index_of(path, [TEXT])
        before = path.read_bytes()
    with pytest.raises(Stop):
        build(path, interrupted(), EMPTY, means(path), overwrite)
    assert [each.name for each in path.parent.iterdir()] == (["x.tdx"] if overwrite else [])
    assert not overwrite or path.read_bytes() == before


def test_an_interrupted_addition_leaves_the_file_as_it_was(path) -> None:
    index_of(path, [TEXT])
    before = path.read_bytes()
    with pytest.raises(Stop):
        add(path, interrupted(), EMPTY.fingerprint, means(path))
    assert path.read_bytes() == before


def test_what_a_killed_addition_left_is_passed_over(path) -> None:
    index_of(path, [TEXT])
    with path.open("ab") as file:
        file.write(b"half a segment")
    assert drafted(path, [1, 2]) == [3, 4]
    header = add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    assert checked_header(path) == header
    assert sorted(drafted(path, [1, 2])) == [3, 4, 9]


class Ending:
    """Lets some writes of a header through, and of the next one some bytes; then there is no power."""

    def __init__(self, whole: int, length: int) -> None:
        self.left, self.length = whole, length

    def __call__(self, file, header, place) -> None:
        if self.left:
            self.left -= 1
            return headers.write_header(file, header, place)
        file.seek(place * HEADER_BYTES)
        whole = io.BytesIO(bytes(2 * HEADER_BYTES))
        headers.write_header(whole, header, place)
        file.write(whole.getvalue()[place * HEADER_BYTES :][: self.length])
        raise Stop


NONSENSE = {
    "ends before its segments": lambda h: replace(h, end=h.segments[0].end - 1),
    "ends before it begins": lambda h: replace(h, end=0, segments=()),
    "counts backwards": lambda h: replace(h, sequence=-1),
    "a segment in the headers": lambda h: replace(h, segments=(replace(h.segments[0], start=0),)),
    "a segment before the file": lambda h: replace(h, segments=(replace(h.segments[0], start=-5),)),
    "more texts than tokens": lambda h: replace(h, segments=(replace(h.segments[0], num_texts=999),)),
    "true in the place of a number": lambda h: replace(h, segments=(replace(h.segments[0], num_texts=True),)),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_a_header_whose_numbers_cannot_be_is_damaged(path, what) -> None:
    header = NONSENSE[what](index_of(path, [[1, 2, 3]]))
    with path.open("r+b") as file:
        for place in (0, 1):
            headers.write_header(file, header, place)
    with pytest.raises(BadFile, match="is damaged: neither of its headers"):
        open_index(path)


@pytest.mark.parametrize("length", [0, 17, 60, 200, HEADER_BYTES])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("added", [0, 1])
def test_a_header_that_was_half_written_leaves_a_whole_one(path, monkeypatch, added, place, length) -> None:
    """The one before while the first place is written, the new one from then on; never none, never half of one."""
    before = index_of(path, [TEXT * 9], *[[MORE]] * added)
    with monkeypatch.context() as patch:
        patch.setattr(writing, "write_header", Ending(place, length))
        with pytest.raises(Stop):
            add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    there = before.num_texts + (place == 1 or length == HEADER_BYTES)
    assert checked_header(path).num_texts == there
    last = add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    assert last.num_texts == there + 1
    assert checked_header(path) == last
    assert headers_of(path) == [last, last]


def headers_of(path):
    data = path.read_bytes()[: 2 * HEADER_BYTES]
    halves = [data[:HEADER_BYTES] + bytes(HEADER_BYTES), bytes(HEADER_BYTES) + data[HEADER_BYTES:]]
    return [headers.read_header(io.BytesIO(half + bytes(path.stat().st_size)), path) for half in halves]


@pytest.mark.parametrize("lost", [0, 1])
def test_the_only_whole_header_is_not_written_over_first(path, monkeypatch, lost) -> None:
    whole = index_of(path, [TEXT * 9], [MORE])
    data = bytearray(path.read_bytes())
    data[lost * HEADER_BYTES + 60] ^= 1
    path.write_bytes(data)
    assert checked_header(path) == whole
    monkeypatch.setattr(writing, "write_header", Ending(0, 60))
    with pytest.raises(Stop):
        add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    assert checked_header(path) == whole


def test_a_full_disk_is_an_error_and_changes_nothing(path, monkeypatch) -> None:
    index_of(path, [TEXT])
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(segment_files.os, "posix_fallocate", full, raising=False)
    with pytest.raises(BadFile, match=r"cannot be written: No space left"):
        add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    with pytest.raises(BadFile, match=r"cannot be written: No space left"):
        build(path.with_name("y.tdx"), arrays([MORE]), EMPTY, means(path))
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["x.tdx"]


def test_a_disk_too_full_to_write_an_index_anew_keeps_what_was_added(path, monkeypatch) -> None:
    index_of(path, [TEXT])

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(writing, "_copy", full)
        added = [add(path, arrays([MORE]), EMPTY.fingerprint, means(path)) for _ in range(4)]
    assert [header.num_texts for header in added] == [2, 3, 4, 5]
    assert checked_header(path) == added[-1]
    assert added[-1].end - FIRST_WORD > 2 * added[-1].num_live_words
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    later = add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    assert (later.num_texts, later.end - FIRST_WORD) == (6, later.num_live_words)


def test_no_texts_and_no_new_file(path) -> None:
    for nothing in ([], [[]]):
        with pytest.raises(BadFile, match="holds no text"):
            index_of(path, nothing)
    assert not path.exists()
    index_of(path, [TEXT])
    with pytest.raises(BadFile, match="there already"):
        index_of(path, [MORE])
    with pytest.raises(BadFile, match="holds no text"):
        add(path, [], EMPTY.fingerprint, means(path))
    with pytest.raises(BadFile, match="not there"):
        add(path.with_name("other.tdx"), arrays([TEXT]), EMPTY.fingerprint, means(path))


def test_another_tokenizer_is_refused(path) -> None:
    header = index_of(path, [TEXT])
    with pytest.raises(BadFile, match="made with the tokenizer of a model"):
        add(path, arrays([MORE]), "another", means(path))
    with pytest.raises(BadFile, match="give an index of this model's tokenizer"):
        check_tokenizer(header, "another", path)
    check_tokenizer(header, EMPTY.fingerprint, path)


def test_two_writers_at_once(path) -> None:
    fcntl = pytest.importorskip("fcntl")
    index_of(path, [TEXT])
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BadFile, match="being written by another process"):
            add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
    add(path, arrays([MORE]), EMPTY.fingerprint, means(path))


def test_where_a_file_that_is_open_cannot_be_replaced(path, monkeypatch) -> None:
    """As on Windows: it is written anew all the same, by whoever has closed it."""
    replace = Path.replace

    def on_windows(fresh, target):
        names = [os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")]
        assert str(target) not in names
        return replace(fresh, target)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(Path, "replace", on_windows)
    rng = np.random.default_rng(3)
    header = index_of(path, *(texts(1 + n % 4, rng) for n in range(30)))
    assert header.end - FIRST_WORD <= 2 * header.num_live_words
    assert checked_header(path) == header
    assert build(path, arrays([TEXT]), EMPTY, means(path), overwrite=True).num_texts == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_another_process_is_faster(path, monkeypatch, overwrite) -> None:
    """What it has built meanwhile, up to the last moment, stays: whoever wrote anew has not seen it."""
    other, to_disk = path.with_name("other.tdx"), whole_files.to_disk
    index_of(other, [MORE])

    def late(part, *how):
        if other.exists():
            other.replace(path)
        to_disk(part, *how)

    monkeypatch.setattr(whole_files, "to_disk", late)
    with pytest.raises(BadFile, match="File exists; another process was faster"):
        build(path, arrays([TEXT]), EMPTY, means(path), overwrite)
    assert drafted(path, MORE[:2])[0] == MORE[2]
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_index_that_is_being_written_is_not_made_anew(path) -> None:
    index_of(path, [TEXT])
    with writing._opened(path), pytest.raises(BadFile, match="being written by another process"):
        build(path, arrays([MORE]), EMPTY, means(path), True)
    assert drafted(path, TEXT[:2])[0] == TEXT[2]


def test_what_is_to_replace_a_private_index_is_private_all_along(path, monkeypatch) -> None:
    index_of(path, [TEXT])
    path.chmod(0o600)
    modes, said = [], writing._said

    def looked(file, header):
        modes.extend(each.stat().st_mode & 0o777 for each in path.parent.iterdir())
        return said(file, header)

    monkeypatch.setattr(writing, "_said", looked)
    build(path, arrays([MORE]), EMPTY, means(path), True)
    assert modes == [0o600, 0o600]


def test_what_is_built_while_an_index_is_written_anew_is_kept(path, monkeypatch) -> None:
    index_of(path, [TEXT])
    other = path.with_name("other.tdx")
    index_of(other, [MORE])
    whole, copy = other.read_bytes(), writing._copy

    def late(*args) -> None:
        other.replace(path)
        monkeypatch.undo()
        copy(*args)

    monkeypatch.setattr(writing, "_copy", late)
    with path.open("rb") as old, pytest.raises(BadFile, match="just replaced by another process"):
        writing._compacted(path, old, checked_header(path))
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (lambda path: path.unlink(), "just removed by another process"),
        (lambda path: path.rename(path.with_name("away.tdx")), "just removed by another process"),
        (lambda path: index_of(path.with_name("other.tdx"), [TEXT]) and path.with_name("other.tdx").replace(path),
         "just replaced by another process"),
    ],
)  # fmt: skip
def test_texts_for_an_index_that_is_no_longer_there_are_not_said_to_be_in_it(path, happens, said) -> None:
    index_of(path, [TEXT])

    def late():
        yield from arrays([MORE])
        happens(path)

    with pytest.raises(BadFile, match=said):
        add(path, late(), EMPTY.fingerprint, means(path))


def test_a_file_that_is_called_like_a_part_of_it_stays(path) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(b"a text")
    whole = index_of(path, [TEXT])
    with path.open("rb") as old:
        writing._compacted(path, old, whole)
    assert part.read_bytes() == b"a text"
    assert drafted(path, TEXT[:2]) == TEXT[2:]


def test_a_reader_keeps_what_it_opened(path) -> None:
    rng = np.random.default_rng(4)
    index_of(path, [TEXT])
    source = KnownTexts(open_index(path), 24)
    for _ in range(8):
        add(path, arrays(texts(3, rng)), EMPTY.fingerprint, means(path))
    assert source.draft(source.behind(source.text(), [1, 2]), 3, 0.0, False)[0].tolist() == [3, 4]


BATCHES = {"built": [[TEXT, MORE]], "added": [[TEXT * 9], [MORE]], "twice": [[TEXT * 99], [MORE * 9], [MORE]]}


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
def test_damage_of_a_segment_is_found_wherever_it_is(path, batches) -> None:
    index_of(path, *batches)
    data, length = path.read_bytes(), path.stat().st_size
    for place in range(FIRST_WORD * WORD_BYTES, length, 1 + length // 25_000):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        for read in (checked_header, open_index):
            with pytest.raises(BadFile, match=r"damaged"):
                read(path)


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("header", [0, 1])
def test_damage_of_either_header_loses_nothing(path, header, batches) -> None:
    whole = index_of(path, *batches)
    data = path.read_bytes()
    for place in range(header * HEADER_BYTES, header * HEADER_BYTES + 600, 7):
        for bit in (1, 4, 128):
            path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            assert checked_header(path) == whole
            assert open_index(path).header == whole
    assert add(path, arrays([MORE]), EMPTY.fingerprint, means(path)).num_texts == whole.num_texts + 1
    assert headers_of(path)[0] == headers_of(path)[1] == checked_header(path)


@pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)
def test_damage_of_both_headers_is_an_error(path, batches) -> None:
    index_of(path, *batches)
    data = bytearray(path.read_bytes())
    for place in (60, HEADER_BYTES + 100):
        data[place] ^= 1
    path.write_bytes(data)
    for act in (checked_header, open_index, lambda path: add(path, arrays([MORE]), EMPTY.fingerprint, means(path))):
        with pytest.raises(BadFile, match="damaged: neither of its headers is what was written; make it again"):
            act(path)
    assert path.read_bytes() == data


def test_an_addition_interrupted_while_it_tells_of_itself_is_there_or_is_not(path, monkeypatch) -> None:
    """What a header may speak of already is never cut off."""
    for number in range(4):
        whole = index_of(path, [TEXT * 9], [MORE])
        calls = []

        def fsync(file, number=number, calls=calls) -> None:
            calls.append(file)
            if len(calls) == number:
                raise Stop

        with monkeypatch.context() as patch:
            patch.setattr(writing.os, "fsync", fsync)
            with contextlib.suppress(Stop):
                add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
        assert len(calls) == (number or 3)
        assert checked_header(path).num_texts == whole.num_texts + (number != 1)
        path.unlink()


def test_damage_is_not_merged_into_a_new_segment(path) -> None:
    header = index_of(path, [TEXT])
    data = bytearray(path.read_bytes())
    data[header.segments[0].start * WORD_BYTES] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadFile, match="damaged"):
        add(path, arrays([MORE * 9]), EMPTY.fingerprint, means(path))
    assert path.read_bytes() == data


@pytest.mark.parametrize("length", [0, 1, 100, HEADER_BYTES, 2 * HEADER_BYTES, 2 * HEADER_BYTES + 20])
def test_a_truncated_file(path, length) -> None:
    index_of(path, [TEXT, MORE])
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(BadFile, match=r"truncated|no index of truedraw|damaged"):
        checked_header(path)


def test_foreign_files(path, tmp_path) -> None:
    for data in (b"", b"GGUF" + bytes(100), b"a text\n" * 9000, os.urandom(40_000)):
        path.write_bytes(data)
        with pytest.raises(BadFile, match="no index of truedraw"):
            open_index(path)
    with pytest.raises(BadFile, match="cannot be read"):
        open_index(tmp_path)
    with pytest.raises(BadFile, match="not there"):
        open_index(tmp_path / "missing.tdx")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of POSIX")
def test_what_never_ends_is_not_read(path) -> None:
    os.mkfifo(path)
    acts = {
        "info": checked_header,
        "open": open_index,
        "add": lambda path: add(path, arrays([MORE]), EMPTY.fingerprint, means(path)),
    }
    for act in acts.values():
        with pytest.raises(BadFile, match="it is no regular file; give one that"):
            act(path)
    for overwrite in (False, True):
        with pytest.raises(BadFile, match="it is no regular file; give another one"):
            build(path, arrays([TEXT]), EMPTY, means(path), overwrite)
    assert path.is_fifo()


def test_a_later_version_is_named(path) -> None:
    index_of(path, [TEXT])
    data = bytearray(path.read_bytes())
    for version in (9, 1):
        data[16] = data[HEADER_BYTES + 16] = version
        path.write_bytes(data)
        with pytest.raises(BadFile, match=f"version {version} of the index file; this truedraw reads version 2"):
            checked_header(path)


def test_a_link_stays_one_and_who_may_read_the_file_stays_the_same(path, tmp_path) -> None:
    """Made anew, and written anew because most of it was left over."""
    real = tmp_path / "elsewhere" / "y.tdx"
    real.parent.mkdir()
    path.symlink_to(real)
    build(path, arrays([TEXT]), EMPTY, means(path))
    real.chmod(0o600)
    with real.open("rb") as first:  # while it is open, no later file is given its number
        build(path, arrays([TEXT]), EMPTY, means(path), overwrite=True)
        for _ in range(12):
            add(path, arrays([MORE]), EMPTY.fingerprint, means(path))
        assert path.is_symlink()
        assert not os.path.samestat(real.stat(), os.fstat(first.fileno()))
    assert real.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in real.parent.iterdir()] == ["y.tdx"]


def test_what_was_never_an_index_is_not_written_over(path) -> None:
    path.write_bytes(b"somebody's weights")
    with pytest.raises(BadFile, match="is no index of truedraw, so none is made in its place; give another file"):
        build(path, arrays([TEXT]), EMPTY, means(path), overwrite=True)
    assert path.read_bytes() == b"somebody's weights"


@pytest.mark.parametrize(
    "body",
    [b"no JSON", b"\xff", b"[]", b"[" * 8000, b"{}", b'{"segments": [{}]}',
     b'{"model": "m", "fingerprint": "f", "segments": [], "end": "there"}'],
)  # fmt: skip
def test_headers_that_say_nonsense_count_as_damaged(path, body) -> None:
    index_of(path, [TEXT])
    whole = path.read_bytes()
    header = headers.FRAME.pack(headers.MAGIC, headers.VERSION, len(body), headers.checksum_of(body)) + body
    odd = header.ljust(HEADER_BYTES, b"\0")
    path.write_bytes(odd + whole[HEADER_BYTES:])
    assert checked_header(path).num_texts == 1
    path.write_bytes(odd + odd + whole[2 * HEADER_BYTES :])
    with pytest.raises(BadFile, match="damaged: neither of its headers"):
        checked_header(path)
