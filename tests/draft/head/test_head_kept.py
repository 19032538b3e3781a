"""Matrices of a head that are laid out once and kept: the same bits the next time, and never those of other numbers."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from draft.head.random_heads import VOCAB, WIDTH, card, write
from truedraw.draft.head import kept
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kept import kept_blocks
from truedraw.draft.head.kinds import attentive, cell_of, recurrent
from truedraw.draft.head.kinds.recurrent import step_blocks
from truedraw.engine.constants.matrix import Matrix
from truedraw.engine.constants.rounding import quantise
from truedraw.errors import BadFile

TABLE = np.random.default_rng(3).normal(size=(VOCAB, WIDTH)).astype(np.float32)


def entries(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")]


def file_of(path: Path, seed: int = 1, kind: str = "recurrent", **changes) -> HeadFile:
    return HeadFile(write(path, card(kind=kind, **changes), seed=seed))


def refused(*_args) -> None:
    raise AssertionError("made again")


def test_what_was_kept_is_read_and_not_made(tmp_path) -> None:
    file = file_of(tmp_path / "h.safetensors")
    made = step_blocks(file)
    for make in (partial(step_blocks, file), refused):
        found = kept_blocks(file, None, tmp_path / "kept", make)
        assert len(found) == len(made)
        for one, other in zip(found, made, strict=True):
            for part, expected in zip(one, other, strict=True):
                assert part.dtype == expected.dtype
                np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("kind", ["recurrent", "attentive"])
def test_a_head_says_the_same_from_what_was_kept(tmp_path, monkeypatch, kind: str) -> None:
    file, held = file_of(tmp_path / "h.safetensors", kind=kind), quantise(TABLE)
    features = np.random.default_rng(4).normal(size=(3, file.card.streams, WIDTH)).astype(np.float32)
    usual = cell_of(file, TargetRows(held, held), threads=1).begin(features, np.arange(3))
    cell_of(file, TargetRows(held, held, folder=tmp_path / "kept"), threads=1)
    for module in (recurrent, attentive):
        monkeypatch.setattr(module, "blocks_of", refused)
    again = cell_of(file, TargetRows(held, held, folder=tmp_path / "kept"), threads=1)
    for one, other in zip(again.begin(features, np.arange(3)), usual, strict=True):
        np.testing.assert_array_equal(one, other)


OTHERS = {
    "numbers": lambda path, rows: (file_of(path, seed=2), rows),
    "card": lambda path, rows: (file_of(path, target="another"), rows),
    "rows of the target": lambda path, rows: (file_of(path), Matrix(rows.values + 1)),
    "form of these": lambda path, rows: (file_of(path), quantise(rows.values)),
    "none of these": lambda path, rows: (file_of(path), None),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_was_made_of_something_else_is_not_taken(tmp_path, other: str) -> None:
    rows, folder, made = Matrix(TABLE), tmp_path / "kept", []
    path = tmp_path / "h.safetensors"
    for file, written in ((file_of(path), rows), OTHERS[other](path, rows)):
        kept_blocks(file, written, folder, lambda file=file: made.append(file) or step_blocks(file))
    assert len(made) == 2
    assert len(entries(folder)) == 1  # what was made of the earlier file of that name is gone


def test_what_was_damaged_is_made_again(tmp_path) -> None:
    file, folder = file_of(tmp_path / "h.safetensors"), tmp_path / "kept"
    expected = kept_blocks(file, None, folder, partial(step_blocks, file))
    [entry] = entries(folder)
    data = bytearray((entry / "constants.bin").read_bytes())
    data[len(data) // 2] ^= 1
    (entry / "constants.bin").write_bytes(data)
    with pytest.raises(AssertionError, match="made again"):
        kept_blocks(file, None, folder, refused)
    found = kept_blocks(file, None, folder, partial(step_blocks, file))
    np.testing.assert_array_equal(found[0].codes, expected[0].codes)


def test_a_damaged_head_is_refused_and_nothing_is_kept(tmp_path) -> None:
    file, folder = file_of(tmp_path / "h.safetensors"), tmp_path / "kept"
    with pytest.raises(BadFile, match="lacks asking"):
        kept_blocks(file, None, folder, partial(attentive._own_blocks, file))
    assert not entries(folder)


def test_a_full_disk_keeps_nobody_from_drafting(tmp_path, monkeypatch) -> None:
    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept, "write_kind", full)
    file = file_of(tmp_path / "h.safetensors")
    found = kept_blocks(file, None, tmp_path / "kept", partial(step_blocks, file))
    np.testing.assert_array_equal(found[0].codes, step_blocks(file)[0].codes)
    assert not entries(tmp_path / "kept")
