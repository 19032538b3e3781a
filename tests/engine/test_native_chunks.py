"""Texts of several chunks: who looks through a chunk, and beside what, changes no bit, nor does where one ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import PLAIN, RandomWeights, tiny_engine
from engine.test_native_alone import MODELS, THREE
from truedraw.compiled import compiled
from truedraw.engine.native.chunks import CHUNK, CROWD, Findings, gather, is_last, run_of, soften
from truedraw.engine.native.machine import from_bfloat16
from truedraw.protocol import Proposal, Work
from truedraw.threads.stages import counters

RNG = np.random.default_rng(12)
TEXT = RNG.integers(0, PLAIN.vocab_size, 4 * CHUNK).tolist()
ENDS = [CHUNK - 3, CHUNK, 3 * CHUNK - 4, 3 * CHUNK + 40]
ROWS = 8
HALF_STEP = 2.0**-8 + 2.0**-14  # of a bfloat16, which shares are, and what their polynomial is off by


def engine_of(folder, name: str, threads: int):
    config = replace(MODELS[name], context_length=5 * CHUNK)
    return tiny_engine(folder, config, RandomWeights(config, seed=4), numerics="native", threads=threads)


def decoded(engine, end: int) -> np.ndarray:
    """A row a pass: what follows `end` tokens, one more, ..."""
    text, rows = engine.open(TEXT[:end], alone=True), []
    for token in TEXT[end : end + ROWS]:
        rows.append(engine.forward([Work(text)])[0].logits[0].copy())
        text.commit([token])
    text.close()
    return np.stack(rows)


def in_other_ways(engine, end: int) -> dict[str, np.ndarray]:
    """The same rows in chains, with the text before them and without, in a tree, and beside other texts."""
    draft = np.array(TEXT[end : end + ROWS - 1])
    woven = np.stack([(draft + 1) % PLAIN.vocab_size, draft], axis=1).ravel()
    parents = np.arange(-2, len(woven) - 2)
    parents[:2] = -1
    tree = Proposal(woven, parents, (None,) * len(woven))
    texts = [engine.open(TEXT[first:last], alone=True) for first, last in ((0, end), (5, 60), (3, 2 * CHUNK + 5))]
    ways = (
        ("chain and text", Proposal.chain(draft)),
        ("chain", Proposal.chain(draft)),
        ("short", Proposal.chain(draft[:3])),
    )
    found = {way: engine.forward([Work(texts[0], proposal)])[0].logits.copy() for way, proposal in ways}
    found["tree"] = engine.forward([Work(texts[0], tree)])[0].logits[::2].copy()
    several = [Work(texts[1]), Work(texts[2], Proposal.chain(draft[:2])), Work(texts[0], Proposal.chain(draft))]
    found["batch"] = engine.forward(several)[-1].logits.copy()
    for each in texts:
        each.close()
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_bit_depends_on_who_looks(tmp_path, name, threads) -> None:
    engine, alone = engine_of(tmp_path, name, threads), engine_of(tmp_path, name, 1)
    for end in ENDS:
        expected = decoded(alone, end)
        np.testing.assert_array_equal(decoded(engine, end), expected)
        for way, rows in in_other_ways(engine, end).items():
            np.testing.assert_array_equal(rows, expected[: len(rows)], err_msg=f"{way} behind {end}")


@pytest.mark.parametrize(("threads", "spans", "longest", "is_shared"), [
    (1, 1, 10 * CHUNK, False), (2, 1, 2 * CHUNK - 1, False), (2, 1, 2 * CHUNK, True), (2, 2, 2 * CHUNK, True),
    (2, 3, 10 * CHUNK, False), (8, 3, 10 * CHUNK, True), (4, 1, 2 * CHUNK - 1, False), (4, 1, 2 * CHUNK, True),
])  # fmt: skip
def test_threads_share_what_few_spans_find(threads, spans, longest, is_shared) -> None:
    """Three heads of keys."""
    pieces, (_, _, sums, ends) = Findings(THREE.num_kv_heads, 8, THREE.head_dim, threads).of(spans, longest)
    assert (pieces > 0) is (len(ends) > 0) is is_shared
    if is_shared:
        assert pieces == spans * THREE.num_kv_heads < CROWD * threads
        assert len(ends) >= pieces * 8
        assert len(sums) >= pieces * (longest // CHUNK + 1) * 8


@compiled(error_model="numpy")
def runs(pieces, chunks, threads):
    return run_of(pieces, chunks, threads)


@compiled(error_model="numpy")
def arrivals(taken, stage, count, times):
    found = np.zeros(times, np.bool_)
    for k in range(times):
        found[k] = is_last(taken, stage, count)
    return found


@compiled(error_model="numpy")
def one_query(scores, values, out, kept):
    """By chunks, each softened by itself; kept: the shares that were rounded, as parts of the whole text's largest."""
    count = (len(scores) + CHUNK - 1) // CHUNK
    tops, totals = np.empty(2 * count, np.float32), np.empty(2 * count, np.float32)
    sums = np.zeros((2 * count, len(out)), np.float32)
    for chunk in range(count):
        part = scores[chunk * CHUNK : min(len(scores), (chunk + 1) * CHUNK)].copy()
        shares = np.empty(len(part), np.uint16)
        tops[2 * chunk + 1], totals[2 * chunk + 1] = soften(part, shares)
        for at in range(len(part)):
            for k in range(len(out)):
                sums[2 * chunk + 1, k] += from_bfloat16(shares[at]) * values[chunk * CHUNK + at, k]
            kept[chunk * CHUNK + at] = from_bfloat16(shares[at]) * 2.0 ** np.float64(tops[2 * chunk + 1] - scores.max())
    gather(tops, totals, sums, 1, 2, count, out)


@pytest.mark.parametrize("slots", [1, CHUNK, CHUNK + 1, 5 * CHUNK + 7])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_chunks_give_what_the_whole_text_gives(slots, spread) -> None:
    scores = (RNG.normal(size=slots) * spread).astype(np.float32)
    values, out = RNG.normal(size=(slots, 16)).astype(np.float32), np.empty(16, np.float32)
    kept, shares = np.empty(slots), 2 ** (scores.astype(np.float64) - scores.max())
    one_query(scores, values, out, kept)
    np.testing.assert_allclose(out, kept @ values / kept.sum(), atol=2e-6 * np.abs(values).max())
    np.testing.assert_allclose(kept, shares, rtol=HALF_STEP, atol=2.0**-125)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_is_told(wrong) -> None:
    scores, values, out = (
        np.zeros(2 * CHUNK, np.float32),
        np.ones((2 * CHUNK, 16), np.float32),
        np.empty(16, np.float32),
    )
    scores[CHUNK + 5] = wrong
    one_query(scores, values, out, np.empty(len(scores)))
    assert np.isnan(out).all()


def test_runs_give_each_thread_some() -> None:
    assert [runs(3, chunks, 2) for chunks in (1, 2, 3, 4, 12, 15)] == [1, 1, 1, 2, 6, 7]


def test_the_last_run_is_told_once() -> None:
    runs_of_stages = counters(2)
    assert arrivals(runs_of_stages, 1, 3, 4).tolist() == [False, False, True, False]
    assert arrivals(runs_of_stages, 0, 1, 2).all()
