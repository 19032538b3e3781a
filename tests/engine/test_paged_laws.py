"""The paged engine in reference arithmetic gives the laws that plain float64 code gives."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import (
    CONFIGS,
    PLAIN,
    Decoder,
    RandomWeights,
    expected_rows,
    random_tree,
    tiny_engine,
    tv,
)
from truedraw.protocol import Engine, Proposal, Sequence, Work

TV_LIMIT = 1e-4
RNG = np.random.default_rng(5)
TEXT = RNG.integers(0, PLAIN.vocab_size, 150).tolist()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=["masked", "unrolled", "apart"])
def engine(request, cache):
    """The reference arithmetic masks trees, the others unroll them, one with each row alone: all is right in float32.

    Texts are computed, not found: test_prefixes.py finds them.
    """
    loaded = tiny_engine(cache, prefix_cache_bytes=0)
    loaded._admission._unrolled = request.param != "masked"
    loaded._passes._lanes = loaded._passes.runner.num_threads if request.param == "apart" else 0
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def decoder():
    return Decoder(PLAIN, RandomWeights(PLAIN))


def check(engine, decoder, works):
    for work, scores in zip(works, engine.forward(works), strict=True):
        expected = expected_rows(decoder, list(work.sequence.tokens), work.proposal)
        assert scores.logits.shape == expected.shape
        assert scores.logits.dtype == np.float32
        assert tv(scores.logits, expected) < TV_LIMIT


@pytest.mark.parametrize("name", CONFIGS)
def test_every_family_over_a_whole_text(name, tmp_path):
    config = CONFIGS[name]
    weights = RandomWeights(config, seed=3)
    engine = tiny_engine(tmp_path, config, weights)
    text = [token % config.vocab_size for token in TEXT]
    logits = engine.forward([Work(engine.open(text[:1]), Proposal.chain(text[1:]))])[0].logits
    expected = Decoder(config, weights).logits(text)
    assert tv(logits, expected) < TV_LIMIT
    assert np.abs(logits - expected).max() < 1e-3
    engine.close()


def test_it_is_an_engine_and_its_texts_are_sequences(engine):
    assert isinstance(engine, Engine)
    assert isinstance(engine.open([1]), Sequence)
    assert engine.forward([]) == []


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 64, 150])
def test_plain_rows_at_page_edges(engine, decoder, length):
    check(engine, decoder, [Work(engine.open(TEXT[:length]))])


def test_plain_decoding_across_pages(engine, decoder):
    sequence = engine.open(TEXT[:25])
    for token in TEXT[25:75]:
        check(engine, decoder, [Work(sequence)])
        sequence.commit([token])


def test_forward_twice_without_a_commit_repeats_itself(engine, decoder):
    sequence = engine.open(TEXT[:40])
    first = engine.forward([Work(sequence, Proposal.chain(TEXT[:3]))])[0].logits.copy()
    second = engine.forward([Work(sequence, Proposal.chain(TEXT[:3]))])[0].logits
    np.testing.assert_allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("nodes", [1, 2, 5, 9, 40])
def test_tree_nodes_are_what_their_paths_are(engine, decoder, nodes):
    tree = random_tree(np.random.default_rng(nodes), nodes, PLAIN.vocab_size)
    check(engine, decoder, [Work(engine.open(TEXT[:37]), tree)])


def test_a_tree_whose_first_token_is_also_the_text_s(engine, decoder):
    siblings = Proposal(np.array([3, 3, 4, 3]), np.array([-1, -1, 0, 1]), (None,) * 4)
    check(engine, decoder, [Work(engine.open([3]), siblings)])


@pytest.mark.parametrize("accepted", range(6))
def test_accepted_drafts_stay_and_rejected_ones_leave_nothing(engine, decoder, accepted):
    draft = TEXT[50:55]
    sequence = engine.open(TEXT[:50])
    engine.forward([Work(sequence, Proposal.chain(draft))])
    sequence.commit([*draft[:accepted], 7])
    assert sequence.cached == 50 + accepted
    check(engine, decoder, [Work(sequence, Proposal.chain(TEXT[60:63]))])


def test_an_accepted_side_branch_is_computed_again(engine, decoder):
    tree = Proposal(np.array([5, 9, 6, 8]), np.array([-1, -1, 0, 1]), (None,) * 4)
    sequence = engine.open(TEXT[:30])
    engine.forward([Work(sequence, tree)])
    sequence.commit([9, 8, 1])
    assert sequence.cached == 30
    check(engine, decoder, [Work(sequence, tree)])


def test_the_first_branch_of_a_tree_is_kept_as_far_as_it_is_a_chain(engine, decoder):
    tree = Proposal(np.array([5, 6, 9, 7]), np.array([-1, 0, -1, 1]), (None,) * 4)
    sequence = engine.open(TEXT[:30])
    engine.forward([Work(sequence, tree)])
    sequence.commit([5, 6, 7, 2])
    assert sequence.cached == (33 if engine._admission._unrolled else 32)
    check(engine, decoder, [Work(sequence)])


def test_drafts_committed_in_several_steps(engine, decoder):
    sequence = engine.open(TEXT[:30])
    engine.forward([Work(sequence, Proposal.chain([5, 6, 7]))])
    sequence.commit([5])
    sequence.commit([])
    sequence.commit([6, 1])
    assert sequence.cached == 32
    sequence.commit([7])
    assert sequence.cached == 32
    check(engine, decoder, [Work(sequence)])


def test_tokens_committed_before_any_pass(engine, decoder):
    sequence = engine.open(TEXT[:3])
    sequence.commit(TEXT[3:45])
    check(engine, decoder, [Work(sequence, Proposal.chain([1]))])


def test_forks_go_their_own_ways(engine, decoder):
    parent = engine.open(TEXT[:45])
    children = engine.fork(parent, 3)
    for step, child in enumerate([parent, *children]):
        child.commit(TEXT[60 + step : 62 + step])
    check(engine, decoder, [Work(each, Proposal.chain([step])) for step, each in enumerate([*children, parent])])
    children[0].close()
    check(engine, decoder, [Work(each) for each in [parent, *children[1:]]])


def test_a_fork_taken_between_pass_and_commit_agrees_too(engine, decoder):
    parent = engine.open(TEXT[:45])
    engine.forward([Work(parent, Proposal.chain([5, 6]))])
    (child,) = engine.fork(parent, 1)
    parent.commit([5, 1])
    child.commit([5, 6, 2])
    check(engine, decoder, [Work(parent), Work(child)])


def test_ragged_batches_with_trees_and_long_prompts(engine, decoder):
    rng = np.random.default_rng(8)
    works = [
        Work(engine.open(TEXT[start : start + length]), random_tree(rng, nodes, PLAIN.vocab_size))
        for start, length, nodes in [(0, 1, 0), (3, 40, 7), (9, 33, 1), (20, 120, 0), (1, 2, 12), (5, 100, 3)]
    ]
    check(engine, decoder, works)
    for work in works:
        work.sequence.commit([4, 2])
    check(engine, decoder, [Work(work.sequence) for work in works[::-1]])


def test_chunked_prompts(engine, decoder, monkeypatch):
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.CHUNK_ROWS", 16)
    works = [Work(engine.open(TEXT[:length])) for length in (60, 1, 17, 18, 33)]
    check(engine, decoder, works)


def test_hidden_states(cache, decoder):
    engine = tiny_engine(cache, hidden_layers=(1, 0))
    sequence = engine.open(TEXT[:20])
    scores = engine.forward([Work(engine.open([4])), Work(sequence, Proposal.chain(TEXT[20:23]))])[1]
    _, (first, second, final) = decoder.run(TEXT[:23])
    assert scores.hidden.shape == (4, 3, PLAIN.hidden_size)
    np.testing.assert_allclose(scores.hidden, np.stack([second, first, final], axis=1)[19:], atol=1e-3)
    engine.close()


@pytest.mark.parametrize("bits", [4, 8])
def test_packed_weights_are_exact_where_arithmetic_is(tmp_path, bits, monkeypatch):
    """Forced into float32 arithmetic, constants kept as stored give the law of the dequantised weights."""
    weights = RandomWeights(PLAIN, packed_bits=bits)
    monkeypatch.setattr("truedraw.engine.cpu.engine.weights_policy", lambda weights, arithmetic: weights)
    engine = tiny_engine(tmp_path, random_weights=weights, weights="stored")
    check(engine, Decoder(PLAIN, weights), [Work(engine.open(TEXT[:40]), Proposal.chain(TEXT[40:44]))])
    engine.close()


class Int8Weights(RandomWeights):
    """What is left of the weights after symmetric int8 with one scale an output row."""

    def dense(self, name):
        values = super().dense(name)
        if values.ndim == 1:
            return values
        scale = np.abs(values).max(1, keepdims=True) / 127
        return (np.rint(values / scale) * scale).astype(np.float32)


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3"])
def test_int8_weights_are_rounded_and_nothing_else(tmp_path, name):
    config = CONFIGS[name]
    engine = tiny_engine(tmp_path, config, weights="int8")
    check(engine, Decoder(config, Int8Weights(config)), [Work(engine.open(TEXT[:60]), Proposal.chain(TEXT[60:64]))])
    engine.close()


@pytest.mark.parametrize("seed", range(6))
def test_any_history_equals_a_fresh_computation(engine, decoder, seed):
    """Random opens, forks, trees, commits and closes; every row against code that remembers nothing."""
    rng = np.random.default_rng(seed)
    texts = [engine.open(TEXT[:5])]
    for _ in range(25):
        action = rng.integers(0, 6)
        chosen = texts[rng.integers(0, len(texts))]
        if action == 0 and len(texts) < 6:
            texts.append(engine.open(rng.integers(0, PLAIN.vocab_size, rng.integers(1, 70)).tolist()))
        elif action == 1 and len(texts) < 6:
            texts += engine.fork(chosen, int(rng.integers(0, 3)))
        elif action == 2 and len(texts) > 1:
            chosen.close()
            texts.remove(chosen)
        else:
            some = [text for text in texts if rng.random() < 0.7] or [chosen]
            works = [Work(text, _proposal(rng)) for text in some if len(text.tokens) < 120]
            if works:
                check(engine, decoder, works)
            for work in works:
                work.sequence.commit(_verdict(rng, work.proposal))
    for text in texts:
        text.close()


def _proposal(rng) -> Proposal:
    nodes = int(rng.integers(0, 6))
    if rng.random() < 0.5:
        return Proposal.chain(rng.integers(0, PLAIN.vocab_size, nodes))
    return random_tree(rng, nodes, PLAIN.vocab_size)


def _verdict(rng, proposal: Proposal) -> list[int]:
    """A random path down the tree, then another token."""
    path, node = [], -1
    while rng.random() < 0.8 and len(children := np.flatnonzero(proposal.parents == node)):
        node = int(rng.choice(children))
        path.append(int(proposal.tokens[node]))
    return [*path, int(rng.integers(0, PLAIN.vocab_size))]
