"""The PyTorch engine against transformers' plain forward, and against the other engine in float32."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import (
    CONFIGS,
    PLAIN,
    Decoder,
    RandomWeights,
    path_to,
    random_tree,
    tiny_checkpoint,
    tiny_engine,
    tv,
)
from engine.pytorch.families import FAMILIES, VOCAB, farthest, open_family, write_family
from truedraw.engine.pytorch import PyTorchEngine
from truedraw.engine.pytorch.attention import as_usual
from truedraw.engine.pytorch.loading import load_model
from truedraw.protocol import NOTHING, Engine, Fill, Proposal, Sequence, Work

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

CLOSE = 1e-5  # total variation; what is found is below 1e-6
TEXT = np.random.default_rng(3).integers(0, VOCAB, 150).tolist()


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    return write_family(folder, "llama"), open_family(folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_is_that_of_a_plain_forward(family, tmp_path) -> None:
    model, rng = write_family(tmp_path, family), np.random.default_rng(4)
    engine = open_family(tmp_path)
    assert engine._ways.reach == FAMILIES[family][2]
    texts = [engine.open(TEXT[:length]) for length in (13, 50, 3)]
    for _ in range(4):  # the first text grows past the windows
        tree = random_tree(rng, 6, VOCAB)
        works = [Work(texts[0], tree), Work(texts[1], Proposal.chain([3, 4])), Work(texts[2])]
        assert farthest(model, engine, works) < CLOSE
        texts[0].commit([*path_to(tree, int(rng.integers(6))), 7, 1])
        texts[1].commit([3, 9])
        texts[2].commit([1])
    engine.close()


@pytest.mark.parametrize(("family", "is_eager"), [("llama", True), ("attention that differs by its form", False)])
def test_attention_is_eager_where_that_is_what_transformers_computes(family, is_eager, tmp_path) -> None:
    write_family(tmp_path, family)
    checkpoint = PyTorchEngine.open_folder("m", tmp_path)
    model, found = as_usual(checkpoint, load_model(checkpoint))
    assert found == is_eager
    assert (model.config._attn_implementation == "eager") == is_eager


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_under_their_hugging_face_names(name) -> None:
    config, weights = CONFIGS[name], RandomWeights(CONFIGS[name], seed=3)
    engine = PyTorchEngine.load(tiny_checkpoint(config, weights))
    assert isinstance(engine, Engine)
    sequence = engine.open(TEXT[:1])
    assert isinstance(sequence, Sequence)
    logits = engine.forward([Work(sequence, Proposal.chain(TEXT[1:]))])[0].logits
    assert tv(logits, Decoder(config, weights).logits(TEXT)) < 1e-4
    engine.close()


def test_the_two_engines_say_the_same(tmp_path) -> None:
    paged, engine = (
        tiny_engine(tmp_path, hidden_layers=(1, 0)),
        PyTorchEngine.load(tiny_checkpoint(), hidden_layers=(1, 0)),
    )
    tree = random_tree(np.random.default_rng(2), 9, PLAIN.vocab_size)
    for texts in ((TEXT[:1], TEXT[:40]), (TEXT[:100], TEXT[7:9])):
        one, other = (
            each.forward([Work(each.open(texts[0]), tree), Work(each.open(texts[1]))]) for each in (paged, engine)
        )
        for a, b in zip(one, other, strict=True):
            assert tv(a.logits, b.logits) < 1e-4
            np.testing.assert_allclose(a.hidden, b.hidden, atol=1e-3)
    paged.close()


@pytest.mark.parametrize("family", ["llama", "gpt2", "ALiBi", "windows in some layers"])
def test_hidden_states(family, tmp_path) -> None:
    model = write_family(tmp_path, family)
    engine = open_family(tmp_path, hidden_layers=(1, 0))
    tree = random_tree(np.random.default_rng(5), 5, VOCAB)
    long, short = engine.forward([Work(engine.open(TEXT[:40]), tree), Work(engine.open(TEXT[:4]))])
    assert long.hidden.shape == (6, 3, 64)
    for node in range(-1, 5):
        with torch.no_grad():
            ids = torch.tensor([[*TEXT[:40], *path_to(tree, node)]])
            states = model(ids, output_hidden_states=True).hidden_states
        np.testing.assert_allclose(long.hidden[1 + node, 1], states[1][0, -1], atol=1e-4)  # behind layer 0
        np.testing.assert_allclose(long.hidden[1 + node, 2], states[2][0, -1], atol=1e-4)  # behind the final norm
    assert np.abs(long.hidden[:, 0] - long.hidden[:, 2]).max() > 0.1  # behind the last layer, before the norm
    assert short.hidden.shape == (1, 3, 64)
    engine.close()


@pytest.mark.parametrize("branch", [[0, 2], [1, 4, 6], [0], [1, 3]])
def test_any_branch_of_a_tree_is_kept(branch, llama) -> None:
    model, engine = llama
    tree = Proposal(np.array([1, 0, 2, 3, 4, 5, 6]), np.array([-1, -1, 0, 1, 1, 2, 4]), (None,) * 7)
    sequence = engine.open(TEXT[:30])
    engine.forward([Work(sequence, tree)])
    sequence.commit([int(tree.tokens[branch[0]])])
    (twin,) = engine.fork(sequence, 1)
    sequence.commit([int(tree.tokens[node]) for node in branch[1:]])
    assert sequence.cached == 30 + len(branch)
    sequence.commit([50])
    assert sequence.num_uncached == 1
    works = [Work(sequence, Proposal.chain([8])), Work(twin)]
    assert farthest(model, engine, works) < CLOSE


def test_siblings_with_one_token_are_followed_to_the_longer_branch(llama) -> None:
    model, engine = llama
    tree = Proposal(np.array([5, 5, 6]), np.array([-1, -1, 1]), (None,) * 3)
    sequence = engine.open(TEXT[:9])
    engine.forward([Work(sequence, tree)])
    sequence.commit([5, 6, 1])
    assert sequence.num_uncached == 1
    assert farthest(model, engine, [Work(sequence)]) < CLOSE


def test_long_texts_are_computed_in_chunks(llama, monkeypatch) -> None:
    model, engine = llama
    monkeypatch.setattr("truedraw.engine.pytorch.ways.CHUNK_ROWS", 8)
    texts = [engine.open(TEXT[:length]) for length in (100, 17, 18)]
    assert farthest(model, engine, [Work(text, Proposal.chain([1])) for text in texts]) < CLOSE
    filled = engine.open(TEXT[:60])
    engine.forward([], [Fill(filled, 41)])
    assert filled.num_uncached == 19
    assert farthest(model, engine, [Work(filled)]) < CLOSE


def test_rows_do_not_look_at_padding_or_at_later_rows(llama) -> None:
    _, engine = llama
    alone = engine.forward([Work(engine.open(TEXT[:5]))])[0].logits
    beside = engine.forward([Work(engine.open(TEXT[:90]), Proposal.chain(TEXT[:9])), Work(engine.open(TEXT[:5]))])[1]
    np.testing.assert_allclose(alone, beside.logits, atol=1e-4)


def test_half_precision_is_near(tmp_path) -> None:
    model = write_family(tmp_path, "llama")
    engine = open_family(tmp_path, dtype="bfloat16")
    assert engine.numerics == "bfloat16"
    works = [Work(engine.open(TEXT[:40]), Proposal.chain([1, 2])), Work(engine.open(TEXT[:3]))]
    assert 1e-4 < farthest(model, engine, works) < 0.1
    assert engine.forward([Work(works[1].sequence, NOTHING)])[0].logits.dtype == np.float32
    assert engine._room.row_bytes == 2 * 2 * 2 * 16 * 2  # layers, keys and values, heads, head width, 16 bits
    engine.close()


def test_the_model_is_computed_with_the_threads_that_were_asked_for(tmp_path) -> None:
    write_family(tmp_path, "llama")
    before, seen = torch.get_num_threads(), []
    engine = open_family(tmp_path, threads=before + 1)
    engine._ways._cached._network.model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    engine.forward([Work(engine.open([1]))])
    assert seen == [before + 1]
    assert torch.get_num_threads() == before
    engine.close()
