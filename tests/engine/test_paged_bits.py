"""Both fast arithmetics on the real model: a row's logits are the same bits however it was computed."""

from __future__ import annotations

import numpy as np
import pytest

from engine.prose import PROSE
from invariance import need_invariance
from truedraw.engine.cpu import CPUEngine, check_invariance
from truedraw.engine.openvino.fixed import NARROW, Shape
from truedraw.engine.trees import tree
from truedraw.models import open_checkpoint
from truedraw.protocol import Fill, Proposal, Work

pytestmark = pytest.mark.model

DEPTH = 500  # tokens before the rows that are compared
ROWS = 64


def sometimes(value):
    """A case of `make slow`."""
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def checkpoint():
    return open_checkpoint("smollm2-135m")


@pytest.fixture(scope="module")
def tokens(checkpoint):
    ids = checkpoint.text.load_tokenizer().encode(PROSE).ids
    assert len(ids) > DEPTH + ROWS
    return ids


@pytest.fixture(scope="module", params=["runtime", pytest.param("rowwise", marks=pytest.mark.slow), "native"])
def numerics(request):
    return request.param


@pytest.fixture(scope="module")
def engine(checkpoint, numerics):
    loaded = CPUEngine.load(checkpoint, numerics=numerics, prefix_cache_bytes=0)
    assert loaded.invariance is not None
    need_invariance(loaded)
    yield loaded
    loaded.close()


def test_each_arithmetic_has_bits_of_its_own(engine, checkpoint, numerics, tokens):
    """Or one of them would be the other by mistake."""
    other = CPUEngine.load(checkpoint, numerics={"runtime": "rowwise"}.get(numerics, "runtime"))
    mine, others = (decoded(each, tokens[:DEPTH], [])[0] for each in (engine, other))
    other.close()
    assert (mine != others).mean() > 0.5
    assert np.abs(mine - others).max() < 2


@pytest.fixture(scope="module")
def plain(engine, tokens):
    """Row i follows DEPTH + i tokens, each from a pass of its own: plain decoding."""
    return decoded(engine, tokens[:DEPTH], tokens[DEPTH : DEPTH + ROWS - 1])


def decoded(engine, text, following):
    sequence = engine.open(text)
    rows = []
    for token in [*following, None]:
        rows.append(engine.forward([Work(sequence)])[0].logits[0].copy())
        if token is not None:
            sequence.commit([token])
    sequence.close()
    return np.stack(rows)


def chain(engine, text, draft):
    sequence = engine.open(text)
    logits = engine.forward([Work(sequence, Proposal.chain(draft))])[0].logits.copy()
    sequence.close()
    return logits


def test_every_row_count_of_a_chain(engine, tokens, plain):
    base = engine.open(tokens[:DEPTH])
    for rows in range(1, ROWS + 1):
        (sequence,) = engine.fork(base, 1)
        logits = engine.forward([Work(sequence, Proposal.chain(tokens[DEPTH : DEPTH + rows - 1]))])[0].logits
        np.testing.assert_array_equal(logits, plain[:rows], err_msg=f"{rows} rows")
        sequence.close()
    base.close()


@pytest.mark.parametrize("depth", [1, 2, sometimes(31), 32, 33, sometimes(100), 400])
def test_shallow_texts_too(engine, tokens, depth):
    following = tokens[depth : depth + 8]
    one_by_one = decoded(engine, tokens[:depth], following)
    np.testing.assert_array_equal(chain(engine, tokens[:depth], following), one_by_one)


def test_speculation_with_rejections(engine, tokens, plain):
    rng = np.random.default_rng(2)
    sequence, at = engine.open(tokens[:DEPTH]), 0
    while at < ROWS - 8:
        length, accepted = sorted(rng.integers(0, 7, 2).tolist(), reverse=True)
        draft = np.array(tokens[DEPTH + at : DEPTH + at + length], np.int64)
        draft[accepted:] = rng.integers(0, engine.vocab_size, length - accepted)
        logits = engine.forward([Work(sequence, Proposal.chain(draft))])[0].logits
        np.testing.assert_array_equal(logits[: accepted + 1], plain[at : at + accepted + 1])
        sequence.commit(tokens[DEPTH + at : DEPTH + at + accepted + 1])
        at += accepted + 1
    sequence.close()


@pytest.mark.parametrize("branches", [sometimes(2), 3, sometimes(7)])
def test_tree_nodes(engine, tokens, plain, branches):
    """Several chains woven into one tree; each in turn is the true continuation."""
    rng = np.random.default_rng(branches)
    length = 8
    for true in range(branches):
        drafts = rng.integers(0, engine.vocab_size, (length, branches))
        drafts[:, true] = tokens[DEPTH : DEPTH + length]
        parents = np.maximum(np.arange(length * branches) - branches, -1)
        tree = Proposal(drafts.ravel(), parents, (None,) * drafts.size)
        sequence = engine.open(tokens[:DEPTH])
        logits = engine.forward([Work(sequence, tree)])[0].logits
        np.testing.assert_array_equal(logits[0], plain[0])
        np.testing.assert_array_equal(logits[1 + true :: branches], plain[1 : 1 + length])
        sequence.commit([*tokens[DEPTH : DEPTH + 5]])
        np.testing.assert_array_equal(engine.forward([Work(sequence)])[0].logits[0], plain[5])
        sequence.close()


def test_forks(engine, tokens, plain):
    parent = engine.open(tokens[: DEPTH - 9])
    children = engine.fork(parent, 5)
    for child in children:
        child.commit(tokens[DEPTH - 9 : DEPTH])
    parent.commit([1, 2, 3])
    works = [Work(each, Proposal.chain(tokens[DEPTH : DEPTH + size])) for size, each in enumerate(children)]
    for size, scores in enumerate(engine.forward([Work(parent), *works])[1:]):
        np.testing.assert_array_equal(scores.logits, plain[: size + 1])
    for each in (parent, *children):
        each.close()


@pytest.mark.parametrize("chunk_rows", [sometimes(1), 2, *map(sometimes, (7, 8)), 31, *map(sometimes, (64, 250)), 1024])
def test_chunked_prompts(engine, tokens, plain, chunk_rows, monkeypatch):
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.CHUNK_ROWS", chunk_rows)
    np.testing.assert_array_equal(chain(engine, tokens[:DEPTH], tokens[DEPTH : DEPTH + 3]), plain[:4])


@pytest.mark.parametrize("others", [1, 11, sometimes(63)])
def test_ragged_batches(engine, tokens, plain, others):
    rng = np.random.default_rng(others)
    beside = [engine.open(tokens[:size]) for size in rng.integers(1, 90, others)]
    sequence = engine.open(tokens[:DEPTH])
    for step in range(4):
        works = [Work(other, Proposal.chain(rng.integers(0, 1000, rng.integers(0, 5)))) for other in beside]
        works.insert(int(rng.integers(0, others + 1)), Work(sequence, Proposal.chain(tokens[DEPTH + step : DEPTH + 6])))
        scores = engine.forward(works)
        mine = next(s for s, work in zip(scores, works, strict=True) if work.sequence is sequence)
        np.testing.assert_array_equal(mine.logits, plain[step:7])
        for work in works:
            work.sequence.commit([tokens[DEPTH + step]])
    for each in (sequence, *beside):
        each.close()


def test_found_and_filled_prompts(checkpoint, numerics, tokens, plain):
    """Pages of another text, the rest in pieces beside a text that goes on, and all of it again after an eviction."""
    other = CPUEngine.load(checkpoint, numerics=numerics)
    beside, first = other.open(tokens[:40]), other.open(tokens[: DEPTH - 100])
    other.forward([Work(first)])
    first.close()
    sequence = other.open(tokens[:DEPTH])
    assert sequence.num_uncached == DEPTH - (DEPTH - 101) // 32 * 32
    for count in (1, 50, sequence.num_uncached - 52):
        other.forward([Work(beside, Proposal.chain([1, 2]))], [Fill(sequence, count)])
    for _ in range(2):
        logits = other.forward([Work(beside), Work(sequence, Proposal.chain(tokens[DEPTH : DEPTH + 3]))])[1].logits
        np.testing.assert_array_equal(logits, plain[:4])
        sequence.evict()
    other.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_threads(checkpoint, numerics, tokens, plain, threads):
    other = CPUEngine.load(checkpoint, numerics=numerics, threads=threads, prefix_cache_bytes=0)
    assert other.invariance.holds
    np.testing.assert_array_equal(decoded(other, tokens[:DEPTH], tokens[DEPTH : DEPTH + 3]), plain[:4])
    np.testing.assert_array_equal(chain(other, tokens[:DEPTH], tokens[DEPTH : DEPTH + 31]), plain[:32])
    other.close()


def test_graphs_of_a_fixed_shape(checkpoint, numerics, tokens, plain):
    """Those that take over after some hundred passes, here from the first one on, shallow texts and deep ones."""
    options = {"hidden_layers": (15, 26), "fixed_after": 0, "prefix_cache_bytes": 0}
    other = CPUEngine.load(checkpoint, numerics=numerics, **options)
    np.testing.assert_array_equal(decoded(other, tokens[:DEPTH], tokens[DEPTH : DEPTH + 20]), plain[:21])
    base = other.open(tokens[:DEPTH])
    for drafts in (*range(8), 2, 3):
        (sequence,) = other.fork(base, 1)
        found = other.forward([Work(sequence, Proposal.chain(tokens[DEPTH : DEPTH + drafts]))])[0].logits
        np.testing.assert_array_equal(found, plain[: drafts + 1])
        sequence.close()
    graphs = other._passes.fixed
    assert (graphs is None) == (numerics == "native")  # it has no shapes
    assert graphs is None or all(graphs.is_proven(Shape(size, size)) for size in NARROW)
    other.close()


@pytest.mark.parametrize("text", [False, True])
def test_hidden_states_do_not_change_logits(checkpoint, numerics, tokens, plain, text):
    """Not those of a graph without them: one seed is one text, whatever draft a model is loaded with."""
    options = {"hidden_layers": (3, 29), "hidden_text": text, "prefix_cache_bytes": 0}
    other = CPUEngine.load(checkpoint, numerics=numerics, **options)
    hidden, logits = [], []
    sequence = other.open(tokens[:DEPTH])
    for token in tokens[DEPTH : DEPTH + 6]:
        scores = other.forward([Work(sequence)])[0]
        hidden.append(scores.hidden[0].copy())
        logits.append(scores.logits[0].copy())
        sequence.commit([token])
    np.testing.assert_array_equal(np.stack(logits), plain[:6])
    fresh = other.open(tokens[:DEPTH])
    scores = other.forward([Work(fresh, Proposal.chain(tokens[DEPTH : DEPTH + 5]))])[0]
    np.testing.assert_array_equal(scores.hidden, np.stack(hidden))
    np.testing.assert_array_equal(scores.logits, plain[:6])
    other.close()


def as_a_chain(proposal, text):
    """trees.tree, with every row seeing all before it."""
    depths, mask = tree(proposal, text)
    return depths, np.tril(np.ones_like(mask))


def test_the_check_finds_another_kernel(engine, numerics, monkeypatch):
    """A negative control: with the kernel let in that sums otherwise, the self-test must fail.

    For rows of one text it is the one for a lone row, for rows that are alone anyway the one for few lanes. Kernels of
    ours have no other; there rows of a tree are taken for a chain's.
    """
    assert check_invariance(engine).holds
    if numerics == "runtime":
        monkeypatch.setattr("truedraw.engine.paged.parts.LONE_ROWS", 1)
    elif numerics == "native":
        monkeypatch.setattr("truedraw.engine.paged.parts.tree", as_a_chain)
    else:
        if engine._passes.runner.num_threads == 1:
            pytest.skip("with one thread there is no such kernel")
        monkeypatch.setattr("truedraw.engine.openvino.batch.rounded", lambda count: count)
        monkeypatch.setattr("truedraw.engine.openvino.row_counts.LADDER", (1, 2, 4))
        monkeypatch.setattr(engine._passes, "_lanes", 1)
    report = check_invariance(engine)
    assert not report.holds
    assert report.largest_difference > 0
    assert report.largest_tv > 1e-4
    assert {"runtime": "chain of 7", "rowwise": "chunks of 1", "native": "tree"}[numerics] in report.differing
