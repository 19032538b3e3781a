"""Medusa checkpoints of speculators and of vLLM: read, drafted with, and refused where something is wrong."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from draft.head.random_heads import silu
from draft.head.test_medusa_folder import hidden_of, near
from draft.torch_files import torch_file
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import load
from truedraw.draft.eagle.checkpoint import is_eagle
from truedraw.draft.head.card import UNKNOWN
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.kinds import cell_of
from truedraw.draft.head.medusa.folder import is_medusa, open_medusa
from truedraw.draft.head.opening import layers_of
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile, BadParameter, UnsupportedModel

VOCAB, WIDTH, HEADS, LAYERS = 50, 32, 3, 2
KNOWN = np.array([3, 4, 9, 17, 30, 31, 40, 49])
SPECULATORS = {
    "speculators_model_type": "medusa", "architectures": ["MedusaModel"], "num_heads": HEADS,
    "num_hidden_layers": LAYERS, "medusa_hidden_size": WIDTH, "medusa_vocab_size": VOCAB, "truncated_vocab_size": 0,
    "original_lm_head": True, "medusa_fc_bias": False, "head_weight_decay": 0.8,
    "speculators_config": {"algorithm": "medusa", "verifier": {"name_or_path": "org/Modell Ω", "architectures": []}},
}  # fmt: skip
VLLM = {
    "model_type": "medusa", "architectures": ["MedusaModel"], "hidden_size": WIDTH, "vocab_size": VOCAB,
    "num_heads": HEADS, "num_hidden_layers": LAYERS, "truncated_vocab_size": VOCAB, "max_paths": 64, "topk": 10,
}  # fmt: skip


def tensors(rows=VOCAB, bias=False, width=WIDTH, seed=0) -> dict[str, np.ndarray]:
    """By the names of both formats; rows: of each head's own output, 0 for none."""
    rng, found = np.random.default_rng(seed), {}
    for head in range(HEADS):
        for layer in range(LAYERS):
            found[f"blocks.{head}.layers.{layer}.weight"] = rng.normal(size=(width, width)) / np.sqrt(width)
            if bias:
                found[f"blocks.{head}.layers.{layer}.bias"] = rng.normal(size=width)
        if rows:
            found[f"lm_heads.{head}.weight"] = rng.normal(size=(rows, width))
    return {name: values.astype(np.float32) for name, values in found.items()}


def write(folder, said, held, **changes):
    folder.mkdir(parents=True, exist_ok=True)
    said = {key: value for key, value in {**said, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")
    save_file(held, folder / "model.safetensors")
    return folder


def by_definition(held, head, output):
    """Logits of one head, from hidden states, as the formats' own code computes them."""
    x = hidden_of().astype(np.float64)
    for layer in range(LAYERS):
        name = f"blocks.{head}.layers.{layer}"
        x = x + silu(x @ held[f"{name}.weight"].T + held.get(f"{name}.bias", 0.0))
    return x @ output.T


def said_by(file, output=None):
    nothing = np.zeros((VOCAB, WIDTH), np.float32)
    rows = TargetRows(Matrix(nothing), Matrix(nothing if output is None else output))
    cell = cell_of(file, rows, threads=1)
    states, logits = cell.begin(hidden_of()[:, None], np.zeros(len(hidden_of()), np.int64))
    found = [logits.copy()]
    for _ in range(1, HEADS):
        states, logits = cell.step(states, np.zeros(len(hidden_of()), np.int64))
        found.append(logits.copy())
    return found


def check(file, held, output_of, output=None):
    """All heads, and no head is another one."""
    for head, logits in enumerate(said_by(file, output)):
        assert near(logits, by_definition(held, head, output_of(head)))
        assert not near(logits, by_definition(held, (head + 1) % HEADS, output_of((head + 1) % HEADS)))


# ------------------------------------------------------------------------------------------------- the same numbers


def test_heads_of_speculators_write_with_the_targets_rows(tmp_path) -> None:
    held, output = tensors(rows=0), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    folder = write(tmp_path / "a b", SPECULATORS, held)
    assert is_medusa(folder)
    assert not is_eagle(folder)
    assert layers_of(folder) == (0,)
    file = open_medusa(folder, vocab_size=999)  # it knows better
    said = file.card
    assert (said.kind, said.target, said.tokenizer) == ("medusa", "org/Modell Ω", UNKNOWN)
    assert (said.vocab_size, said.width, said.layers, said.tokens, said.heads) == (VOCAB, WIDTH, (), VOCAB, HEADS)
    check(file, held, lambda head: output, output)


@pytest.mark.parametrize("prefix", ["", "medusa_heads."])
@pytest.mark.parametrize("bias", [False, True])
def test_heads_of_vllm_have_rows_of_their_own(tmp_path, prefix, bias) -> None:
    held = tensors(bias=bias)
    folder = write(tmp_path / "m", VLLM, {prefix + name: each for name, each in held.items()}, medusa_fc_bias=bias)
    file = open_medusa(folder, VOCAB)
    assert file.card.target == "m"
    check(file, held, lambda head: held[f"lm_heads.{head}.weight"])


@pytest.mark.parametrize(("said", "own"), [(VLLM, False), (VLLM, None), (SPECULATORS, False), (SPECULATORS, None)])
def test_whose_rows_there_are_the_config_says(tmp_path, said, own) -> None:
    held = tensors()
    check(open_medusa(write(tmp_path / "m", said, held, original_lm_head=own), VOCAB), held,
          lambda head: held[f"lm_heads.{head}.weight"])  # fmt: skip


def test_rows_are_the_targets_where_speculators_says_nothing_and_there_are_none(tmp_path) -> None:
    held, output = tensors(rows=0), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    folder = write(tmp_path / "m", SPECULATORS, held, original_lm_head=None)
    check(open_medusa(folder, VOCAB), held, lambda head: output, output)


def test_rows_that_are_there_and_said_to_be_the_targets_are_refused(tmp_path) -> None:
    with pytest.raises(BadFile, match=r"holds lm_heads\.0\.weight, and original_lm_head is true"):
        open_medusa(write(tmp_path / "m", SPECULATORS, tensors(), original_lm_head=True), VOCAB)


@pytest.mark.parametrize("copies", [1, 3])
def test_copies_of_the_targets_rows_as_vllm_has_them_are_not_read(tmp_path, copies) -> None:
    held, output = tensors(rows=0), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    copy = {f"lm_heads.{head}.weight": output + 1 for head in range(copies)}
    check(open_medusa(write(tmp_path / "m", VLLM, {**held, **copy}, original_lm_head=True), VOCAB), held,
          lambda head: output, output)  # fmt: skip
    with pytest.raises(BadFile, match=r"holds lm_heads\.0\.weight"):
        open_medusa(write(tmp_path / "s", SPECULATORS, {**held, **copy}), VOCAB)


def test_a_shared_output_in_the_file_is_the_targets_own(tmp_path) -> None:
    held, output = tensors(rows=0), np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    folder = write(tmp_path / "m", VLLM, {**held, "lm_head.weight": output + 1}, original_lm_head=True)
    check(open_medusa(folder, VOCAB), held, lambda head: output, output)


FEWER = {"truncated_vocab_size": len(KNOWN)}
OFFSETS = KNOWN - np.arange(len(KNOWN))


@pytest.mark.parametrize("every", [False, True])
def test_fewer_tokens_by_a_map_in_any_order(tmp_path, every) -> None:
    mixed = np.random.default_rng(3).permutation(KNOWN)
    held = tensors(rows=VOCAB if every else len(KNOWN))
    file = open_medusa(write(tmp_path / "m", VLLM, {**held, "token_map": mixed}, **FEWER), VOCAB)
    np.testing.assert_array_equal(file.tokens, KNOWN)

    def rows(head):
        whole = held[f"lm_heads.{head}.weight"]
        return whole[KNOWN] if every else whole[np.argsort(mixed)]

    check(file, held, rows)


@pytest.mark.parametrize("named", ["both", "d2t", "t2d"])
@pytest.mark.parametrize("shared", [False, True])
def test_fewer_tokens_of_speculators(tmp_path, shared, named) -> None:
    output = np.random.default_rng(2).normal(size=(VOCAB, WIDTH)).astype(np.float32)
    held = tensors(rows=0 if shared else len(KNOWN))
    maps = {"d2t": OFFSETS, "t2d": np.isin(np.arange(VOCAB), KNOWN)}
    maps = {name: each for name, each in maps.items() if named in ("both", name)}
    folder = write(tmp_path / "m", SPECULATORS, {**held, **maps}, original_lm_head=shared, **FEWER)
    file = open_medusa(folder, VOCAB)
    np.testing.assert_array_equal(file.tokens, KNOWN)
    assert file.card.tokens == len(KNOWN)
    check(file, held, lambda head: output[KNOWN] if shared else held[f"lm_heads.{head}.weight"], output)


def test_float16_and_files_in_pieces(tmp_path) -> None:
    held = {name: each.astype(np.float16) for name, each in tensors().items()}
    folder = write(tmp_path / "m", VLLM, {})
    (folder / "model.safetensors").unlink()
    names, files = sorted(held), ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    for file, part in zip(files, (names[::2], names[1::2]), strict=True):
        save_file({name: held[name] for name in part}, folder / file)
    table = {name: files[place % 2] for place, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    whole = {name: each.astype(np.float32) for name, each in held.items()}
    check(open_medusa(folder, VOCAB), whole, lambda head: whole[f"lm_heads.{head}.weight"])


@pytest.mark.parametrize("spelled", [
    {"medusa_num_heads": HEADS, "medusa_num_layers": LAYERS}, {"num_medusa_heads": HEADS, "num_medusa_layers": LAYERS},
])  # fmt: skip
def test_vllm_takes_other_spellings_of_how_many_there_are(tmp_path, spelled) -> None:
    held = tensors()
    folder = write(tmp_path / "m", VLLM, held, num_heads=None, num_hidden_layers=None, **spelled)
    check(open_medusa(folder, VOCAB), held, lambda head: held[f"lm_heads.{head}.weight"])


def test_a_null_is_nothing_and_a_mark_at_the_beginning_is_no_part_of_the_text(tmp_path) -> None:
    folder = write(tmp_path / "m", VLLM, tensors())
    said = {**VLLM, "speculators_model_type": None, "medusa_num_heads": None}
    (folder / "config.json").write_text(json.dumps(said), encoding="utf-8-sig")
    assert open_medusa(folder, VOCAB).card.heads == HEADS
    assert is_medusa(folder)
    assert not is_eagle(folder)


# ------------------------------------------------------------------------------------------------------- what is wrong


def damaged(**changes):
    return {name: each for name, each in {**tensors(), **changes}.items() if each is not None}


@pytest.mark.parametrize(("held", "said"), [
    (damaged(**{"blocks.1.layers.1.weight": None}), r"lacks the tensor blocks\.1\.layers\.1\.weight; fetch or train"),
    (damaged(**{"lm_heads.2.weight": None}), r"lacks the tensor lm_heads\.2\.weight"),
    (damaged(**{"lm_heads.1.weight": np.zeros((VOCAB + 1, WIDTH), np.float32)}), r"lm_heads\.1\.weight is \(51, 32\)"),
    (damaged(**{"blocks.0.layers.0.weight": np.zeros((WIDTH, 3), np.float32)}), r"layers\.0\.weight is \(32, 3\)"),
    (damaged(**{"blocks.0.layers.0.weight": np.full((WIDTH, WIDTH), np.nan, np.float32)}), "that are not finite"),
    (damaged(**{"blocks.0.layers.0.weight": np.zeros((WIDTH, WIDTH), np.int64)}), "is I64 and should be floats"),
    (damaged(**{"blocks.0.gate.weight": np.zeros(3, np.float32)}), r"holds blocks\.0\.gate\.weight, which no Medusa"),
    (damaged(**{"blocks.1.layers.2.weight": np.zeros((WIDTH, WIDTH), np.float32)}), r"holds blocks\.1\.layers\.2"),
    (damaged(**{"lm_heads.1.bias": np.zeros(VOCAB, np.float32)}), r"holds lm_heads\.1\.bias, which no Medusa"),
    (damaged(**{"medusa_heads.lm_heads.0.weight": np.zeros((VOCAB, WIDTH), np.float32)}), "holds tensors twice"),
    ({"something": np.zeros(3, np.float32)}, "holds something, which no Medusa draft"),
])  # fmt: skip
def test_tensors_that_are_missing_or_others(tmp_path, held, said) -> None:
    with pytest.raises(BadFile, match=said):
        said_by(open_medusa(write(tmp_path / "m", VLLM, held), VOCAB))


@pytest.mark.parametrize(("changes", "said"), [
    ({"num_heads": 0}, "num_heads is 0, not a positive whole number"), ({"num_heads": 99}, "it has 99 heads; 16 are"),
    ({"num_heads": 4}, r"lacks the tensor blocks\.3\.layers\.0\.weight"),
    ({"num_hidden_layers": "2"}, "num_hidden_layers is '2'"),
    ({"num_hidden_layers": 3}, r"lacks the tensor blocks\.0\.layers\.2\.weight"),
    ({"hidden_size": None}, "lacks hidden_size, a positive whole number"), ({"vocab_size": -5}, "vocab_size is -5"),
    ({"medusa_fc_bias": True}, r"lacks the tensor blocks\.0\.layers\.0\.bias"),
    ({"medusa_fc_bias": "yes"}, "medusa_fc_bias is 'yes', not true or false"),
    ({"original_lm_head": 1}, "original_lm_head is 1, not true or false"),
    ({"truncated_vocab_size": VOCAB + 1}, "51 tokens are drafted of a vocabulary of 50"),
    ({"truncated_vocab_size": 8}, "drafts 8 tokens and lacks the tensor that names them: d2t, t2d or token_map"),
    ({"truncated_vocab_size": -8}, "truncated_vocab_size is -8"),
])  # fmt: skip
def test_configs_that_cannot_be_meant(tmp_path, changes, said) -> None:
    with pytest.raises(BadFile, match=said):
        said_by(open_medusa(write(tmp_path / "m", VLLM, tensors(), **changes), VOCAB))


def test_logits_that_are_scaled_are_refused(tmp_path) -> None:
    with pytest.raises(UnsupportedModel, match=r"logit_scale = 0\.5 is not supported"):
        open_medusa(write(tmp_path / "m", VLLM, tensors(), logit_scale=0.5), VOCAB)
    assert open_medusa(write(tmp_path / "m", VLLM, tensors(), logit_scale=1.0), VOCAB)


@pytest.mark.parametrize(("maps", "said"), [
    ({"token_map": np.array([3, 4, 9, 17, 30, 31, 40, 50])}, "token_map does not name 8 different tokens of 50"),
    ({"token_map": np.array([3, 4, 9, 17, 30, 31, 40, 40])}, "token_map does not name 8 different tokens"),
    ({"token_map": np.arange(7)}, r"token_map is I64 \(7,\), it should be 8 integers"),
    ({"token_map": np.zeros(8, np.float32)}, "token_map is F32"),
    ({"d2t": OFFSETS, "t2d": np.ones(VOCAB, bool)}, "t2d and d2t do not name the same tokens"),
    ({"d2t": OFFSETS + 1}, "d2t does not name 8 different tokens of 50"),
])  # fmt: skip
def test_maps_that_name_something_else(tmp_path, maps, said) -> None:
    held = {**tensors(rows=len(KNOWN)), **maps}
    with pytest.raises(BadFile, match=said):
        open_medusa(write(tmp_path / "m", VLLM, held, **FEWER), VOCAB)


def test_a_folder_without_weights_and_one_with_something_else(tmp_path) -> None:
    folder = write(tmp_path / "m", VLLM, {})
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadFile, match=r"holds no \*\.safetensors"):
        open_medusa(folder, VOCAB)
    (folder / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(BadFile, match=r"pytorch_model\.bin is damaged, .*fetch it again$"):
        open_medusa(folder, VOCAB)


def test_a_folder_whose_weights_are_a_file_of_torch(tmp_path) -> None:
    folder, held = write(tmp_path / "m", VLLM, {}, **FEWER), tensors(rows=len(KNOWN))
    (folder / "model.safetensors").unlink()
    torch_file(folder / "pytorch_model.bin", {**held, "token_map": KNOWN})
    file = open_medusa(folder, VOCAB)
    np.testing.assert_array_equal(file.tokens, KNOWN)
    check(file, held, lambda head: held[f"lm_heads.{head}.weight"])


# ---------------------------------------------------------------------------------------------------- with a model


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root, sizes = tmp_path_factory.mktemp("medusa"), tiny_config(context_length=512)
    numbers = random_tensors(sizes)
    numbers["model.norm.weight"] = numbers["model.norm.weight"] * 4
    folder = write_folder(root / "tiny", sizes, numbers)
    held = tensors(rows=0, width=sizes.hidden_size)
    changes = {"medusa_hidden_size": sizes.hidden_size, "medusa_vocab_size": sizes.vocab_size}
    return SimpleNamespace(
        folder=folder, cache=root / "cache", draft=write(root / "draft", SPECULATORS, held, **changes)
    )


def test_a_model_drafts_with_it_and_a_seed_gives_one_text(place) -> None:
    settings = {"n": 2, "max_tokens": 40, "ignore_eos": True, "temperature": 0.8}
    alone = {"method": "head", "adaptive": False}
    with load(place.folder, cache=place.cache, threads=1, draft=place.draft) as model:
        assert model.drafts.head(None).levels == HEADS
        plain = model.generate("hello world", speculative=False, seed=5, **settings)
        fast = model.generate("hello world", speculative=alone, seed=5, **settings)
        assert [each.tokens for each in fast.choices] == [each.tokens for each in plain.choices]
        assert fast.fallback is None
        assert fast.stats.drafted > 40


def test_one_for_another_model_is_refused(place, tmp_path) -> None:
    other = write(tmp_path / "other", SPECULATORS, tensors(rows=0))
    with (
        load(place.folder, cache=place.cache, threads=1, draft=other) as model,
        pytest.raises(BadParameter, match=r"reads hidden states of 32 numbers over 50 tokens .*org/Modell Ω"),
    ):
        model.generate("a", speculative="head")


@pytest.mark.parametrize("tokens", [10**10, 10**30])
def test_one_for_more_tokens_than_any_memory_holds_is_refused(place, tmp_path, tokens) -> None:
    other = write(tmp_path / "m", VLLM, tensors(), vocab_size=tokens, truncated_vocab_size=None)
    with (
        load(place.folder, cache=place.cache, threads=1, draft=other) as model,
        pytest.raises(BadParameter, match=f"reads hidden states of {WIDTH} numbers over {tokens} tokens"),
    ):
        model.generate("a", speculative="head")
