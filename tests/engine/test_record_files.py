"""Records: written whole or not at all, and whatever stands in the place of one is replaced."""

from __future__ import annotations

import os
from time import time

from truedraw.engine.record_files import drop_record, read_record, write_record
from truedraw.whole_files import STALE_SECONDS


def test_parts_of_killed_processes_go_when_they_are_old(tmp_path) -> None:
    file = tmp_path / "passes-1.json"
    old, fresh, other = (
        tmp_path / f"{name}.truedraw.part" for name in ("passes-1.json.7-7", "passes-1.json.8-8", "passes-2.json.7-7")
    )
    for part in (old, fresh, other):
        part.touch()
    for part in (old, other):
        os.utime(part, (time() - STALE_SECONDS - 9,) * 2)
    write_record(file, [1])
    assert [each.exists() for each in (old, fresh, other)] == [False, True, True]
    assert read_record(file) == [1]


def test_a_folder_in_place_of_a_record_is_replaced(tmp_path) -> None:
    file = tmp_path / "passes-1.json"
    (file / "deep").mkdir(parents=True)
    write_record(file, [1])
    assert read_record(file) == [1]
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_folder_in_place_of_a_record_is_dropped(tmp_path) -> None:
    file = tmp_path / "passes-1.json"
    file.mkdir()
    drop_record(file, 10.0, time() + 60.0)
    assert not file.exists()
