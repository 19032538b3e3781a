"""A head that is trained further is read once, before anything else takes time."""

from __future__ import annotations

from dataclasses import replace
from shutil import copyfile

import pytest

from truedraw import load
from truedraw.cli.train_show import shipped_head
from truedraw.distill import before
from truedraw.distill.further import begun_from, check_init
from truedraw.distill.plan import HeadPlan
from truedraw.draft.head import opening
from truedraw.draft.head.card import ATTENTIVE
from truedraw.draft.head.file import HeadFile
from truedraw.errors import BadFile


@pytest.fixture
def head(tmp_path):
    path = tmp_path / "first.safetensors"
    copyfile(shipped_head(), path)
    return path


def test_a_head_may_go_while_texts_are_written(head) -> None:
    plan = HeadPlan(init_from=head)
    identity, told = plan.identity(), begun_from(plan.before)
    assert told["init_from"]["file"] == "first.safetensors"
    assert len(identity["init_from"]) == 32
    head.unlink()
    assert (plan.identity(), begun_from(plan.before)) == (identity, told)
    again = replace(plan, loss="kl")
    assert again.before is plan.before
    assert again.further
    assert "init_from" not in replace(plan, init_from=None).identity()
    assert begun_from(replace(plan, init_from=None).before) == {}


def test_another_head_is_another_plan(head, tmp_path) -> None:
    plan, other = HeadPlan(init_from=head), tmp_path / "other.safetensors"
    copyfile(head, other)
    assert replace(plan, init_from=other).before.file.path == other
    with pytest.raises(BadFile, match=r"nowhere\.safetensors cannot be read"):
        replace(plan, init_from=tmp_path / "nowhere.safetensors")


def test_it_is_opened_once(head, monkeypatch) -> None:
    read = []

    class Counted(HeadFile):
        def __init__(self, path) -> None:
            read.append(path)
            super().__init__(path)

    monkeypatch.setattr(before, "HeadFile", Counted)
    monkeypatch.setattr(opening, "HeadFile", Counted)
    with load("smollm2-135m", draft=head) as model:
        plan = HeadPlan(kind=ATTENTIVE, init_from=head)
        head.unlink()
        check_init(plan, model)
    assert read == [head]
