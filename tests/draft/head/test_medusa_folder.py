"""Checkpoints in the format of Medusa's own repository: read, drafted with, and refused where something is wrong."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from draft.head.random_heads import silu
from draft.torch_files import torch_file
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import load
from truedraw.draft.head.card import MOST_HEADS, UNKNOWN
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.kinds import cell_of
from truedraw.draft.head.medusa.folder import is_medusa, open_medusa
from truedraw.draft.head.opening import layers_of, open_head
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile, BadParameter, UnsupportedModel

VOCAB, WIDTH, HEADS, LAYERS = 50, 32, 3, 2
OFF = 0.12  # of the spread: matrices are rounded to int8, and products to bfloat16


def tensors(seed=0, rows=True, vocab=VOCAB, width=WIDTH) -> dict[str, np.ndarray]:
    """By the names of the format."""
    rng, found = np.random.default_rng(seed), {}
    for head in range(HEADS):
        for layer in range(LAYERS):
            found[f"{head}.{layer}.linear.weight"] = rng.normal(size=(width, width)) / np.sqrt(width)
            found[f"{head}.{layer}.linear.bias"] = rng.normal(size=width)
        if rows:
            found[f"{head}.{LAYERS}.weight"] = rng.normal(size=(vocab, width))
    return {name: values.astype(np.float32) for name, values in found.items()}


def config(folder, **changes):
    said = {"medusa_num_heads": HEADS, "medusa_num_layers": LAYERS, "base_model_name_or_path": "org/Modell Ω",
            "transformers_version": "4.34.1"}  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    said = {key: value for key, value in {**said, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(said))


def write(folder, held=None, **changes):
    config(folder, **changes)
    save_file(tensors() if held is None else held, folder / "medusa_lm_head.safetensors")
    return folder


def by_definition(held, hidden, head, target=None):
    """Logits of one head, from hidden states [n, width]."""
    x = hidden.astype(np.float64)
    for layer in range(LAYERS):
        x = x + silu(x @ held[f"{head}.{layer}.linear.weight"].T + held[f"{head}.{layer}.linear.bias"])
    return x @ (held[f"{head}.{LAYERS}.weight"] if target is None else target).T


def said_by(file, hidden, output=None):
    rows = Matrix(np.zeros((VOCAB, WIDTH), np.float32) if output is None else output)
    cell = cell_of(file, TargetRows(Matrix(np.zeros((VOCAB, WIDTH), np.float32)), rows), threads=1)
    states, logits = cell.begin(hidden[:, None], np.zeros(len(hidden), np.int64))
    found = [logits.copy()]
    for _ in range(1, HEADS):
        states, logits = cell.step(states, np.zeros(len(hidden), np.int64))
        found.append(logits.copy())
    return found


def near(found, expected) -> bool:
    return found.shape == expected.shape and np.abs(found - expected).max() < OFF * np.std(expected)


def hidden_of(rows=4):
    return np.random.default_rng(8).normal(size=(rows, WIDTH)).astype(np.float32)


# ------------------------------------------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("prefix", ["", "medusa_head."])
def test_a_checkpoint_says_what_its_formulas_say(tmp_path, prefix) -> None:
    held = tensors()
    folder = write(tmp_path / "a b", {prefix + name: values for name, values in held.items()})
    assert is_medusa(folder)
    assert layers_of(folder) == (0,)
    file = open_medusa(folder, vocab_size=999)  # it knows better
    said = file.card
    assert (said.kind, said.target, said.tokenizer) == ("medusa", "org/Modell Ω", UNKNOWN)
    assert (said.vocab_size, said.width, said.layers, said.tokens, said.heads) == (VOCAB, WIDTH, (), VOCAB, HEADS)
    for head, logits in enumerate(said_by(file, hidden_of())):
        assert near(logits, by_definition(held, hidden_of(), head))
        assert not near(logits, by_definition(held, hidden_of(), (head + 1) % HEADS))


def test_without_rows_of_its_own_it_writes_with_the_targets_output(tmp_path) -> None:
    held, output = tensors(rows=False), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    file = open_medusa(write(tmp_path / "m", held), VOCAB)
    assert file.card.vocab_size == VOCAB
    for head, logits in enumerate(said_by(file, hidden_of(), output)):
        assert near(logits, by_definition(held, hidden_of(), head, output))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_file_of_torch_is_read_without_torch(tmp_path, dtype) -> None:
    folder, held = tmp_path / "m", {name: values.astype(dtype) for name, values in tensors().items()}
    config(folder)
    torch_file(folder / "medusa_lm_head.pt", held, folder="medusa_lm_head")
    for head, logits in enumerate(said_by(open_medusa(folder, VOCAB), hidden_of())):
        assert near(logits, by_definition(held, hidden_of(), head))


@pytest.mark.parametrize("rows", [True, False])
def test_whole_heads_behind_those_of_the_config_are_taken(tmp_path, rows) -> None:
    """The config of a published folder says two, and its file has five."""
    held, output = tensors(rows=rows), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    file = open_medusa(write(tmp_path / "m", held, medusa_num_heads=1), VOCAB)
    assert file.card.heads == HEADS
    for head, logits in enumerate(said_by(file, hidden_of(), output)):
        assert near(logits, by_definition(held, hidden_of(), head, None if rows else output))


@pytest.mark.parametrize("missing", ["2.1.linear.bias", "2.2.weight", "1.0.linear.weight"])
def test_a_part_of_a_head_is_none(tmp_path, missing) -> None:
    held = {name: values for name, values in tensors().items() if name != missing}
    assert open_medusa(write(tmp_path / "m", held, medusa_num_heads=1), VOCAB).card.heads == int(missing[0])


def test_no_more_heads_are_taken_than_a_draft_has_tokens(tmp_path) -> None:
    own = [name for name in tensors() if name.startswith("0.")]
    many = {f"{head}{name[1:]}": tensors()[name] for head in range(20) for name in own}
    assert open_medusa(write(tmp_path / "m", many, medusa_num_heads=2), VOCAB).card.heads == MOST_HEADS


# ------------------------------------------------------------------------------------------------------- what is wrong


def damaged(**changes):
    return {name: values for name, values in {**tensors(), **changes}.items() if values is not None}


NAN = np.full(WIDTH, np.nan, np.float32)


@pytest.mark.parametrize(("held", "said"), [
    (damaged(**{"1.1.linear.weight": None}), r"lacks 1\.1\.linear\.weight; fetch it again"),
    (damaged(**{"2.0.linear.bias": None}), r"lacks 2\.0\.linear\.bias"),
    (damaged(**{"0.0.linear.weight": None}), r"lacks 0\.0\.linear\.weight"),
    (damaged(**{"1.2.weight": None}), "has output rows for some of its 3 heads only"),
    (damaged(**{"1.2.weight": np.zeros((VOCAB + 1, WIDTH), np.float32)}), r"is damaged: 1\.2\.weight is \(51, 32\)"),
    (damaged(**{"1.0.linear.weight": np.zeros((WIDTH, 3), np.float32)}), r"is damaged: 1\.0\.linear\.weight is"),
    (damaged(**{"0.0.linear.weight": np.zeros((0, 3), np.float32)}), r"lacks 0\.0\.linear\.weight"),
    (damaged(**{"1.0.linear.bias": NAN}), r"1\.0\.linear\.bias has values that are no numbers"),
    (damaged(foo__weight=np.zeros(3, np.float32)), r"holds foo__weight, which a head of medusa_num_layers = 2 has not"),
    ({"something": np.zeros(3, np.float32)}, r"lacks 0\.0\.linear\.weight"),
])  # fmt: skip
def test_tensors_that_are_missing_or_others(tmp_path, held, said) -> None:
    folder = write(tmp_path / "m", held)
    with pytest.raises(BadFile, match=said):
        said_by(open_medusa(folder, VOCAB), hidden_of())


@pytest.mark.parametrize(("changes", "said"), [
    ({"medusa_num_heads": 0}, "medusa_num_heads is 0, not a positive whole number"),
    ({"medusa_num_heads": "3"}, "medusa_num_heads is '3'"), ({"medusa_num_heads": 99}, "it has 99 heads; 16 are"),
    ({"medusa_num_heads": HEADS + 1}, "has output rows for some of its 4 heads only"),
    ({"medusa_num_layers": 1}, r"holds 0\.1\.linear\.bias, .* a head of medusa_num_layers = 1 has not"),
    ({"logit_scale": 0.5}, "logit_scale = 0.5 is not supported"),
    ({"medusa_num_layers": -1}, "medusa_num_layers is -1"),
    ({"medusa_num_layers": 10**30}, r"holds 0\.2\.weight, .* a head of medusa_num_layers = 10{30} has not"),
    ({"medusa_num_layers": 3}, r"holds 0\.2\.weight, .* a head of medusa_num_layers = 3 has not"),
])  # fmt: skip
def test_configs_that_cannot_be_meant(tmp_path, changes, said) -> None:
    folder = write(tmp_path / "m", **changes)
    with pytest.raises((BadFile, UnsupportedModel), match=said):
        said_by(open_medusa(folder, VOCAB), hidden_of())


def test_a_folder_without_weights_and_folders_of_something_else(tmp_path) -> None:
    config(tmp_path / "m")
    with pytest.raises(BadFile, match=r"has neither medusa_lm_head\.safetensors nor medusa_lm_head\.pt; fetch one"):
        open_medusa(tmp_path / "m", VOCAB)
    assert not is_medusa(tmp_path / "none")
    for text in ("", "[]", "7", "{", "[" * 100_000, json.dumps({"model_type": "llama"})):
        (tmp_path / "m" / "config.json").write_text(text)
        assert not is_medusa(tmp_path / "m")
    cut = write(tmp_path / "cut") / "medusa_lm_head.safetensors"
    cut.write_bytes(cut.read_bytes()[:-50])
    with pytest.raises(BadFile, match="truncated"):
        open_medusa(tmp_path / "cut", VOCAB)


# ---------------------------------------------------------------------------------------------------- with a model


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root, sizes = tmp_path_factory.mktemp("medusa"), tiny_config(context_length=512)
    numbers = random_tensors(sizes)
    numbers["model.norm.weight"] = numbers["model.norm.weight"] * 4
    folder = write_folder(root / "tiny", sizes, numbers)
    fitting = tensors(vocab=sizes.vocab_size, width=sizes.hidden_size)
    return SimpleNamespace(folder=folder, cache=root / "cache", sizes=sizes, root=root,
                           draft=write(root / "medusa", fitting))  # fmt: skip


@pytest.mark.slow
def test_a_model_drafts_with_it_and_a_seed_gives_one_text(place) -> None:
    settings = {"n": 2, "max_tokens": 40, "ignore_eos": True, "temperature": 0.8}
    alone = {"method": "head", "adaptive": False}
    with load(place.folder, cache=place.cache, threads=1, draft=place.draft) as model:
        assert model.engine.hidden_layers == (0,)
        assert model.drafts.head(None).levels == HEADS
        plain = model.generate("hello world", speculative=False, seed=5, **settings)
        fast = model.generate("hello world", speculative=alone, seed=5, **settings)
        assert [each.tokens for each in fast.choices] == [each.tokens for each in plain.choices]
        assert fast.fallback is None
        assert fast.stats.drafted > 40
        free = model.generate("hello world", speculative={**alone, "num_speculative_tokens": 9}, **settings)
        assert free.fallback is None
        assert free.stats.drafted > 40


def test_one_for_another_model_is_refused(place, tmp_path) -> None:
    with load(place.folder, cache=place.cache, threads=1, draft=write(tmp_path / "other")) as model:
        with pytest.raises(BadParameter, match=r"reads hidden states of 32 numbers over 50 tokens .*org/Modell Ω"):
            model.generate("a", speculative="head")
        with pytest.raises(BadFile, match="cannot be read as a draft head"):
            open_head(place.folder, model.drafts)
