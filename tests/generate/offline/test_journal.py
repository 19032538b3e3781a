import json
import os
from errno import EIO, ENOSPC
from io import BytesIO

import pytest

from truedraw.errors import BadFile
from truedraw.generate.offline.journal import Journal, _end_of_last_line, read_records, to_line
from truedraw.generate.offline.settings import CONTENTS

SETTINGS = {"kind": "test", "seed": 1}
RECORDS = [{"line": i, "text": text} for i, text in enumerate(["plain", "zwei\nZeilen", "\N{GRINNING FACE}\u2028", ""])]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.jsonl"


def written(path, records=RECORDS):
    with Journal(path, SETTINGS) as journal:
        for record in records:
            journal.append(record)
    return path.read_bytes()


def test_one_line_a_record_that_others_can_read(path):
    lines = written(path).decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == RECORDS
    assert lines[-1] == ""


def test_it_goes_on_where_it_was(path):
    written(path, RECORDS[:2])
    with Journal(path, SETTINGS) as journal:
        assert list(journal.records()) == RECORDS[:2]
        journal.append(RECORDS[2])
    assert list(read_records(path)) == RECORDS[:3]


def test_whatever_byte_a_kill_fell_on_the_whole_lines_stay_and_nothing_else(path):
    whole = written(path)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = whole[:size].count(b"\n")
        with Journal(path, SETTINGS) as journal:
            assert list(journal.records()) == RECORDS[:kept]
            journal.append({"line": 99})
        assert list(read_records(path)) == [*RECORDS[:kept], {"line": 99}]


def test_a_long_half_line_is_cut_off_too(path):
    whole = written(path, RECORDS[:1])
    path.write_bytes(whole + b"x" * 300_000)
    with Journal(path, SETTINGS):
        assert path.read_bytes() == whole


def test_the_last_line_is_found_where_blocks_meet():
    for block in range(1, 9):
        assert _end_of_last_line(BytesIO(b"ab\ncdef"), 7, block) == 3


def test_a_line_that_is_being_written_is_no_record_yet(path):
    path.write_bytes(written(path) + b'{"line"')
    assert list(read_records(path)) == RECORDS


def test_a_half_surrogate_pair_and_no_nan():
    assert json.loads(to_line({"text": "\ud83d"})) == {"text": "\ud83d"}
    with pytest.raises(ValueError, match="JSON"):
        to_line({"x": float("nan")})


@pytest.mark.parametrize("beside", ["", "\ud83d"], ids=ascii)
def test_a_record_holds_no_control_characters(beside):
    record = {"id\x9b": "".join(map(chr, range(0x100))) + beside}
    line = to_line(record)
    assert json.loads(line) == record
    assert all(each.isprintable() or each in "\xa0\xad" for each in line.decode().removesuffix("\n"))


def test_other_settings_are_one_error_that_names_them_and_changes_nothing(path):
    whole = written(path)
    path.write_bytes(whole + b'{"half')
    with pytest.raises(BadFile, match=r"seed was 1, is 2.*--overwrite"):
        Journal(path, {**SETTINGS, "seed": 2})
    assert path.read_bytes() == whole + b'{"half'


def test_nested_settings_and_long_ones(path):
    with Journal(path, {"sampling": {"top_k": 3, "stop": ("a",)}, "prompts": ["x" * 500]}) as journal:
        journal.append({})
    Journal(path, {"sampling": {"top_k": 3, "stop": ("a",)}, "prompts": ["x" * 500]}).close()
    with pytest.raises(BadFile) as caught:
        Journal(path, {"sampling": {"top_k": 3, "min_p": 0.1}, "prompts": ["y"]})
    said = str(caught.value)
    assert "sampling.stop was" in said
    assert "sampling.min_p was not given, is 0.1" in said
    assert len(said) < 400


def test_a_message_shows_where_two_long_settings_differ(path):
    points = [{"temperature": number, "top_p": 0.9} for number in range(9)]
    with Journal(path, {"points": points}) as journal:
        journal.append({})
    with pytest.raises(BadFile, match=r"points was ….*7, .*….*, is .*77, .*"):
        Journal(path, {"points": [*points[:7], {"temperature": 77, "top_p": 0.9}, points[8]]})


@pytest.mark.parametrize(
    ("before", "now"), [([1] * 100, [1] * 101), ("a" * 59, "a" * 60), ("é" * 200, "é" * 99), ([], [0] * 50)]
)
def test_what_a_message_shows_of_two_settings_is_never_the_same(path, before, now):
    with Journal(path, {"points": before}) as journal:
        journal.append({})
    with pytest.raises(BadFile) as caught:
        Journal(path, {"points": now})
    was, found = str(caught.value).split("points was ")[1].split("; ")[0].rsplit(", is ", 1)
    assert was != found


def test_settings_of_a_run_that_got_nowhere_bind_nobody(path):
    written(path, [])
    with Journal(path, {"kind": "test", "seed": 2}) as journal:
        journal.append({})
    with pytest.raises(BadFile, match="seed was 2, is 1"):
        Journal(path, SETTINGS)


def test_overwrite_takes_a_file_of_somebody_else(path):
    path.write_text("a line without settings\n")
    with Journal(path, SETTINGS, overwrite=True) as journal:
        journal.append(RECORDS[0])
    with Journal(path, SETTINGS) as journal:
        assert list(journal.records()) == RECORDS[:1]


def test_overwrite_begins_anew(path):
    written(path)
    with Journal(path, {"kind": "test", "seed": 2}, overwrite=True) as journal:
        assert list(journal.records()) == []
        journal.renew()
    assert path.read_bytes() == b""


def test_a_file_of_somebody_else_is_left_alone(path):
    path.write_bytes(b"my novel, without a final line break")
    with pytest.raises(BadFile, match="not begun by a run like this"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == b"my novel, without a final line break"


@pytest.mark.parametrize("damage", [b"nonsense\n", b"[1]\n", b"\xff\n", b"\0\0\n"])
def test_a_damaged_line_in_the_middle_is_named(path, damage):
    whole = written(path)
    path.write_bytes(whole[: whole.index(b"\n") + 1] + damage + whole[whole.index(b"\n") + 1 :])
    with Journal(path, SETTINGS) as journal, pytest.raises(BadFile, match="line 2: "):
        list(journal.records())


def test_broken_settings_are_named(path):
    written(path)
    (path.parent / "out.jsonl.settings.json").write_text("{")
    with pytest.raises(BadFile, match=r"settings\.json is not what a run wrote"):
        Journal(path, SETTINGS)


@pytest.mark.parametrize("make", [lambda path, place: None, lambda path, place: path.symlink_to(place)])
def test_where_no_settings_can_be_written_no_file_is_left(tmp_path, make):
    """The name that theirs is made of was nearly as long as one may be."""
    path, place = tmp_path / ("a" * 245), tmp_path / ("b" * 245)
    make(path, place)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(BadFile, match="cannot be written: File name too long"):
        Journal(path, SETTINGS)
    assert sorted(os.listdir(tmp_path)) == before
    place.touch()
    with pytest.raises(BadFile, match="cannot be written: File name too long"):
        Journal(place, SETTINGS)
    assert place.exists()


def test_two_at_once(path):
    pytest.importorskip("fcntl")
    with Journal(path, SETTINGS) as journal:
        journal.append({})
        with pytest.raises(BadFile, match="another process"):
            Journal(path, SETTINGS)
        with pytest.raises(BadFile, match="another process"):
            Journal(path, SETTINGS, overwrite=True)
        assert list(journal.records()) == [{}]


def test_a_full_disk_leaves_the_file_free_for_others(path, monkeypatch):
    def full(_number):
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    journal = Journal(path, SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr("truedraw.generate.offline.journal.os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            journal.close()
    written(path)
    assert list(read_records(path)) == RECORDS


def test_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "folder.jsonl"):
        with pytest.raises(BadFile, match=str(path)):
            Journal(path, SETTINGS)
    if os.path.exists("/dev/null"):
        with pytest.raises(BadFile, match="no regular file"):
            Journal(type(tmp_path)("/dev/null"), SETTINGS)


NAMED = {"kind": "test", "model": "small", "amateur": None, CONTENTS: {"model": "3f2a", "amateur": None}}


def test_a_model_is_what_its_files_hold(path):
    with Journal(path, NAMED) as journal:
        journal.append({})
    Journal(path, {**NAMED, "model": "./elsewhere/small.gguf"}).close()
    with pytest.raises(BadFile, match=r'contents\.model was "3f2a", is "77c0"'):
        Journal(path, {**NAMED, CONTENTS: {"model": "77c0", "amateur": None}})
    with pytest.raises(BadFile, match=r'model was "small", is "other"; contents\.model was "3f2a", is "77c0"'):
        Journal(path, {**NAMED, "model": "other", CONTENTS: {"model": "77c0", "amateur": None}})
    with pytest.raises(BadFile, match=r'amateur was null, is "small"'):
        Journal(path, {**NAMED, "amateur": "small", CONTENTS: {"model": "3f2a", "amateur": "3f2a"}})


def test_without_known_contents_names_count(path):
    toy = {**NAMED, CONTENTS: {"model": None, "amateur": None}}
    with Journal(path, toy) as journal:
        journal.append({})
    Journal(path, toy).close()
    for other in ({**toy, "model": "other"}, {**toy, "model": "other", CONTENTS: None}):
        with pytest.raises(BadFile, match='model was "small", is "other"'):
            Journal(path, other)


def is_wanted_again(record):
    return record.get("text", "x") in ("", "plain")


def test_records_that_are_dropped_leave_all_others_as_they_were(path):
    lines = written(path).splitlines(keepends=True)
    path.chmod(0o640)
    with Journal(path, SETTINGS) as journal:
        journal.drop(is_wanted_again)
        assert path.read_bytes() == b"".join(lines[1:3])
        journal.append({"line": 99})
        journal.drop(is_wanted_again)
        with pytest.raises(BadFile, match="another process"):
            Journal(path, SETTINGS)
    assert path.read_bytes() == b"".join(lines[1:3]) + b'{"line": 99}\n'
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in path.parent.iterdir()) == ["out.jsonl", "out.jsonl.settings.json"]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files are listed there")
def test_a_file_that_gave_way_is_closed(path):
    written(path)
    with Journal(path, SETTINGS) as journal:
        before = os.listdir("/proc/self/fd")
        journal.drop(is_wanted_again)
        assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_file_that_is_called_like_a_part_of_it_stays(path):
    written(path)
    others = [path.with_name(f"{path.name}{ending}") for ending in (".part", ".1.part", ".tmp")]
    for other in others:
        other.write_text("prompts")
    with Journal(path, SETTINGS) as journal:
        journal.drop(is_wanted_again)
    assert [other.read_text() for other in others] == ["prompts"] * 3


def test_a_link_to_the_file_stays_a_link(path):
    whole, link = written(path), path.with_name("link.jsonl")
    (path.parent / "out.jsonl.settings.json").rename(path.parent / "link.jsonl.settings.json")
    link.symlink_to(path)
    with Journal(link, SETTINGS) as journal:
        journal.drop(is_wanted_again)
    assert link.is_symlink()
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[1:3])


def test_where_systems_have_no_locks(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fcntl", None)
    whole = written(path)
    with Journal(path, SETTINGS) as journal:
        journal.drop(is_wanted_again)
        journal.append({"line": 99})
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[1:3]) + b'{"line": 99}\n'


@pytest.mark.parametrize("locks", [True, False])
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
def test_a_disk_that_fails_while_records_are_dropped_costs_nothing(path, monkeypatch, step, locks):
    whole = written(path)
    if not locks:
        monkeypatch.setitem(__import__("sys").modules, "fcntl", None)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with Journal(path, SETTINGS) as journal:
        with monkeypatch.context() as broken:
            broken.setattr(step, fail)
            with pytest.raises(BadFile, match=r"out\.jsonl cannot be written: No space.*; make room"):
                journal.drop(is_wanted_again)
        assert path.read_bytes() == whole
        journal.append({"line": 99})
    assert path.read_bytes() == whole + b'{"line": 99}\n'
    assert sorted(file.name for file in path.parent.iterdir()) == ["out.jsonl", "out.jsonl.settings.json"]


def test_who_waited_for_a_file_that_was_replaced_does_not_write_into_nothing(path, monkeypatch):
    """Between opening the file and locking it another process may put a new one there."""
    flock = pytest.importorskip("fcntl").flock
    written(path)

    def late(file, how):
        flock(file, how)
        path.with_name("other").write_bytes(b"{}\n")
        path.with_name("other").replace(path)

    monkeypatch.setattr("fcntl.flock", late)
    with pytest.raises(BadFile, match="another process"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == b"{}\n"


def failing(path, settings, records=()):
    """A run that is to overwrite, and fails behind so many records."""
    with Journal(path, settings, overwrite=True) as journal:
        assert list(journal.records()) == []
        for record in records:
            journal.append(record)
        raise RuntimeError("the model cannot be run")


def test_what_is_to_be_overwritten_stays_until_there_is_something_else(path):
    whole, other = written(path), {"kind": "test", "seed": 2}
    with pytest.raises(RuntimeError):
        failing(path, other)
    assert path.read_bytes() == whole
    with Journal(path, SETTINGS) as journal:  # of the earlier run, still
        assert list(journal.records()) == RECORDS
    with pytest.raises(RuntimeError):
        failing(path, other, [{"line": 7}])
    assert list(read_records(path)) == [{"line": 7}]
    with pytest.raises(BadFile, match="seed was 2, is 1"):
        Journal(path, SETTINGS)


def test_settings_that_cannot_be_replaced_are_said_before_anything_is_lost(path):
    whole = written(path)
    (path.parent / "out.jsonl.settings.json").unlink()
    (path.parent / "out.jsonl.settings.json").mkdir()
    with pytest.raises(BadFile, match=r"settings\.json is no regular file"):
        Journal(path, SETTINGS, overwrite=True)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("what", ["removed", "moved", "replaced", "folder"])
def test_results_that_are_gone_are_not_said_to_be_there(tmp_path, what):
    path, elsewhere = tmp_path / "folder" / "out.jsonl", tmp_path / "elsewhere"
    path.parent.mkdir()
    journal = Journal(path, {})
    journal.append({"line": 1})
    (path.parent if what == "folder" else path).rename(elsewhere)
    if what == "removed":
        elsewhere.unlink()
    if what == "replaced":
        path.write_text("")
    with pytest.raises(BadFile, match=r"out\.jsonl was removed or moved"):
        journal.close()


def test_a_file_that_the_disk_does_not_give_back_is_said_to_be_unreadable(path, monkeypatch):
    with Journal(path, SETTINGS) as journal:
        journal.append({"line": 1})

    def failing(*_given):
        raise OSError(EIO, "Input/output error")

    monkeypatch.setattr("truedraw.generate.offline.journal._end_of_last_line", failing)
    with pytest.raises(BadFile, match="cannot be read: Input/output error"):
        Journal(path, SETTINGS)
