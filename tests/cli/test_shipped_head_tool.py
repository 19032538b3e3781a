"""tools/shipped_head.py: four trainings that the command line takes, one behind the other, and on behind a kill."""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from truedraw.draft.head.file import SHIPPED, read_card
from truedraw.registry import find

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("shipped_head", ROOT / "tools" / "shipped_head.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def plans(tool, cli, monkeypatch):
    """Of the trainings that were begun; each writes a head, and plans.fails_at, if any, fails in its place."""
    begun = SimpleNamespace(all=[], fails_at=None)

    def trained(plan, layers, flags):
        begun.all.append((plan, layers, flags))
        if len(begun.all) == begun.fails_at:
            raise typer.Exit(3)
        shutil.copy(SHIPPED / "smollm2-135m.safetensors", plan.output)
        raise typer.Exit(0)

    def card(path):
        found = read_card(SHIPPED / "smollm2-135m.safetensors")
        return replace(found, kind="recurrent" if path.name == "own.first.safetensors" else found.kind)

    monkeypatch.setattr("truedraw.cli.train_draft.trained", trained)
    monkeypatch.setattr("truedraw.draft.head.file.read_card", card)
    monkeypatch.setattr("truedraw.cli.train_plan.require_torch", lambda: None)
    monkeypatch.setattr(find("engines", "pytorch"), "check_installed", lambda: None)
    monkeypatch.setattr(tool.subprocess, "run", lambda words, **_: SimpleNamespace(returncode=cli(*words[3:]).code))
    return begun


def ran(tool, monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["shipped_head.py", *map(str, words)])
    return tool.main()


def test_each_training_goes_on_from_the_one_before(tool, plans, tmp_path, monkeypatch):
    output = tmp_path / "own.safetensors"
    assert ran(tool, monkeypatch, output, "--device", "cpu") == 0
    found = [plan for plan, *_ in plans.all]
    before = [plan.head.init_from for plan in found]
    assert before == [None, *(plan.output for plan in found[:-1])]
    assert found[-1].output == output
    assert [plan.head.kind for plan in found[:2]] == ["recurrent", "attentive"]
    assert [(plan.texts.tokens, plan.limits.steps, plan.texts.seed) for plan in found] == [
        (14_000_000, 16_731, 0), (5_200_000, 1_851, 1), (129_000, 82, 2), (14_000_000, 7_681, 3),
    ]  # fmt: skip
    assert all(plan.limits.seconds is None and plan.limits.patience > plan.limits.steps / 2 for plan in found)
    assert [flags.engine for _, _, flags in plans.all] == ["pytorch", "pytorch", "openvino", "pytorch"]
    assert plans.all[0][1] == (15, 26)


def test_what_is_done_stays_done_behind_a_failure(tool, plans, tmp_path, monkeypatch):
    plans.fails_at = 2
    words = tmp_path / "own.safetensors", "--device", "cpu", "--scale", "0.001", "--hidden", "16"
    assert ran(tool, monkeypatch, *words) == 3
    assert len(plans.all) == 2
    assert ran(tool, monkeypatch, *words) == 0
    assert [plan.output.name for plan, *_ in plans.all] == [
        "own.first.safetensors", *["own.second.safetensors"] * 2, "own.third.safetensors", "own.safetensors",
    ]  # fmt: skip
    assert (plans.all[0][0].head.hidden, plans.all[0][0].limits.steps) == (16, 17)
    assert ran(tool, monkeypatch, *words) == 0
    assert len(plans.all) == 5
