"""Converted weights go when what they were made from has changed; those of other models and other forms stay."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

import pytest

from engine.decoder import tiny_checkpoint
from truedraw.engine.constants import converted, replaced, store
from truedraw.engine.constants.mapped import DATA
from truedraw.engine.constants.replaced import INDEX
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.openvino import compiling
from truedraw.models import fingerprint
from truedraw.protocol import Work


def model_file(folder, name: str = "model.gguf"):
    file = folder / name
    file.write_bytes(b"weights")
    return replace(tiny_checkpoint(), path=file)


def loaded(checkpoint, cache, **options):
    return CPUEngine.load(checkpoint, numerics="reference", cache=cache, cache_bytes=8 << 20, **options)


def entries(cache) -> set[str]:
    return {data.parent.name for data in cache.rglob(DATA)}


def changed(checkpoint):
    """Other weights, of which a sample tells."""
    checkpoint.path.write_bytes(checkpoint.path.read_bytes() + b"!")
    return replace(checkpoint, fingerprint=f"{checkpoint.fingerprint}!")


def test_a_changed_file_leaves_one_conversion_and_open_models_go_on(tmp_path) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    first = loaded(checkpoint, cache)
    before = entries(cache)
    loaded(changed(checkpoint), cache).close()
    assert len(entries(cache)) == 1
    assert entries(cache) != before
    assert first.forward([Work(first.open([1, 2, 3]))])[0].logits.any()
    first.close()
    assert [each.suffix for each in (cache / "converted" / ".staging").iterdir() if each.suffix != ".lock"] == []


def test_other_models_and_other_weights_stay(tmp_path) -> None:
    cache, one, other = tmp_path / "cache", model_file(tmp_path), model_file(tmp_path, "other.gguf")
    loaded(changed(other), cache).close()
    loaded(one, cache, weights="int8").close()
    kept = entries(cache)
    loaded(one, cache).close()
    loaded(changed(changed(one)), cache).close()
    assert len(entries(cache)) == 3 > len(kept & entries(cache)) == 2


def converts(monkeypatch) -> list[object]:
    """What is converted from now on."""
    written, write = [], store._write
    monkeypatch.setattr(store, "_write", lambda *given: (written.append(given), write(*given)))
    return written


def test_a_change_that_no_sample_and_no_time_tells_of_is_seen(tmp_path, monkeypatch) -> None:
    cache, checkpoint, written = tmp_path / "cache", model_file(tmp_path), converts(monkeypatch)
    os.utime(checkpoint.path, ns=(10**18, 10**18))
    loaded(checkpoint, cache).close()
    checkpoint.path.write_bytes(b"weighty")
    os.utime(checkpoint.path, ns=(10**18, 10**18))
    loaded(checkpoint, cache).close()
    loaded(checkpoint, cache).close()
    assert (len(written), len(entries(cache))) == (2, 1)


def test_two_models_that_differ_where_no_sample_looks_keep_their_own(tmp_path, monkeypatch) -> None:
    cache, one, other = tmp_path / "cache", model_file(tmp_path), model_file(tmp_path, "other.gguf")
    other.path.write_bytes(b"weighty")
    written = converts(monkeypatch)
    for _ in range(2):
        for each in (one, other):
            loaded(each, cache).close()
    assert (len(written), len(entries(cache))) == (2, 2)


def test_a_file_that_was_only_touched_is_read_once_more_and_not_converted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fingerprint, "TICK_SECONDS", 0.0)
    cache, checkpoint, written = tmp_path / "cache", model_file(tmp_path), converts(monkeypatch)
    loaded(checkpoint, cache).close()
    os.utime(checkpoint.path, ns=(10**18, 10**18))
    loaded(checkpoint, cache).close()
    monkeypatch.setattr(converted, "digest_of", lambda file: pytest.fail("it was read again"))
    loaded(checkpoint, cache).close()
    assert len(written) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes there")
def test_a_file_with_a_name_of_any_bytes_is_converted_once(tmp_path, monkeypatch) -> None:
    cache, written = tmp_path / "cache", converts(monkeypatch)
    checkpoint = model_file(tmp_path, os.fsdecode(b"m\xff.gguf"))
    for _ in range(2):
        loaded(checkpoint, cache).close()
    assert (len(written), len(entries(cache))) == (1, 1)


@pytest.mark.parametrize("key", ["offset", "shape", "dtype"])
def test_a_table_with_another_number_is_not_believed(tmp_path, monkeypatch, key) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    (index,) = cache.rglob(INDEX)
    told = json.loads(index.read_text())
    next(iter(told["arrays"].values()))[key] = {"offset": 64, "shape": [1], "dtype": "<i2"}[key]
    index.write_text(json.dumps(told))
    written = converts(monkeypatch)
    loaded(checkpoint, cache).close()
    assert len(written) == 1


def test_a_file_in_place_of_a_conversion_is_replaced(tmp_path) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    (index,) = cache.rglob(INDEX)
    index.parent.rename(tmp_path / "gone")
    index.parent.touch()
    loaded(checkpoint, cache).close()
    assert index.exists()


def test_damage_behind_the_first_piece_is_seen(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(store, "PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(store, "BLOCK_BYTES", 1 << 12)
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    (data,) = cache.rglob(DATA)
    content = bytearray(data.read_bytes())
    assert len(content) > 3 << 14
    for place in (2 << 14, len(content) - 1):
        content[place] ^= 1
        data.write_bytes(content)
        written = converts(monkeypatch)
        loaded(checkpoint, cache).close()
        assert len(written) == 1
        monkeypatch.undo()
        monkeypatch.setattr(store, "PIECE_BYTES", 1 << 14)
        monkeypatch.setattr(store, "BLOCK_BYTES", 1 << 12)


def test_the_form_before_there_were_names_of_forms_goes(tmp_path) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    (index,) = cache.rglob(INDEX)
    told = json.loads(index.read_text())
    told[replaced.ORIGIN] |= {"policy": told[replaced.ORIGIN]["policy"].partition(" ")[0], "version": 2}
    index.write_text(json.dumps(told))
    index.parent.rename(index.parent.with_name("0" * 32))
    loaded(checkpoint, cache).close()
    assert len(entries(cache)) == 1
    assert entries(cache) != {"0" * 32}


def test_an_earlier_form_goes_and_a_newer_one_stays(tmp_path, monkeypatch) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    for version, count in ((5, 1), (6, 1), (4, 2)):
        monkeypatch.setattr(compiling, "FORM", ("graph", version))
        loaded(checkpoint, cache).close()
        assert len(entries(cache)) == count


@pytest.mark.parametrize("origin", [None, {"path": 1}, ["no", "mapping"]])
def test_what_does_not_say_whose_it_is_stays(tmp_path, origin) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    (index,) = cache.rglob(INDEX)
    told = json.loads(index.read_text()) | {replaced.ORIGIN: origin}
    index.write_text(json.dumps(told))
    loaded(changed(checkpoint), cache).close()
    assert len(entries(cache)) == 2


def test_what_is_removed_while_it_is_looked_at_is_converted_again(tmp_path, monkeypatch) -> None:
    cache, checkpoint = tmp_path / "cache", model_file(tmp_path)
    loaded(checkpoint, cache).close()
    whole, seen = store.whole, []

    def then_removed(entry):
        found = whole(entry)
        if not seen:
            seen.append(found)
            entry.rename(tmp_path / "gone")
        return found

    monkeypatch.setattr(store, "whole", then_removed)
    loaded(checkpoint, cache).close()
    assert seen == [True]
    assert len(entries(cache)) == 1
