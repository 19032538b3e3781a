"""Checkpoints in the format of Medusa's own repository: read, drafted with, and refused where something is wrong."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from draft.head.random_heads import silu
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import load
from truedraw.draft.head.card import UNKNOWN
from truedraw.draft.head.compiled import TargetRows
from truedraw.draft.head.kinds import cell_of
from truedraw.draft.head.medusa.folder import is_medusa, open_medusa
from truedraw.draft.head.medusa.torch_file import read_torch
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


def test_the_config_says_how_many_heads_are_taken(tmp_path) -> None:
    assert open_medusa(write(tmp_path / "m", medusa_num_heads=2), VOCAB).card.heads == 2


# ----------------------------------------------------------------------------------------------- files of torch.save


class Made:
    """What a pickle of torch calls: pickled as that, without torch."""

    def __init__(self, name, args) -> None:
        self.name, self.args = name, args


class Writer(pickle._Pickler):
    """Pickles as torch does."""

    def save(self, thing, save_persistent_id=True):
        if isinstance(thing, Made):
            self._named(*thing.name.rsplit(".", 1))
            super().save(thing.args)
            self.write(pickle.REDUCE)
        elif isinstance(thing, type) and thing.__module__ == "torch":
            self._named("torch", thing.__name__)
        else:
            super().save(thing, save_persistent_id)

    def _named(self, module, name):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def persistent_id(self, thing):
        return thing.pid if isinstance(thing, Stored) else None


class Stored:
    def __init__(self, kind, key, count) -> None:
        self.pid = ("storage", type(kind, (), {"__module__": "torch"}), key, "cpu", count)


def torch_file(path, held, folder="archive", kind="FloatStorage", spoil=None, **entry):
    """As torch.save writes a state dict."""
    said, numbers = OrderedDict(), {}
    for key, (name, values) in enumerate(held.items()):
        strides = tuple(np.array(values.strides) // values.itemsize)
        shared = (Stored(kind, str(key), values.size), 0, values.shape, tuple(map(int, strides)), False, OrderedDict())
        said[name] = Made("torch._utils._rebuild_tensor_v2", shared)
        numbers[f"data/{key}"] = values.astype("<f2") if kind == "HalfStorage" else values
    said = spoil(said) if spoil else said
    stream = io.BytesIO()
    Writer(stream, 2).dump(said)
    with zipfile.ZipFile(path, "w", entry.get("compression", zipfile.ZIP_STORED)) as archive:
        archive.writestr(f"{folder}/data.pkl", stream.getvalue())
        for name, values in numbers.items():
            archive.writestr(f"{folder}/{name}", values.tobytes())
    return path


@pytest.mark.parametrize("kind", ["FloatStorage", "HalfStorage"])
def test_a_file_of_torch_is_read_without_torch(tmp_path, kind) -> None:
    folder, held = tmp_path / "m", tensors()
    config(folder)
    torch_file(folder / "medusa_lm_head.pt", held, folder="medusa_lm_head", kind=kind)
    file = open_medusa(folder, VOCAB)
    for name, tensor in read_torch(folder / "medusa_lm_head.pt").items():
        np.testing.assert_allclose(tensor.dense(), held[name], atol=0 if kind == "FloatStorage" else 0.01)
    for head, logits in enumerate(said_by(file, hidden_of())):
        assert near(logits, by_definition(held, hidden_of(), head))


@pytest.mark.parity
def test_torch_writes_such_files(tmp_path) -> None:
    import torch

    held = tensors()
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        whole = torch.zeros(3, VOCAB, WIDTH, dtype=dtype)  # a view into a larger storage
        said = {name: torch.from_numpy(values).to(dtype) for name, values in held.items()}
        whole[1] = said[f"0.{LAYERS}.weight"]
        said[f"0.{LAYERS}.weight"] = whole[1]
        said["1.0.linear.bias"] = torch.nn.Parameter(said["1.0.linear.bias"])
        torch.save(OrderedDict(said), tmp_path / "x.pt")
        for name, tensor in read_torch(tmp_path / "x.pt").items():
            np.testing.assert_array_equal(tensor.dense(), said[name].detach().float().numpy())


class Evil:
    def __reduce__(self):
        import os

        return os.mkdir, (str(self.path),)


CONVERT = r"cannot be read without torch .*convert it in its folder: python -c .*save_file.*medusa_lm_head\.safetensors"


def test_nothing_that_a_file_names_is_run(tmp_path) -> None:
    Evil.path = tmp_path / "made by a pickle"
    path = torch_file(tmp_path / "medusa_lm_head.pt", {}, spoil=lambda said: {"0.0.linear.weight": Evil()})
    with pytest.raises(BadFile, match=r"it names posix\.mkdir.*" + CONVERT.partition(".*")[2]):
        read_torch(path)
    assert not Evil.path.exists()


@pytest.mark.parametrize("spoil", [
    lambda said: [1, 2], lambda said: {"a": 3}, lambda said: {"a": OrderedDict()},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (3, 0, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", ())},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "9", 4), 0, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), 10**9, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), -1, (2,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), 0, (2, 2), (1, 2)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("FloatStorage", "0", 4), 0, (-1,), (1,)))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v2", (Stored("LongStorage", "0", 4), 0, (2,), (1,)))},
    lambda said: {"a": Made("builtins.eval", ("1",))},
    lambda said: {"a": Made("torch._utils._rebuild_tensor_v3", ())},
], ids=range(13))  # fmt: skip
def test_a_pickle_that_says_something_else(tmp_path, spoil) -> None:
    path = torch_file(tmp_path / "medusa_lm_head.pt", {"a": np.zeros(4, np.float32)}, spoil=spoil)
    with pytest.raises(BadFile, match=CONVERT):
        read_torch(path)


@pytest.mark.parametrize("data", [b"", b"\x80\x02}q\x00.", b"PK\x03\x04" + b"\0" * 40, "ein Text ✂".encode()])
def test_no_such_file_at_all(tmp_path, data) -> None:
    path = tmp_path / "medusa_lm_head.pt"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=CONVERT):
        read_torch(path)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_cut_file_and_a_compressed_one(tmp_path, share) -> None:
    path = torch_file(tmp_path / "medusa_lm_head.pt", tensors())
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(BadFile, match=CONVERT):
        read_torch(path)
    with pytest.raises(BadFile, match="is compressed, which torch does not do"):
        read_torch(torch_file(path, tensors(), compression=zipfile.ZIP_DEFLATED))


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
