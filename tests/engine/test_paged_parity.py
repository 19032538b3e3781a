"""The reference arithmetic against transformers on torch: the same files, the same laws."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.decoder import tv
from engine.prose import PROSE
from truedraw.engine.cpu import CPUEngine
from truedraw.models import open_checkpoint
from truedraw.protocol import Proposal, Work

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TV_LIMIT = 1e-4
CONTEXTS = 64


def texts(ids: list[int]) -> list[list[int]]:
    """Contexts of 1 to 600 tokens, from everywhere in the text."""
    rng = np.random.default_rng(0)
    lengths = np.unique(np.geomspace(1, 600, CONTEXTS * 2).astype(int))
    chosen = rng.choice(lengths, CONTEXTS, replace=False)
    starts = [int(rng.integers(0, max(1, len(ids) - length))) for length in chosen]
    return [ids[start : start + length] for start, length in zip(starts, chosen.tolist(), strict=True)]


def laws_of_transformers(model, contexts) -> np.ndarray:
    with torch.no_grad():
        return np.stack([model(torch.tensor([context])).logits[0, -1].float().numpy() for context in contexts])


@pytest.mark.model
def test_the_default_model_on_real_text():
    checkpoint = open_checkpoint("smollm2-135m")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(checkpoint.path.parent), gguf_file=checkpoint.path.name, dtype=torch.float32
    ).eval()
    contexts = texts(checkpoint.text.load_tokenizer().encode(PROSE).ids)
    expected = laws_of_transformers(model, contexts)
    engine = CPUEngine.load(checkpoint, numerics="reference")
    sequences = [engine.open(context) for context in contexts]
    found = np.concatenate([scores.logits.copy() for scores in engine.forward([Work(each) for each in sequences])])
    assert len(found) == CONTEXTS
    assert tv(found, expected) < TV_LIMIT
    engine.close()


SIZES = {
    "vocab_size": 300,
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "attn_implementation": "eager",
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 128,
}
MODELS = {
    "llama3 rope": ("Llama", {"rope_parameters": LLAMA3, "tie_word_embeddings": False}),
    "linear rope": ("Llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 64, "tie_word_embeddings": False}),
}


@pytest.mark.parametrize("name", MODELS)
def test_random_models_of_every_family(name, tmp_path):
    family, changes = MODELS[name]
    torch.manual_seed(1)
    config = getattr(transformers, f"{family}Config")(**SIZES, **changes)
    model = getattr(transformers, f"{family}ForCausalLM")(config).float().eval()
    for tensor_name, tensor in model.named_parameters():  # far from the near-uniform law of an untrained model
        centre = 1.0 if tensor_name.endswith("norm.weight") else 0.0
        torch.nn.init.normal_(tensor, centre, 0.12)
    model.save_pretrained(tmp_path / "model")
    add_tokenizer(tmp_path / "model")
    ids = np.random.default_rng(2).integers(0, SIZES["vocab_size"], 300)
    engine = CPUEngine.load(open_checkpoint(tmp_path / "model"), numerics="reference", cache=tmp_path / "cache")
    found = engine.forward([Work(engine.open(ids[:1]), Proposal.chain(ids[1:]))])[0].logits
    with torch.no_grad():
        expected = model(torch.tensor(ids[None])).logits[0].numpy()
    assert tv(found, expected) < TV_LIMIT
    assert expected.std() > 0.3
    engine.close()


def add_tokenizer(folder) -> None:
    """The smallest tokenizer.json that a model folder needs."""
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({f"t{i}": i for i in range(SIZES["vocab_size"])}, unk_token="t0")).save(
        str(folder / "tokenizer.json")
    )
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "t1"}))
