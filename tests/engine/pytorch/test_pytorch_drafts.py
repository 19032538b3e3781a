"""Trained drafts behind a model of transformers: what they read is what the default engine shows, and so they draft."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from draft.eagle.random_eagles import Shape
from draft.eagle.random_eagles import write as write_eagle
from draft.head.random_heads import card, write
from generate.one_text import CONFIG, LAWS, PROMPTS, check_one_text, in_a_batch, likely, one_by_one, opened, tokens
from models.tiny_models import write_folder
from truedraw.errors import BadParameter, EngineError
from truedraw.models import open_checkpoint
from truedraw.protocol import Fill, Proposal, Work
from truedraw.text import Tokenizer

pytestmark = pytest.mark.parity
EAGLE = Shape("eagle3", vocab=CONFIG.vocab_size, target=CONFIG.hidden_size, width=CONFIG.hidden_size, inner=96,
              head_dim=16, layer_ids=(1, 2), known=200)  # fmt: skip
EAGLES = {"eagle3": EAGLE, "eagle": replace(EAGLE, format="eagle", own_embedding=False, layer_ids=None, known=None)}
HEADS = ("recurrent", "attentive", "parallel", "hydra", "medusa")
SETTINGS = {"n": 2, "max_tokens": 30, "ignore_eos": True}
TEXT = list(range(3, 43))
TREE = Proposal(np.array([5, 6, 7]), np.array([-1, -1, 0]), (None,) * 3)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    root = tmp_path_factory.mktemp("drafts")
    folder = write_folder(root / "tiny", CONFIG, likely())
    said = {"target": "tiny", "tokenizer": Tokenizer.of(open_checkpoint(folder)).fingerprint, "layers": (0, 1),
            "vocab_size": CONFIG.vocab_size, "width": CONFIG.hidden_size, "tokens": 200}  # fmt: skip
    heads = {kind: write(root / f"{kind}.safetensors", card(**{**said, "kind": kind} | no_layers(kind)))
             for kind in HEADS}  # fmt: skip
    eagles = {name: write_eagle(root / name, shape, seed=4) for name, shape in EAGLES.items()}
    return SimpleNamespace(root=root, folder=folder, cache=root / "cache", drafts=heads | eagles)


def no_layers(kind: str) -> dict:
    return {"layers": ()} if kind == "medusa" else {}


def method_of(draft: str) -> dict:
    method = "eagle" if draft in EAGLES else "head"
    return {"method": method, "num_speculative_tokens": 3, "adaptive": False}


@pytest.fixture(scope="module", params=[*HEADS, *EAGLES])
def both(request, place):
    """A draft, and the model on either engine that is loaded for it."""
    draft = place.drafts[request.param]
    with (
        opened(place, engine="pytorch", draft=draft) as model,
        opened(place, numerics="reference", draft=draft) as usual,
    ):
        yield SimpleNamespace(draft=request.param, model=model, usual=usual)


def proposed(model, prompt: str, draft: str) -> list:
    """The tokens of each proposal."""
    found = []
    seen = lambda number, proposal, *_: found.append((number, proposal.tokens.tolist()))  # noqa: E731
    model.generate(prompt, seed=5, speculative=method_of(draft), observer=seen, **SETTINGS)
    return found


def test_drafts_are_those_of_the_default_engine(both) -> None:
    """But for near ties: a last bit may decide which of two candidates comes first."""
    pairs = []
    for prompt in PROMPTS[:3]:
        found, expected = (proposed(each, prompt, both.draft) for each in (both.model, both.usual))
        pairs += zip(found, expected, strict=True)
    assert sum(one != other for one, other in pairs) <= len(pairs) // 20


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_under_every_law(both, law: str) -> None:
    check_one_text(both.model, PROMPTS[0], method_of(both.draft), drafted=20, seed=3, **SETTINGS, **LAWS[law])


def test_in_a_batch_of_five(both) -> None:
    plain = one_by_one(both.model, **SETTINGS)
    for speculative in (method_of(both.draft), None):
        assert [tokens(result) for result in in_a_batch(both.model, [speculative] * 5, **SETTINGS)] == plain


def test_tables_are_the_files_own(both) -> None:
    for name in ("embedding", "unembedding"):
        found, expected = (getattr(each.engine, name)().values for each in (both.model, both.usual))
        np.testing.assert_array_equal(found, expected)
    assert both.model.engine.hidden_size == both.usual.engine.hidden_size == CONFIG.hidden_size


def test_tied_tables_are_one_and_a_closed_engine_has_none(place) -> None:
    with opened(place, engine="pytorch", dtype="bfloat16", draft=place.drafts["eagle"]) as model:
        engine = model.engine
        assert engine.embedding() is engine.embedding()
        tied = engine.model.get_input_embeddings().weight is engine.model.get_output_embeddings().weight
        assert (engine.unembedding() is engine.embedding()) == tied
        before = engine.embedding()
        engine.let_go()
        assert engine.embedding() is not before
    for table in (engine.embedding, engine.unembedding):
        with pytest.raises(EngineError, match="the engine is closed"):
            table()


def test_prompts_take_no_further_logits(place) -> None:
    with opened(place, engine="pytorch", draft=place.drafts["eagle3"]) as model:
        engine, rows = model.engine, []
        head = engine.model.get_output_embeddings()
        head.register_forward_pre_hook(lambda _, given: rows.append(given[0].shape[1]))
        assert engine.forward([Work(engine.open(TEXT), TREE)])[0].text
        engine._ways.reach = 0
        assert engine.forward([Work(engine.open(TEXT))])[0].text
        assert max(rows) == 4


def test_prompts_are_left_out_where_the_head_reads_what_no_decoder_returns(place) -> None:
    from truedraw.engine.pytorch.engine import PyTorchEngine
    from truedraw.engine.pytorch.options import Options

    with opened(place, engine="pytorch", draft="none") as model:
        network = model.engine.model
        network.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0] * 2,))
        engine = PyTorchEngine(network, Options(hidden_layers=(0,), hidden_text=True, cache_bytes=1 << 20))
        (scores,) = engine.forward([Work(engine.open(TEXT), TREE)])
    assert scores.text == ()
    assert scores.hidden.shape == (4, 2, CONFIG.hidden_size)


def test_a_model_whose_streams_differ_in_width_is_refused() -> None:
    from transformers import OPTConfig, OPTForCausalLM

    from truedraw.engine.pytorch.engine import PyTorchEngine
    from truedraw.engine.pytorch.options import Options

    sizes = {"hidden_size": 32, "word_embed_proj_dim": 16, "ffn_dim": 32, "num_hidden_layers": 2,
             "num_attention_heads": 2, "vocab_size": 50, "max_position_embeddings": 64}  # fmt: skip
    network = OPTForCausalLM(OPTConfig(**sizes)).eval()
    with pytest.raises(BadParameter, match=r"hidden_layers: the streams of this model are \[32, 16\] numbers wide"):
        PyTorchEngine(network, Options(hidden_layers=(0,), cache_bytes=1 << 20))


def test_a_model_whose_layers_have_several_streams_is_refused() -> None:
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    from truedraw.engine.pytorch.engine import PyTorchEngine
    from truedraw.engine.pytorch.options import Options

    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
             "head_dim": 16, "num_key_value_heads": 1, "vocab_size": 50, "vocab_size_per_layer_input": 50,
             "laurel_rank": 8, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0,
             "layer_types": ["full_attention"] * 2, "activation_sparsity_pattern": [0.0] * 2,
             "max_position_embeddings": 64}  # fmt: skip
    network = Gemma3nForCausalLM(Gemma3nTextConfig(**sizes)).eval()
    with pytest.raises(BadParameter, match="hidden_layers: the layers of this model have several streams each"):
        PyTorchEngine(network, Options(hidden_layers=(0,), cache_bytes=1 << 20))


def test_a_texts_first_scores_bring_all_of_it(place) -> None:
    with opened(place, engine="pytorch", draft=place.drafts["eagle3"]) as model:
        engine = model.engine
        layers = len(engine.hidden_layers) + 1
        whole, pieces, beyond = engine.open(TEXT), engine.open(TEXT), engine.open(TEXT)
        short = engine.open(TEXT[:7])
        first, second = engine.forward([Work(whole, TREE), Work(short)])
        engine.forward([], [Fill(pieces, 20)])
        (third,) = engine.forward([Work(pieces, TREE)])
        engine._ways.reach = 0  # as of a model that is computed text by text
        (fourth,) = engine.forward([Work(beyond, TREE)])
        for scores, length in ((first, 39), (second, 6), (third, 39), (fourth, 39)):
            rows = [each.first for each in scores.text]
            assert rows == sorted(rows)
            assert rows[0] == 0
            assert sum(len(each.hidden) for each in scores.text) == length
        expected = np.concatenate([each.hidden for each in first.text])
        assert expected.shape == (39, layers, CONFIG.hidden_size)
        for scores in (third, fourth):
            np.testing.assert_allclose(np.concatenate([each.hidden for each in scores.text]), expected, atol=1e-4)
        np.testing.assert_allclose(second.text[0].hidden, expected[:6], atol=1e-4)
        whole.commit([9])
        assert engine.forward([Work(whole)])[0].text == ()


def test_a_head_of_another_model_is_refused(place) -> None:
    other = write(
        place.root / "other.safetensors", card(vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size, layers=(0,))
    )
    with opened(place, engine="pytorch", draft=other) as model, pytest.raises(BadParameter, match="drafts tokens of"):
        model.generate("a", speculative="head")
