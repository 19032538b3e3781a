"""A model that carries MTP layers: what is read of it when it drafts for itself, and one text a seed whoever drafts."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from draft.eagle.random_eagles import Shape, write
from draft.eagle.random_mtp import CONFIG, PREFIX, PlainMtp, model_tensors, mtp_tensors, write_mimo
from engine.decoder import Decoder, softmax
from models.tiny_models import GGUFOptions, random_tensors, tiny_config, write_folder, write_gguf, write_openvino
from truedraw import Model, load
from truedraw.draft.eagle.mtp import MtpDrafter
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.errors import BadFile, BadParameter
from truedraw.models.safetensors_file import StoredTensor
from truedraw.protocol import NOTHING, Work
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

ALONE = {"method": "mtp", "adaptive": False}
SETTINGS = {"n": 3, "max_tokens": 40, "ignore_eos": True}
LAWS = {"plain": {}, "cold": {"temperature": 0.3}, "cut": {"top_p": 0.9, "top_k": 50}, "greedy": {"temperature": 0},
        "looks at the text": {"repetition_penalty": 1.2, "no_repeat_ngram": 3}}  # fmt: skip
PROMPTS = ("hello world", "12 12 12", "once upon a time there was", "Ωδ ✂ 犬", "a")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    root = tmp_path_factory.mktemp("mtp")
    return SimpleNamespace(root=root, cache=root / "cache", folder=write_mimo(root / "mimo"),
                           bare=write_folder(root / "bare", CONFIG, model_tensors(CONFIG)))  # fmt: skip


def opened(place, folder=None, **options) -> Model:
    return load(folder or place.folder, cache=place.cache, threads=1, **options)


@pytest.fixture(scope="module")
def model(place):
    with opened(place) as loaded:
        yield loaded


def tokens(result) -> list:
    return [choice.tokens for choice in result.choices]


# ------------------------------------------------------------------------------------------------------ one text a seed


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_with_it_and_without(model: Model, law: str) -> None:
    settings = {**SETTINGS, **LAWS[law], "seed": 5}
    plain = model.generate(PROMPTS[2], speculative=False, **settings)
    fast = model.generate(PROMPTS[2], speculative=ALONE, **settings)
    assert fast.fallback is None
    assert fast.stats.drafted > 40
    assert tokens(fast) == tokens(plain)


def test_in_a_batch_of_five_too(model: Model) -> None:
    laws = list(LAWS.values())
    plain = [model.generate(prompt, seed=number, speculative=False, **SETTINGS, **laws[number])
             for number, prompt in enumerate(PROMPTS)]  # fmt: skip
    for speculative in (ALONE, {"method": "mtp"}, None):
        with model.batch() as batch:
            runs = [batch.add(prompt, seed=number, speculative=speculative, **SETTINGS, **laws[number])
                    for number, prompt in enumerate(PROMPTS)]  # fmt: skip
            while batch.step():
                pass
        results = [run.result() for run in runs]
        assert [result.fallback for result in results] == [None] * 5
        assert [tokens(result) for result in results] == [tokens(result) for result in plain]
        assert speculative is not ALONE or all(result.stats.drafted > 40 for result in results)


@pytest.mark.parametrize("rule", ["traversal", "recursive", "block", "token"])
def test_without_a_seed_nothing_it_says_is_illegal(model: Model, rule: str) -> None:
    result = model.generate(PROMPTS[0], speculative={**ALONE, "rejection_sample_method": rule}, **SETTINGS)
    assert result.fallback is None
    assert result.stats.drafted > 40


# --------------------------------------------------------------------------------------------------- what is loaded


def test_the_model_is_the_same_without_its_layers(place, model: Model) -> None:
    """It is a qwen2 model, whose texts do not depend on what lies beside it."""
    settings = {**SETTINGS, "seed": 3, "speculative": False}
    with opened(place, place.bare) as bare, opened(place, draft="none") as alone:
        expected = tokens(bare.generate(PROMPTS[0], **settings))
        assert tokens(alone.generate(PROMPTS[0], **settings)) == expected
    assert tokens(model.generate(PROMPTS[0], **settings)) == expected


def test_its_layers_are_read_when_they_are_first_drawn_from(place, monkeypatch) -> None:
    read: list[str] = []
    names = {(tensor.path, tensor.offset): name for name, tensor in headers(place.folder).items()}
    dense = StoredTensor.dense
    monkeypatch.setattr(
        StoredTensor, "dense", lambda self: (read.append(names[self.path, self.offset]), dense(self))[1]
    )
    with opened(place, numerics="reference") as model:
        assert model.engine.hidden_layers == (CONFIG.num_layers - 1,)
        model.generate("a", speculative=False, max_tokens=3)
        model.generate("a", speculative="suffix", max_tokens=3)
        assert read
        assert not [name for name in read if name.startswith(PREFIX)]
        of_the_model = len(read)
        model.generate("a", speculative=ALONE, max_tokens=9)
        assert {*read[of_the_model:]} == {*mtp_tensors(CONFIG)}
        model.generate("b", speculative=ALONE, max_tokens=9)
        assert len(read) == of_the_model + len(mtp_tensors(CONFIG))
    with opened(place, draft="none", numerics="reference") as model:
        assert model.engine.hidden_layers is None


def headers(folder):
    from truedraw.models.safetensors_file import read_header

    return read_header(folder / "model.safetensors")


def test_auto_draws_from_them_where_the_model_was_loaded_for_them(place, model: Model) -> None:
    assert model.drafts.auto_sources == ("suffix", "ngram-lm", "mtp")
    with opened(place, draft="none") as plain:
        assert "mtp" not in plain.drafts.auto_sources


@pytest.mark.parametrize("tied", [False, True])
def test_it_reads_all_of_a_prompt(place, tied, monkeypatch) -> None:
    """Its first draft has the law of the formulas over a plain decoder's last stream of the whole text."""
    config = CONFIG if not tied else tiny_config("qwen2", context_length=512)
    make = CompiledNetwork.__init__
    monkeypatch.setattr(CompiledNetwork, "__init__", lambda self, *given: make(self, *given, arithmetic="reference"))
    folder = write_mimo(place.root / f"tied {tied}", config, seed=2)
    with opened(place, folder, draft="mtp", numerics="reference", prefix_cache_bytes=0) as model:
        drafter = MtpDrafter(config.vocab_size, models=model.drafts)
        prompt = model.tokenizer.encode("once upon a time in a land far away", add_special=False)
        law = SamplingLaw(sampling_params({}), Opening(tuple(prompt), config.vocab_size))
        state, sequence = drafter.open(prompt, law), model.engine.open(prompt)
        (scores,) = model.engine.forward([Work(sequence)])
        state.commit([7], scores_of(scores))
        (proposal,) = drafter.propose([state], [1], [PhiloxRandomness(1)])
    held = load_file(folder / "model.safetensors")
    stored = SimpleNamespace(names=lambda: [name for name in held if not name.startswith(PREFIX)], dense=held.get)
    streams = Decoder(config, stored).run([*prompt])[1]
    rows = held["model.embed_tokens.weight"]
    plain = PlainMtp(config, held, rows, rows if tied else held["lm_head.weight"])
    expected = softmax(plain.logits(streams[-2], [*prompt[1:], 7]))
    assert np.abs(proposal.laws[0].dense() - expected).sum() / 2 < 1e-3
    normed = softmax(plain.logits(streams[-1], [*prompt[1:], 7]))
    assert np.abs(normed - expected).sum() / 2 > 1e-2  # reading the final norm's output would be noticed


def scores_of(scores):
    from dataclasses import replace

    return replace(scores, proposal=NOTHING)


def test_a_folder_of_another_one_trained_further(place, model: Model) -> None:
    """The layers of a second folder, named as draft, for the model of the first."""
    other = write_mimo(place.root / "further", seed=9)
    with opened(place, draft=other) as loaded:
        settings = {**SETTINGS, "seed": 5}
        found = loaded.generate(PROMPTS[2], speculative=ALONE, **settings)
        assert tokens(found) == tokens(model.generate(PROMPTS[2], speculative=False, **settings))
        assert found.stats.drafted > 40


# ---------------------------------------------------------------------------------------------------- what is refused


def test_a_model_without_such_layers(place) -> None:
    with pytest.raises(
        BadParameter, match=r"draft: .*bare carries no MTP layers \(model\.mtp_layers\.\* in a folder of"
    ):
        opened(place, place.bare, draft="mtp")
    with (
        opened(place, place.bare) as bare,
        pytest.raises(BadParameter, match=r"method: .*was not loaded for MTP layers"),
    ):
        bare.generate("a", speculative="mtp")
    with load("tabular") as toy, pytest.raises(BadParameter, match="the engine of tabular shows none"):
        toy.generate("a", speculative="mtp")


def test_a_model_that_was_not_loaded_for_them(place) -> None:
    with opened(place, draft="none") as plain, pytest.raises(BadParameter, match='give "mtp" as draft'):
        plain.generate("a", speculative="mtp")


def test_methods_and_drafts_are_told_apart(place, model: Model) -> None:
    for method in ("eagle", "head", "head-ngram"):
        with pytest.raises(BadParameter, match='a model with MTP layers, which the method "mtp" draws from'):
            model.generate("a", speculative=method)
    with pytest.raises(BadParameter, match=r'the method "mtp" draws from \(--spec-method mtp\)'):
        model.generate("a", speculative={"method": "eagle", "eagle_path": place.folder})
    shape = Shape("EAGLE", vocab=CONFIG.vocab_size, target=CONFIG.hidden_size, width=CONFIG.hidden_size, layer_ids=None)
    with opened(place, draft=write(place.root / "eagle", shape)) as other:
        with pytest.raises(BadParameter, match="was not loaded for MTP layers"):
            other.generate("a", speculative="mtp")
        assert other.generate("a", speculative="eagle", max_tokens=5).fallback is None


def test_layers_of_a_model_of_another_size(place) -> None:
    wide = write_mimo(place.root / "wide", tiny_config("qwen2", hidden_size=32, num_heads=2, tie_embeddings=False))
    said = "draft: .*wide reads hidden states of 32 numbers over 266 tokens; .*mimo has 64 and 266"
    with opened(place, draft=wide) as model, pytest.raises(BadParameter, match=said):
        model.generate("a", speculative="mtp")


@pytest.mark.parametrize(("changes", "said"), [
    ({"input_proj__weight": None}, r"lacks model\.mtp_layers\.0\.input_proj\.weight of its MTP layers"),
    ({"input_proj__weight": np.ones((64, 64), np.float32)}, r"0\.input_proj\.weight \[64, 64\] \(expected \[64, 128\]"),
    ({"mlp__experts__0__up_proj__weight": np.ones((2, 2), np.float32)}, r"holds model\.mtp_layers\.0\.mlp\.experts"),
])  # fmt: skip
def test_damaged_layers_are_refused_when_the_model_is_loaded_for_them(place, changes, said) -> None:
    folder = write_mimo(place.root / f"damaged {len(said)}", **changes)
    for draft in (None, "mtp"):
        with pytest.raises(BadFile, match=f'{said}.*; with "none" as draft .--draft. a model runs without its MTP la'):
            opened(place, folder, draft=draft)
    with opened(place, folder, draft="none") as alone:
        assert alone.generate("a", max_tokens=3).choices


def test_a_checkpoint_whose_layers_were_taken_out(place) -> None:
    """Its config still speaks of one; as a model it is whole."""
    folder = write_mimo(place.root / "taken out")
    held = load_file(folder / "model.safetensors")
    save_file(
        {name: value for name, value in held.items() if not name.startswith(PREFIX)}, folder / "model.safetensors"
    )
    with opened(place, folder) as model:
        assert model.engine.hidden_layers is None
    with pytest.raises(BadParameter, match="carries no MTP layers"):
        opened(place, folder, draft="mtp")


def test_layers_that_the_config_does_not_speak_of(place) -> None:
    folder = write_mimo(place.root / "unspoken")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_nextn_predict_layers": None}))
    with opened(place, folder) as model:
        assert model.engine.hidden_layers is None
    with pytest.raises(BadParameter, match="carries no MTP layers"):
        opened(place, folder, draft="mtp")


def test_truncated(place) -> None:
    folder = write_mimo(place.root / "cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    for draft in (None, "none", "mtp"):
        with pytest.raises(BadFile, match="is truncated or broken"):
            opened(place, folder, draft=draft)


def test_files_of_other_kinds_carry_none(place) -> None:
    """No converter writes such layers into a GGUF file of an architecture that is known here."""
    config = tiny_config("qwen2")
    path = write_gguf(place.root / "q.gguf", config, random_tensors(config), GGUFOptions(pre="qwen2"))
    with pytest.raises(BadParameter, match=r"q\.gguf carries no MTP layers"):
        load(path, draft="mtp")
    with pytest.raises(BadParameter, match="ready carries no MTP layers"):
        load(write_openvino(place.root / "ready", CONFIG), draft="mtp")
