"""Matrices of a head that are laid out once and kept: the same bits the next time, and never those of other numbers."""

from __future__ import annotations

import errno
from dataclasses import replace
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
from truedraw.engine.constants import store
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
    cell_of(file, TargetRows(held, held, kept_in=tmp_path / "kept"), threads=1)
    for module in (recurrent, attentive):
        monkeypatch.setattr(module, "blocks_of", refused)
    again = cell_of(file, TargetRows(held, held, kept_in=tmp_path / "kept"), threads=1)
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
    of_the_file = other in {"numbers", "card"}
    assert len(entries(folder)) == (1 if of_the_file else 2)  # what was made of an earlier file of that name is gone


def test_two_targets_of_one_head_do_not_drive_each_other_out(tmp_path) -> None:
    file, folder, made = file_of(tmp_path / "h.safetensors"), tmp_path / "kept", []
    for _ in range(3):
        for rows in (Matrix(TABLE), quantise(TABLE)):
            kept_blocks(file, rows, folder, lambda rows=rows: made.append(rows) or step_blocks(file))
    assert len(made) == 2


def test_of_heads_that_are_gone_nothing_is_kept(tmp_path) -> None:
    folder = tmp_path / "kept"
    for seed, name in enumerate("ab"):
        file = file_of(tmp_path / name, seed=seed)
        kept_blocks(file, None, folder, partial(step_blocks, file))
    assert len(entries(folder)) == 2
    (tmp_path / "a").unlink()
    last = file_of(tmp_path / "c", seed=3)
    kept_blocks(last, None, folder, partial(step_blocks, last))
    assert len(entries(folder)) == 2


@pytest.mark.parametrize("changed", ["sources", "HAS_HALVES"])
def test_other_code_makes_it_anew(tmp_path, monkeypatch, changed: str) -> None:
    file, folder = file_of(tmp_path / "h.safetensors"), tmp_path / "kept"
    kept_blocks(file, None, folder, partial(step_blocks, file))
    monkeypatch.setattr(kept, changed, (lambda _: "other") if changed == "sources" else not kept.HAS_HALVES)
    with pytest.raises(AssertionError, match="made again"):
        kept_blocks(file, None, folder, refused)


def test_a_card_with_a_figure_that_is_none_keeps_nobody_from_drafting(tmp_path) -> None:
    """Of heads written before such figures were refused."""
    file = file_of(tmp_path / "h.safetensors")
    file.card = replace(file.card, training={"loss": float("nan")})
    assert len(kept_blocks(file, None, tmp_path / "kept", partial(step_blocks, file))) == len(step_blocks(file))


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


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_folder_that_takes_nothing_keeps_nobody_from_drafting(tmp_path, monkeypatch, number: int) -> None:
    """Nor is anything written elsewhere."""

    def full(*_args):
        raise OSError(number, "refused")

    monkeypatch.setattr(store, "mkdtemp", refused)
    monkeypatch.setattr(kept, "write_kind", full)
    file = file_of(tmp_path / "h.safetensors")
    found = kept_blocks(file, None, tmp_path / "kept", partial(step_blocks, file))
    np.testing.assert_array_equal(found[0].codes, step_blocks(file)[0].codes)
    assert not entries(tmp_path / "kept")
