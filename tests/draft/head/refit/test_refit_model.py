"""A model whose head goes on learning: one text a seed, alone and in batches, what is refused, and the next start."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from draft.head.random_heads import card, write
from generate.one_text import CONFIG, LAWS, PROMPTS, check_one_text, in_a_batch, likely, one_by_one, tokens
from models.tiny_models import write_folder
from truedraw import Model, load
from truedraw.cli.main import app
from truedraw.draft.head.file import read_card
from truedraw.draft.head.refit import descent
from truedraw.draft.head.refit.allowance import Allowance
from truedraw.draft.head.refit.learning import Refit
from truedraw.errors import BadParameter
from truedraw.models import open_checkpoint
from truedraw.text import Tokenizer

LEARNING = {"method": "head", "adaptive": False, "refit": True}
SETTINGS = {"n": 2, "max_tokens": 40, "ignore_eos": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("refit")
    folder = write_folder(root / "tiny", CONFIG, likely())
    fingerprint = Tokenizer.of(open_checkpoint(folder)).fingerprint
    said = card(target="tiny", tokenizer=fingerprint, vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size,
                layers=(0, 1), tokens=200)  # fmt: skip
    return root, folder, write(root / "tiny.safetensors", said)


@pytest.fixture
def time(monkeypatch) -> None:
    """Plenty of it, and long steps, which are believed at once: a head of random numbers has all to learn."""
    monkeypatch.setattr(Allowance, "is_left", True)
    monkeypatch.setattr(Allowance, "is_spent", False)
    monkeypatch.setattr(descent, "RATES", (0.02, 0.02, 0.3))
    monkeypatch.setattr(Refit, "helps", property(lambda refit: refit.learnt.places > 0))


@pytest.fixture
def model(place, time) -> Model:
    """Which has time to learn."""
    root, folder, head = place
    with load(folder, cache=root / "cache", threads=1, draft=head) as loaded:
        yield loaded


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_while_it_learns(model: Model, law: str) -> None:
    for prompt in PROMPTS[:2]:
        check_one_text(model, prompt, LEARNING, seed=5, **SETTINGS, **LAWS[law])
    assert model.drafts.refit(None).learnt.places > 10
    assert model.drafts.refit(None).is_on


def test_jobs_of_a_batch_share_what_is_learnt(model: Model) -> None:
    plain = one_by_one(model, **SETTINGS)
    kinds = [LEARNING, LEARNING, {**LEARNING, "refit": False}, {**LEARNING, "head_depth": 2}, None]
    results = in_a_batch(model, kinds, **SETTINGS)
    assert [tokens(result) for result in results] == plain
    assert len(model.drafts._refits) == 1
    assert model.drafts.refit(None).learnt.places > 20


@pytest.mark.parametrize("rule", ["traversal", "recursive", "token"])
def test_without_a_seed_nothing_it_says_is_illegal(model: Model, rule) -> None:
    result = model.generate(PROMPTS[0], speculative={**LEARNING, "rejection_sample_method": rule}, **SETTINGS)
    assert result.fallback is None
    assert model.drafts.refit(None).learnt.places > 10


def test_the_head_of_other_requests_stays_as_it_is(model: Model) -> None:
    before = model.drafts.head(None)
    model.generate(PROMPTS[0], speculative=LEARNING, **SETTINGS)
    assert model.drafts.head(None) is before
    assert model.drafts.refit(None).cell().inner is before.cell


@pytest.mark.parametrize("given", [1, "yes", [True]])
def test_nonsense_for_refit(model: Model, given) -> None:
    with pytest.raises(BadParameter, match=r"refit: got .*; give true or false"):
        model.generate(PROMPTS[0], speculative={**LEARNING, "refit": given}, **SETTINGS)


def test_a_method_that_drafts_without_a_head_does_not_use_it(model: Model) -> None:
    with pytest.raises(BadParameter, match="the method suffix does not use refit"):
        model.generate(PROMPTS[0], speculative={"method": "suffix", "refit": True}, **SETTINGS)


def test_what_was_learnt_is_saved_and_loaded(place, model: Model, tmp_path) -> None:
    root, folder, _ = place
    with pytest.raises(BadParameter, match="was not refitted"):
        model.save_draft(tmp_path / "early.safetensors")
    model.generate(PROMPTS[0], speculative=LEARNING, **SETTINGS)
    assert model.drafts.refit(None).helps
    learnt = model.save_draft(tmp_path / "refitted.safetensors")
    assert read_card(tmp_path / "refitted.safetensors").training["refit"]["places"] == learnt.places > 10
    with load(folder, cache=root / "cache", threads=1, draft=tmp_path / "refitted.safetensors") as again:
        result = again.generate(PROMPTS[1], speculative={"method": "head", "adaptive": False}, **SETTINGS)
        assert result.fallback is None
        assert again.drafts.refit(None).correction is again.drafts.head(None).cell.correction


def test_on_the_command_line(place, time, tmp_path) -> None:
    root, folder, head = place
    to = tmp_path / "refitted.safetensors"
    common = ["generate", "hello world", "-m", str(folder), "--cache", str(root / "cache"), "--draft", str(head),
              "--save-draft", str(to), "--ignore-eos", "--threads", "1"]  # fmt: skip
    spec = ["--speculative-config", json.dumps(LEARNING)]
    few = CliRunner().invoke(app, [*common, *spec, "--max-tokens", "1"])
    assert few.exit_code == 0
    assert "--save-draft: nothing is written: refit: " in few.stderr
    assert not to.exists()
    many = CliRunner().invoke(app, [*common, *spec, "--max-tokens", "40", "-n", "2"])
    assert many.exit_code == 0, many.stderr
    assert f"--save-draft: {to}: the head kept " in many.stderr
    assert read_card(to).training["refit"]["places"] > 10
