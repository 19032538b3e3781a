"""Folders that are broken, devices that are not there, room that runs out, engines that are closed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.decoder import PLAIN, RandomWeights, tiny_checkpoint
from engine.pytorch.families import CONTEXT, VOCAB, farthest, open_family, write_family, write_tokenizer
from models.tiny_models import tiny_config, write_openvino
from truedraw import load
from truedraw.engine.pytorch import PyTorchEngine
from truedraw.engine.pytorch.running import running
from truedraw.errors import BadModelFile, BadParameter, BadPrompt, EngineError, OutOfPages, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.protocol import Fill, Proposal, Work

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

TEXT = np.random.default_rng(3).integers(0, VOCAB, 150).tolist()
ROW_BYTES = 2 * 2 * 2 * 16 * 4  # layers, keys and values, heads, head width, float32


@pytest.fixture
def folder(tmp_path):
    write_family(tmp_path / "model", "gpt2")
    return tmp_path / "model"


def change(folder, **values):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_a_truncated_file(folder) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(BadModelFile, match=r"cannot be loaded.*fetch the model again"):
        open_family(folder)


def test_a_tensor_that_is_not_there(folder) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["transformer.h.1.mlp.c_fc.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadModelFile, match=r"missing keys: transformer\.h\.1\.mlp\.c_fc\.weight; fetch"):
        open_family(folder)


def test_tensors_of_another_shape(folder) -> None:
    change(folder, n_embd=32)
    with pytest.raises(BadModelFile, match="fetch the model again"):
        open_family(folder)


def test_a_folder_without_weights(folder) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadModelFile, match=r"holds no \*\.safetensors"):
        open_family(folder)


@pytest.mark.parametrize("kind", ["no-such-kind", 7, None])
def test_architectures_that_do_not_exist(folder, kind) -> None:
    change(folder, model_type=kind)
    with pytest.raises((UnsupportedModel, BadModelFile), match=r"config\.json"):
        open_family(folder)


def test_what_is_no_causal_model(folder) -> None:
    change(folder, model_type="t5", architectures=["T5ForConditionalGeneration"])
    with pytest.raises(UnsupportedModel, match="transformers cannot run"):
        open_family(folder)


def written(folder, kind: str, **settings):
    """A model of transformers that is none to be drawn from."""
    import transformers

    model = getattr(transformers, kind)
    torch.manual_seed(1)
    model(model.config_class(vocab_size=VOCAB, **settings)).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def test_what_looks_ahead_is_refused(tmp_path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    with pytest.raises(UnsupportedModel, match="each row of this model depends on the tokens behind it"):
        open_family(written(tmp_path / "m", "BertLMHeadModel", **sizes))
    decoder = written(tmp_path / "decoder", "BertLMHeadModel", is_decoder=True, **sizes)
    open_family(decoder).close()


@pytest.mark.parametrize(("kind", "expected"), [("Roberta", 14), ("Data2VecText", 14), ("Bert", 16), ("OPT", 16)])
def test_a_text_ends_with_the_table_of_positions(kind, expected, tmp_path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 16, "pad_token_id": 1}  # fmt: skip
    name = {"Bert": "BertLMHeadModel"}.get(kind, f"{kind}ForCausalLM")
    engine = open_family(written(tmp_path / "m", name, is_decoder=True, **sizes))
    assert engine.context_length == expected
    text = engine.open(TEXT[: expected - 2])
    assert engine.forward([Work(text, Proposal.chain([5, 6]))])[0].logits.shape == (3, VOCAB)
    engine.close()


def test_what_transformers_makes_but_cannot_run_is_refused(tmp_path) -> None:
    """Layers that take their number of heads from two settings, which differ here."""
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
             "intermediate_size": 32, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
             "qk_nope_head_dim": 8, "v_head_dim": 16, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    with pytest.raises(UnsupportedModel, match=r"^transformers cannot run .*m: The size of tensor a"):
        open_family(written(tmp_path / "m", "YoutuForCausalLM", **sizes))


def test_an_encoder_with_a_decoder_is_named(tmp_path) -> None:
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
             "encoder_attention_heads": 2, "decoder_attention_heads": 2}  # fmt: skip
    with pytest.raises(UnsupportedModel, match="a model of an encoder and a decoder"):
        open_family(written(tmp_path / "m", "BartForConditionalGeneration", **sizes))


def test_files_that_another_engine_runs(tmp_path) -> None:
    checkpoint = open_checkpoint(write_openvino(tmp_path, tiny_config()))
    with pytest.raises(UnsupportedModel, match="only the engine openvino runs"):
        PyTorchEngine.load(checkpoint)
    other = tiny_checkpoint(replace(PLAIN, architecture="mamba"), RandomWeights(PLAIN))
    with pytest.raises(UnsupportedModel, match="supported: llama, qwen2, qwen3"):
        PyTorchEngine.load(other)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "meta", "mps", ""])
def test_devices_that_are_not_there(device) -> None:
    with pytest.raises(BadParameter, match=r"device: .* cannot be used .* give cpu") as told:
        PyTorchEngine.load(tiny_checkpoint(), device=device)
    assert len(str(told.value)) < 300


def test_layers_that_are_not_there(folder) -> None:
    with pytest.raises(BadParameter, match="not all among 0 to 1"):
        open_family(folder, hidden_layers=(0, 2))


def test_room_runs_out_and_comes_back(tmp_path) -> None:
    model = write_family(tmp_path, "llama")
    engine = open_family(tmp_path, cache_bytes=125 * ROW_BYTES)
    parent = engine.open(TEXT[:60])
    children = engine.fork(parent, 5)
    assert engine.fits([Work(children[0], Proposal.chain(range(6)))])  # beside the 59 rows that the others share
    wide = [Work(children[0], Proposal.chain(range(7)))]
    assert not engine.fits(wide)
    before = [child.num_uncached for child in children]
    with pytest.raises(OutOfPages, match=rf"126 tokens are wanted and 125 fit.* at least {126 * ROW_BYTES}$"):
        engine.forward(wide)
    assert [child.num_uncached for child in children] == before
    for each in (parent, *children[1:]):
        each.close()
    works = [Work(children[0], Proposal.chain(range(65)))]
    assert engine.fits(works)
    assert farthest(model, engine, works) < 1e-5
    with pytest.raises(OutOfPages):
        engine.fork(engine.open(TEXT[:3]), 1)


def test_prompts_that_cannot_be_opened(folder) -> None:
    engine = open_family(folder)
    for tokens, error in (
        ([], BadPrompt),
        ([0] * (CONTEXT + 1), BadPrompt),
        ([VOCAB], EngineError),
        ([-1], EngineError),
    ):
        with pytest.raises(error):
            engine.open(tokens)
    full = engine.open([1] * CONTEXT)
    assert engine.forward([Work(full)])[0].logits.shape == (1, VOCAB)
    with pytest.raises(EngineError, match="draft less"):
        engine.forward([Work(full, Proposal.chain([1]))])


def test_sequences_of_others_twice_and_closed(folder) -> None:
    engine, other = open_family(folder), open_family(folder)
    sequence = engine.open([1, 2])
    with pytest.raises(EngineError, match="only be run by the engine that opened it"):
        other.forward([Work(sequence)])
    with pytest.raises(EngineError, match="only once; fork it"):
        engine.forward([Work(sequence)], [Fill(sequence, 1)])
    sequence.close()
    for use in (lambda: engine.fork(sequence, 1), lambda: engine.forward([Work(sequence)])):
        with pytest.raises(EngineError, match="the sequence is closed"):
            use()
    open_one = engine.open([1])
    engine.close()
    engine.close()
    for use in (lambda: engine.open([1]), lambda: engine.forward([Work(open_one)]), lambda: engine.fits([])):
        with pytest.raises(EngineError, match="the engine is closed"):
            use()


def test_a_model_of_another_architecture_is_loaded_by_its_folder(folder) -> None:
    with pytest.raises(UnsupportedModel):
        load(folder)
    with load(folder, engine="pytorch") as model:
        settings = {"seed": 5, "max_tokens": 20, "n": 3, "ignore_eos": True}
        plain = model.generate([1, 2, 3], speculative=False, **settings)
        spec = {"model": str(folder), "num_speculative_tokens": 3, "adaptive": False}
        fast = model.generate([1, 2, 3], speculative=spec, **settings)
        assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]
        assert fast.stats.accepted > 20  # the model drafts for itself
        assert fast.fallback is None


def test_memory_of_the_processor_that_runs_out_is_an_error_in_words():
    said = r"the device is out of memory \(.*\); .* or train a smaller draft \(--hidden\)"
    with pytest.raises(EngineError, match=said), running(None):
        torch.empty(1 << 60)


def test_other_errors_of_torch_are_left_as_they_are():
    with pytest.raises(RuntimeError, match="shape"), running(None):
        torch.zeros(2).view(3)
