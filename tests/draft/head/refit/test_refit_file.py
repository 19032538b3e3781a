"""A head's file with what was learnt in it: written whole, read again, gone on from, and damaged ones."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file

from draft.head.random_heads import KNOWN, VOCAB, WIDTH, card, write
from draft.head.test_head_file import changed
from draft.head.test_head_opening import models
from draft.head.test_medusa_folder import tensors
from draft.head.test_medusa_folder import write as write_medusa
from truedraw.draft.head.file import HeadFile, read_card
from truedraw.draft.head.refit.cell import CorrectedCell
from truedraw.draft.head.refit.correction import RANK
from truedraw.draft.head.refit.file import joined
from truedraw.draft.head.refit.learning import Learnt, Refit
from truedraw.errors import BadFile, BadParameter


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "head.safetensors")


def taught(drafts, path, seed=2, helps=True) -> Refit:
    """As if something had been learnt."""
    refit, rng = drafts.refit(path), np.random.default_rng(seed)
    refit._learnt = type(refit._learnt)(*(rng.normal(size=part.shape).astype(np.float32) for part in refit._learnt))
    refit._gains.best, refit._stepped, refit._sums = int(helps), 100, np.array([200.0, 60.0, 80.0])
    return refit


def said(cell):
    """Logits of a few rows, two levels deep."""
    rng = np.random.default_rng(5)
    states, first = cell.begin(rng.normal(size=(3, 3, WIDTH)).astype(np.float32), np.array([1, 2, 3]))
    first = first.copy()
    return first, cell.step(states.copy(), np.array([4, 5, 6]))[1].copy()


def test_the_next_start_begins_there(path, tmp_path) -> None:
    drafts, to = models(), tmp_path / "refitted Ω.safetensors"
    refit = taught(drafts, path)
    learnt = drafts.save_refit(to, path)
    assert (learnt.places, learnt.acceptance) == (100, (0.3, 0.4))
    assert read_card(to).training["refit"] == {"places": 100, "acceptance": [0.3, 0.4]}
    before, now, again = (said(cell) for cell in (drafts.head(path).cell, refit.cell(), models().head(to).cell))
    assert not np.allclose(before[0], now[0], atol=0.1)
    for found, expected in zip(again, now, strict=True):
        np.testing.assert_array_equal(found, expected)
    old, new = load_file(path), load_file(to)
    assert all(np.array_equal(new[name], values) for name, values in old.items())
    assert set(new) - set(old) == {"refit.read", "refit.say", "refit.bias"}
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".part"] == []


def test_it_is_gone_on_from(path, tmp_path) -> None:
    first, to = models(), tmp_path / "once.safetensors"
    taught(first, path)
    first.save_refit(to, path)
    second = models()
    refit = second.refit(to)
    assert isinstance(second.head(to).cell, CorrectedCell)
    assert not isinstance(refit.cell().inner, CorrectedCell)  # it is not added twice
    np.testing.assert_array_equal(said(refit.cell())[0], said(second.head(to).cell)[0])
    taught(second, to, seed=3)
    for _ in range(2):  # in place, and again
        second.save_refit(to, to)
        assert read_card(to).training["refit"]["places"] == 200
    np.testing.assert_array_equal(said(models().head(to).cell)[0], said(refit.cell())[0])


def test_the_card_has_the_acceptance_at_the_places_of_all_runs(path, tmp_path) -> None:
    first, to = models(), tmp_path / "once.safetensors"
    taught(first, path)
    first.save_refit(to, path)
    second = models()
    taught(second, to, seed=3)._sums = np.array([200.0, 100.0, 160.0])
    second._refits[to]._stepped = 300
    learnt = second.save_refit(to, to)
    assert (learnt.places, learnt.acceptance) == (300, (0.5, 0.8))  # of this run
    said = read_card(to).training["refit"]
    assert said["places"] == 400
    assert said["acceptance"] == pytest.approx([0.45, 0.7])


@pytest.mark.parametrize("kept", [None, 1, [0.5], [0.5, True], [0.5, "1"], [0.5, 2.0], {"a": 1, "b": 0}])
def test_an_acceptance_that_cannot_be_meant_is_left_out(kept) -> None:
    assert joined({"places": 10, "acceptance": kept}, Learnt(30, (0.2, 0.4))) == (40, (0.2, 0.4))


def test_one_head_is_refitted_once(path) -> None:
    drafts = models()
    assert drafts.refit(path) is drafts.refit(str(path))
    drafts.head_path = path
    assert drafts.refit(None) is drafts.refit(path)


@pytest.mark.parametrize("kind", ["medusa", "parallel", "hydra"])
def test_kinds_that_show_nothing_learn_a_bias(kind) -> None:
    from truedraw.draft.head.cell import Shows
    from truedraw.draft.head.kinds import CELLS

    module, name = CELLS[kind].split(":")
    cell = getattr(__import__(f"truedraw.draft.head.kinds.{module}", fromlist=[name]), name)
    assert not issubclass(cell, Shows)


def test_what_was_not_learnt_is_not_saved(path, tmp_path) -> None:
    drafts, to = models(), tmp_path / "refitted.safetensors"
    with pytest.raises(BadParameter, match=r"refit: .*head.safetensors was not refitted; write more"):
        drafts.save_refit(to, path)
    taught(drafts, path, helps=False)
    with pytest.raises(BadParameter, match=r"learnt from 100 drafts and keeps no more; write more text"):
        drafts.save_refit(to, path)
    assert not to.exists()


def test_where_it_cannot_be_written(path, tmp_path) -> None:
    drafts = models()
    taught(drafts, path)
    with pytest.raises(BadFile, match=r"cannot be written: .*; give a file in a folder that exists"):
        drafts.save_refit(tmp_path / "none" / "head.safetensors", path)


def test_a_file_that_is_no_head_is_kept(path, tmp_path) -> None:
    drafts, to = models(), tmp_path / "notes.json"
    taught(drafts, path)
    to.write_text("{}")
    with pytest.raises(
        BadFile, match=r"notes\.json is there already and is no draft head; give another path, or remove"
    ):
        drafts.save_refit(to, path)
    assert to.read_text() == "{}"


def test_a_folder_has_no_place_for_what_was_learnt(tmp_path) -> None:
    drafts, folder = models(), write_medusa(tmp_path / "medusa", tensors(vocab=VOCAB))
    taught(drafts, folder)
    with pytest.raises(BadParameter, match="medusa is a folder, into which nothing learnt is written; refit a head in"):
        drafts.save_refit(tmp_path / "head.safetensors", folder)


def test_a_head_that_was_trained_again_meanwhile(path, tmp_path) -> None:
    drafts, to = models(), tmp_path / "refitted.safetensors"
    taught(drafts, path)
    write(path, card(training={"tokens": 5}), seed=9)
    with pytest.raises(BadFile, match="is another head by now"):
        drafts.save_refit(to, path)
    assert not to.exists()


NUMBERS = {
    "refit.read": np.zeros((WIDTH, RANK), np.float32),
    "refit.say": np.zeros((RANK, KNOWN), np.float32),
    "refit.bias": np.zeros(KNOWN, np.float32),
}


def test_a_correction_of_nothing_is_read(path) -> None:
    found = models().head(changed(path, **NUMBERS)).cell
    assert isinstance(found, CorrectedCell)
    none = {"refit.read": np.zeros((WIDTH, 0), np.float32), "refit.say": np.zeros((0, KNOWN), np.float32)}
    np.testing.assert_array_equal(said(models().head(changed(path, **{**NUMBERS, **none})).cell)[0], said(found)[0])


@pytest.mark.parametrize(("changes", "message"), [
    ({"refit.say": None}, "lacks refit.say"),
    ({"refit.bias": np.zeros(KNOWN + 1, np.float32)}, "refit.bias should be .20,. finite float32"),
    ({"refit.bias": np.full(KNOWN, np.nan, np.float32)}, "refit.bias should be"),
    ({"refit.read": np.zeros((WIDTH + 1, RANK), np.float32)}, r"refit.read should be \(32, 16\)"),
    ({"refit.say": np.zeros((RANK, KNOWN), np.float16)}, "refit.say should be"),
    ({"refit.say": np.zeros(KNOWN, np.float32)}, "should be"),
    ({"refit.say": np.array(3, np.float32)}, "should be"),
    ({"refit.say": np.zeros((10**6, 0), np.float32)}, "rank of 1000000, and 256 is the most"),
], ids=["missing", "long", "nan", "width", "float16", "flat", "a number", "rank"])  # fmt: skip
def test_a_damaged_correction(path, changes, message) -> None:
    with pytest.raises(BadFile, match=message):
        models().head(changed(path, **{**NUMBERS, **changes}))


def test_a_file_that_is_cut(path) -> None:
    changed(path, **NUMBERS)
    whole = path.read_bytes()
    for size in (len(whole) - 10, len(whole) // 2, 9, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(BadFile, match="cannot be read"):
            models().head(path)


def test_a_card_that_says_nonsense_of_refits(path, tmp_path) -> None:
    """It is for people: what was counted before is then not known."""
    drafts, to = models(), tmp_path / "refitted.safetensors"
    write(path, card(training={"refit": "yes"}))
    taught(drafts, path)
    drafts.save_refit(to, path)
    assert HeadFile(to).card.training["refit"]["places"] == 100
