"""Folders with EAGLE drafts as others convert and publish them: torch's files, other names, maps, what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from draft.eagle.random_eagles import FORMATS, tensors, write
from draft.eagle.test_eagle_checkpoint import SHAPES, say, whole
from draft.torch_files import torch_file
from truedraw.draft.eagle.checkpoint import EagleFolder, holds_eagle
from truedraw.errors import BadFile

WIDE = replace(SHAPES["EAGLE-3"], target=48)


def of_torch(folder, spoil=None, **changes):
    """The same weights as pytorch_model.bin."""
    held = load_file(folder / "model.safetensors") | changes
    (folder / "model.safetensors").unlink()
    torch_file(folder / "pytorch_model.bin", held, spoil=spoil)
    return folder


def renamed(folder, beginning, kept=()):
    """With something in front of the names."""
    held = load_file(folder / "model.safetensors")
    save_file({name if name in kept else beginning + name: value for name, value in held.items()},
              folder / "model.safetensors")  # fmt: skip
    return folder


def same(folder, shape, other) -> bool:
    """Whether two folders say the same in every tensor of the second."""
    one, two = EagleFolder(folder), EagleFolder(other)
    floats = {name: each.shape for name, each in tensors(shape).items() if each.dtype == np.float32}
    return (one.names, one.config) == (two.names, two.config) and all(
        np.array_equal(one._tensors.numbers(name, size), two._tensors.numbers(name, size))
        for name, size in floats.items()
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_weights_in_a_file_of_torch(tmp_path, kind) -> None:
    shape = SHAPES[kind]
    safe, folder = write(tmp_path / "safe", shape), of_torch(write(tmp_path / "torch", shape))
    assert holds_eagle(folder)
    assert same(folder, shape, safe)
    np.testing.assert_array_equal(whole(folder).tokens, whole(safe).tokens)


@pytest.mark.parity
@pytest.mark.parametrize("kind", FORMATS)
def test_weights_that_torch_has_saved(tmp_path, kind) -> None:
    import torch

    shape = SHAPES[kind]
    safe, folder = write(tmp_path / "safe", shape), write(tmp_path / "torch", shape)
    held = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({name: torch.tensor(value) for name, value in held.items()}, folder / "pytorch_model.bin")
    assert same(folder, shape, safe)
    np.testing.assert_array_equal(whole(folder).tokens, whole(safe).tokens)


def test_safetensors_come_first(tmp_path) -> None:
    folder = write(tmp_path / "eagle", SHAPES["EAGLE-3"])
    (folder / "pytorch_model.bin").write_bytes(b"something else")
    (folder / "training_args.bin").write_bytes(b"something else")
    whole(folder)


def test_torchs_file_in_parts_is_refused(tmp_path) -> None:
    folder = of_torch(write(tmp_path / "eagle", SHAPES["EAGLE-3"]))
    (folder / "pytorch_model.bin").rename(folder / "pytorch_model-00001-of-00002.bin")
    with pytest.raises(
        BadFile, match=r"00001-of-00002\.bin and others; .*only pytorch_model\.bin is read.*: convert others"
    ):
        EagleFolder(folder)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 0.9999])
def test_a_file_of_torch_that_was_cut(tmp_path, share) -> None:
    folder = of_torch(write(tmp_path / "eagle", SHAPES["EAGLE-3"]))
    path = folder / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(BadFile, match=r"pytorch_model\.bin is damaged, .*fetch it again$"):
        EagleFolder(folder)


class Evil:
    def __reduce__(self):
        import os

        return os.mkdir, (str(self.path),)


def test_nothing_that_a_file_of_torch_names_is_run(tmp_path) -> None:
    Evil.path = tmp_path / "made by a pickle"
    folder = of_torch(write(tmp_path / "eagle", SHAPES["EAGLE"]), spoil=lambda said: {**said, "evil": Evil()})
    with pytest.raises(BadFile, match=r"it names posix\.mkdir"):
        EagleFolder(folder)
    assert not Evil.path.exists()


@pytest.mark.parametrize(("name", "value", "said"), [
    ("fc.weight", np.ones((32, 96), np.int64), "fc.weight is I64 and should be floats"),
    ("d2t", np.zeros(24, np.float32), "d2t is F32"), ("t2d", np.ones(60, bool), "do not name the same tokens"),
    ("norm.weight", np.full(32, np.nan, np.float32), "norm.weight holds numbers that are not finite"),
])  # fmt: skip
def test_tensors_of_torch_that_are_not_what_they_should_be(tmp_path, name, value, said) -> None:
    folder = of_torch(write(tmp_path / "eagle", SHAPES["EAGLE-3"]), **{name: value})
    with pytest.raises(BadFile, match=said):
        whole(folder)


# ------------------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("kept", [(), ("lm_head.weight", "d2t", "t2d")])
@pytest.mark.parametrize("kind", FORMATS)
def test_names_of_a_whole_model_around_a_draft(tmp_path, kind, kept) -> None:
    shape = SHAPES[kind]
    folder = renamed(write(tmp_path / "eagle", shape), "model.", kept)
    assert holds_eagle(folder)
    assert same(folder, shape, write(tmp_path / "plain", shape))
    whole(folder)


def test_names_with_something_in_front_and_without(tmp_path) -> None:
    folder = write(tmp_path / "eagle", SHAPES["EAGLE"], model__fc__weight=np.ones((32, 64), np.float32))
    with pytest.raises(BadFile, match=r"holds tensors twice, with model\. in front of their names and without"):
        EagleFolder(folder)


# ----------------------------------------------------------------------------------------------- what is left out


@pytest.mark.parametrize("kind", ["EAGLE-3", "eagle3"])
@pytest.mark.parametrize("told", ["all", "a map", "their number"])
def test_the_third_without_its_norm_is_told_of_that(tmp_path, kind, told) -> None:
    shape = SHAPES["EAGLE-3"]
    layer = "midlayer." if kind == "EAGLE-3" else "layers.0."
    held = {name.replace("midlayer.", layer): value for name, value in tensors(shape).items()}
    held.pop(layer + "hidden_norm.weight")
    if told == "their number":
        held.pop("d2t")
    folder = say(write(tmp_path / "eagle", shape), draft_vocab_size=None if told == "a map" else 24)
    save_file(held, folder / "model.safetensors")
    with pytest.raises(BadFile, match=rf"lacks the tensor {layer}hidden_norm\.weight"):
        whole(folder)


def test_as_many_drafted_tokens_as_there_are_make_no_third(tmp_path) -> None:
    assert not EagleFolder(say(write(tmp_path / "eagle", SHAPES["EAGLE"]), draft_vocab_size=60)).is_third


def test_another_width_needs_its_own_embedding(tmp_path) -> None:
    whole(write(tmp_path / "whole", WIDE))
    with pytest.raises(BadFile, match=r"lacks embed_tokens\.weight, which a draft of another width needs: .* is 32, "
                                      "and target_hidden_size 48"):  # fmt: skip
        EagleFolder(write(tmp_path / "eagle", WIDE, embed_tokens__weight=None))


# ------------------------------------------------------------------------------------------------------------- maps


@pytest.mark.parametrize("flags", [np.zeros(60, bool), np.ones(60, bool), np.zeros(60, np.uint8), None])
def test_maps_that_were_left_as_they_were_made(tmp_path, flags) -> None:
    shape = replace(SHAPES["EAGLE-3"], known=60)
    folder = write(tmp_path / "eagle", shape, d2t=np.zeros(60, np.int64), t2d=flags)
    assert whole(folder).tokens.tolist() == list(range(60))


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, bool])
def test_flags_of_any_whole_numbers(tmp_path, kind) -> None:
    shape = SHAPES["EAGLE-3"]
    flags = tensors(shape)["t2d"].astype(kind)
    expected = whole(write(tmp_path / "plain", shape)).tokens
    np.testing.assert_array_equal(whole(write(tmp_path / "both", shape, t2d=flags)).tokens, expected)
    np.testing.assert_array_equal(whole(write(tmp_path / "one", shape, t2d=flags, d2t=None)).tokens, expected)


def test_flags_that_contradict_a_map(tmp_path) -> None:
    with pytest.raises(BadFile, match="t2d and d2t do not name the same tokens"):
        whole(write(tmp_path / "few", SHAPES["EAGLE-3"], t2d=np.zeros(60, np.uint8)))
    every = replace(SHAPES["EAGLE-3"], known=60)
    turned = (np.arange(60) + 1) % 60 - np.arange(60)
    assert len(whole(write(tmp_path / "turned", every, d2t=turned)).tokens) == 60
    with pytest.raises(BadFile, match="t2d and d2t do not name the same tokens"):
        whole(write(tmp_path / "all", every, d2t=turned, t2d=np.zeros(60, bool)))
