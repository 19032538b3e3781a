"""The first layers as an engine: their own law, the whole engine's pages, and nothing left behind in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import PLAIN, Decoder, RandomWeights, expected_rows, tiny_checkpoint, tiny_engine, tv
from invariance import need_invariance
from truedraw.engine.cpu import CPUEngine
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import NOTHING, Engine, Proposal, Work
from truedraw.testing import engine_checks

DEEP = replace(PLAIN, num_layers=3)
FIRST = 2
PAGE_BYTES = 3 * 2 * PLAIN.num_kv_heads * 32 * PLAIN.head_dim * 4  # layers, keys and values, heads, slots, float32
TEXT = np.random.default_rng(1).integers(0, PLAIN.vocab_size, 160).tolist()
DRAFT = Proposal.chain([5, 6, 7])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(
    scope="module", params=["reference", "runtime", pytest.param("rowwise", marks=pytest.mark.slow), "native"]
)
def whole(request, cache):
    engine = tiny_engine(cache, DEEP, numerics=request.param)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def decoder():
    """The model cut behind its first layers, as a model of its own: tensors are drawn by name."""
    config = replace(DEEP, num_layers=FIRST)
    return Decoder(config, RandomWeights(config))


def rows(engine, text, proposal=DRAFT):
    sequence = engine.open(text)
    logits = engine.forward([Work(sequence, proposal)])[0].logits.copy()
    sequence.close()
    return logits


@pytest.mark.parametrize("name", ["tied", "separate head"])
def test_its_law_is_that_of_a_model_of_these_layers(cache, name):
    deep = DEEP if name == "tied" else replace(DEEP, tie_embeddings=False)
    cut = replace(deep, num_layers=FIRST)
    engine = tiny_engine(cache / name, deep)
    shallow = engine.shallow(FIRST)
    assert isinstance(shallow, Engine)
    found = rows(shallow, TEXT[:70])
    assert tv(found, expected_rows(Decoder(cut, RandomWeights(cut)), TEXT[:70], DRAFT)) < 1e-4
    assert tv(found, rows(engine, TEXT[:70])) > 1e-2
    engine.close()


@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_what_the_whole_engine_has_computed_is_not_computed_again(whole, length):
    need_invariance(whole)
    shallow, text = whole.shallow(FIRST), whole.open(TEXT[:length])
    alone = rows(shallow, TEXT[:length])
    whole.forward([Work(text, DRAFT)])
    assert shallow.open(TEXT[:length]).num_uncached == 1
    shared = rows(shallow, TEXT[:length])
    np.testing.assert_array_equal(shared, alone)
    text.commit([5, 6, 9])
    assert shallow.open([*TEXT[:length], 5, 6, 9]).num_uncached == 1
    assert shallow.open([*TEXT[:length], 5, 6, 8]).num_uncached == length + 3
    text.close()


def test_a_fork_of_the_whole_engine_is_found_too(whole):
    shallow, text = whole.shallow(FIRST), whole.open(TEXT[:40])
    fork = whole.fork(text, 1)[0]
    fork.commit([3])
    whole.forward([Work(fork)])
    assert shallow.open([*TEXT[:40], 3]).num_uncached == 1
    fork.evict()
    assert shallow.open([*TEXT[:40], 3]).num_uncached == 41
    text.close()
    fork.close()


def test_the_whole_engine_never_sees_what_was_computed_here(whole):
    expected, free = rows(whole, TEXT[:100]), whole._pool.num_free
    again = [*TEXT[1:90], 4]
    rows(whole.shallow(FIRST), again)
    assert whole.open(again).num_uncached == len(again)
    text = whole.open(TEXT[:100])
    before = whole.forward([Work(text, DRAFT)])[0].logits.copy()
    np.testing.assert_array_equal(before, expected)
    shallow = whole.shallow(FIRST)
    twin = shallow.open(TEXT[:100])
    for tokens in ([8], [9, 10]):  # written over the slots where the whole engine keeps the draft
        twin.commit(tokens)
        shallow.forward([Work(twin, Proposal.chain([1] * 40))])
    text.commit([5, 6])
    after = whole.forward([Work(text, Proposal.chain([7]))])[0].logits
    np.testing.assert_array_equal(after[0], before[2])
    twin.close()
    text.close()
    assert whole._pool.num_free == free


@pytest.mark.slow
def test_it_keeps_the_contract_of_an_engine(cache):
    kept = []

    def make():
        kept.append(tiny_engine(cache, DEEP, cache_bytes=1 << 20))
        return kept[-1].shallow(FIRST)

    for check in engine_checks(make, tolerance=1e-5):
        check()
    for engine in kept:
        engine.close()


def test_beside_a_text_of_the_whole_engine_room_is_counted_once(cache, decoder):
    engine = tiny_engine(cache, DEEP, cache_bytes=5 * PAGE_BYTES, prefix_cache_bytes=0)
    shallow, text = engine.shallow(FIRST), engine.open(TEXT[:90])
    engine.forward([Work(text)])
    twin = shallow.open(TEXT[:90])
    found = shallow.forward([Work(twin)])[0].logits  # three pages, of which the last is copied
    assert tv(found, expected_rows(decoder, TEXT[:90], NOTHING)) < 1e-4
    with pytest.raises(OutOfPages, match="cache_bytes"):
        shallow.forward([Work(twin, Proposal.chain([1] * 40))])
    twin.close()
    text.close()
    assert engine._pool.num_free == 4
    engine.close()


def test_texts_of_the_two_are_strangers(whole):
    shallow = whole.shallow(FIRST)
    assert shallow is whole.shallow(FIRST) is not whole.shallow(1)
    for engine, other in ((whole, shallow), (shallow, whole), (whole.shallow(1), shallow)):
        with pytest.raises(EngineError, match="opened it"):
            engine.forward([Work(other.open(TEXT[:5]))])


@pytest.mark.parametrize("layers", [0, -1, 3, 40])
def test_a_number_of_layers_that_cannot_be(whole, layers):
    with pytest.raises(EngineError, match=rf"{layers} layers are not fewer than the model's 3.*give 1 to 2"):
        whole.shallow(layers)


def test_it_ends_with_the_whole_engine(cache):
    engine = tiny_engine(cache, DEEP)
    shallow = engine.shallow(FIRST)
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        shallow.open(TEXT[:5])
    with pytest.raises(EngineError, match="closed"):
        engine.shallow(FIRST)


def test_hidden_states_are_not_computed_here(cache):
    engine = CPUEngine.load(
        tiny_checkpoint(DEEP), cache=cache, numerics="reference", hidden_layers=(2,), cache_bytes=8 << 20
    )
    shallow = engine.shallow(1)
    assert shallow.forward([Work(shallow.open(TEXT[:5]))])[0].hidden is None
    engine.close()
