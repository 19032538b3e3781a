"""Checkpoints: whole or not at all, and the one before is kept."""

import numpy as np
import pytest
from safetensors.numpy import save

from truedraw.distill.checkpoint import before, forget_checkpoints, read_beside, read_checkpoint, write_checkpoint
from truedraw.distill.stages import begin_checkpoint
from truedraw.errors import BadFile

ARRAYS = {"weight.up": np.arange(6, dtype=np.float32).reshape(2, 3), "tokens": np.array([1, 5])}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lk.checkpoint"


def test_it_is_read_as_it_was_written(path):
    assert read_checkpoint(path) is None
    write_checkpoint(path, ARRAYS, {"step": 3, "looks": [{"tokens": 1.5}]})
    arrays, facts = read_checkpoint(path)
    assert facts == {"step": 3, "looks": [{"tokens": 1.5}]}
    assert set(arrays) == set(ARRAYS)
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], values)
    assert not before(path).exists()


def test_a_cut_one_is_refused_and_the_one_before_named(path):
    write_checkpoint(path, ARRAYS, {"step": 1})
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(BadFile, match=r"is cut or damaged.*remove it to train anew; texts and features are kept"):
        read_checkpoint(path)
    forget_checkpoints(path)
    for step in (1, 2):
        write_checkpoint(path, ARRAYS, {"step": step})
    path.write_bytes(b"")
    with pytest.raises(BadFile, match=r"the last good one is .*before: move it"):
        read_checkpoint(path)
    before(path).replace(path)
    assert read_checkpoint(path)[1] == {"step": 1}


def test_a_damaged_one_of_the_same_length_is_refused(path):
    arrays = {**ARRAYS, "none": np.zeros((0, 3), np.float32), "one": np.array(2.5), "switch": np.array([True])}
    write_checkpoint(path, arrays, {"step": 1})
    assert set(read_checkpoint(path)[0]) == set(arrays)
    whole = path.read_bytes()
    for place in (whole.index(b"step") - 1 + 8, *range(len(whole) - 40, len(whole))):
        changed = bytearray(whole)
        changed[place] ^= 2
        path.write_bytes(changed)
        with pytest.raises(BadFile, match="is cut or damaged"):
            read_checkpoint(path)


def test_one_of_before_there_were_checksums_is_read(path):
    path.write_bytes(save(ARRAYS, {"facts": '{"step": 1}'}))
    assert read_checkpoint(path)[1] == {"step": 1}


@pytest.mark.parametrize("contents", [b"\x00" * 40, b"\xff" * 100, "Ω≠".encode()])
def test_something_else_is_refused(path, contents):
    path.write_bytes(contents)
    with pytest.raises(BadFile, match="is cut or damaged"):
        read_checkpoint(path)


def test_an_array_that_it_lacks_is_told_where_it_is_asked_for(path):
    write_checkpoint(path, ARRAYS, {"step": 1})
    arrays = read_checkpoint(path)[0]
    assert "weight.down" not in arrays
    with pytest.raises(
        BadFile, match=r"lk\.checkpoint is cut or damaged \(it lacks weight\.down\); remove it to train"
    ):
        arrays["weight.down"]


def test_one_that_is_gone_beside_another(path):
    best = path.with_name("lk.best.checkpoint")
    for step in (1, 2):
        write_checkpoint(best, ARRAYS, {"step": step})
    assert set(read_beside(best, path)) == set(ARRAYS)
    best.unlink()
    with pytest.raises(BadFile, match=r"lk\.best\.checkpoint is gone, and .*; the last good one is .*before: move it"):
        read_beside(best, path)
    before(best).unlink()
    with pytest.raises(BadFile, match=r"is gone, and .*; remove .*/lk\.checkpoint to train anew; texts and features"):
        read_beside(best, path)


def test_one_that_cannot_be_written_leaves_what_was_there(path, monkeypatch):
    write_checkpoint(path, ARRAYS, {"step": 1})

    def full(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truedraw.whole_files.os.fsync", full)
    with pytest.raises(BadFile, match="No space left on device; make room"):
        write_checkpoint(path, ARRAYS, {"step": 2})
    assert read_checkpoint(path)[1] == {"step": 1}
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_one_of_other_settings_is_named_and_the_texts_stay(path):
    begin_checkpoint(path, {"learning_rate": 1.0}, overwrite=False)
    path.write_bytes(b"state")
    with pytest.raises(BadFile, match=r"learning_rate was 1.0, is 2.0; give another --work, or remove .*lk.checkpoint"):
        begin_checkpoint(path, {"learning_rate": 2.0}, overwrite=False)
