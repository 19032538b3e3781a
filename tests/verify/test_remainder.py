"""What a draft leaves of a row that nobody writes down is what would have been written: in all, at every token, and who
wins the race for it."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
import pytest

from truedraw.compiled import compiled
from truedraw.protocol import Proposal, SparseLaw
from truedraw.sampling.kernels.racing import race_remainder
from truedraw.sampling.kernels.rowkinds import left_there
from truedraw.sampling.kernels.softmax import softmax_into
from truedraw.sampling.race import race
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform
from truedraw.threads import NOBODY
from truedraw.verify.fused.judge import Judge, warm_up
from truedraw.verify.fused.remainder import LEAST, remainder_of, weighed
from truedraw.verify.fused.rows import TEMPERED, look, unknown
from truedraw.verify.proposals import mark_checked

ROUNDING = 1e-13
MUCH = 60.0  # seconds, for what takes milliseconds, and did take minutes, once it is compiled
SHARES = (1.0, 0.83, 1e-3)
SHARE = 0.9  # that is raced for
TEMPERATURES = (1.0, 0.4, 2.5)


class Found(NamedTuple):
    """By compiled code: the mass that is left, what is left at each token, and the winners of some races."""

    total: float
    left: np.ndarray
    unwritten: np.ndarray
    written: np.ndarray


@compiled(nogil=True, error_model="numpy")
def found_in(logits, how, share, tree, kept, left, unwritten, board):  # type: ignore[no-untyped-def]
    law, n = Transform(*how), logits.shape[1]
    given = logits, TEMPERED, law, unknown(1), ()
    look(logits, TEMPERED, law, given[3], 0, board)
    row = remainder_of(given, 0, share, tree, 0, kept)
    total = weighed(row, tree, 0)
    for token in range(n):
        left[token] = left_there(row, token)
    for k in range(unwritten.shape[0]):
        unwritten[k] = race_remainder(row, (np.uint64(k), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)))
    return total


def found(logits: np.ndarray, ids: np.ndarray, q: np.ndarray, share: float, temperature: float, races: int) -> Found:
    """Of one row, and a draft from the law q at the tokens ids."""
    laws = np.array([[ids.ctypes.data, q.ctypes.data, len(ids)]], np.int64)
    tree = ids[:1], np.array([-1]), laws
    kept, left, unwritten = np.full(len(logits), np.nan), np.empty(len(logits)), np.empty(races, np.int64)
    how = tuple(Transform(temperature=temperature))
    total = found_in(logits[None], how, share, tree, kept, left, unwritten, NOBODY)
    key = np.array([3, 4], np.uint64)
    written = [race(left, np.array([0, k, 1, 2], np.uint64), key) for k in range(races)]
    return Found(total, left, unwritten, np.array(written))


def p_of(logits: np.ndarray, temperature: float) -> np.ndarray:
    p = np.empty(len(logits))
    softmax_into(logits, temperature, p)
    return p


def rows(rng: np.random.Generator, vocab: int) -> dict[str, np.ndarray]:
    usual = rng.normal(0, 3, vocab)
    one = usual.copy()
    one[rng.integers(vocab)] += 60
    banned = np.where(rng.random(vocab) < 0.5, -np.inf, usual)
    banned[0] = 0.0
    found = {"usual": usual, "level": np.zeros(vocab), "one token": one, "banned": banned, "wide": usual * 40}
    return {name: row.astype(np.float32) for name, row in found.items()}


def laws(rng: np.random.Generator, p: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Tokens and weights: some of p's, all of them, others, one alone, and p itself."""
    vocab = len(p)
    some = np.sort(rng.choice(vocab, max(1, vocab // 3), replace=False))
    return {
        "a third": (some, rng.dirichlet(np.full(len(some), 0.3))),
        "near p": (some, p[some] / p[some].sum() if p[some].sum() else np.full(len(some), 1 / len(some))),
        "all": (np.arange(vocab), rng.dirichlet(np.full(vocab, 0.1))),
        "p": (np.arange(vocab), p.copy()),
        "one": (some[:1], np.ones(1)),
    }


@pytest.mark.parametrize("vocab", [2, 7, 64, 3000])
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_it_is_what_would_have_been_written(vocab: int, temperature: float) -> None:
    rng = np.random.default_rng(vocab)
    for logits in rows(rng, vocab).values():
        p = p_of(logits, temperature)
        for ids, q in laws(rng, p).values():
            for share in SHARES:
                dense = np.zeros(vocab)
                dense[ids] = q
                expected = np.maximum(share * p - dense, 0.0)
                here = found(logits, ids, q, share, temperature, 0)
                assert abs(here.total - expected.sum()) < ROUNDING
                np.testing.assert_allclose(here.left, expected, rtol=ROUNDING, atol=4e-16)


@pytest.mark.parametrize("vocab", [2, 7, 64, 3000])
def test_the_race_is_won_by_the_same_token(vocab: int) -> None:
    rng, seen = np.random.default_rng(vocab), set[int]()
    for logits in rows(rng, vocab).values():
        p = p_of(logits, 1.0)
        for name, (ids, q) in laws(rng, p).items():
            if name != "p" and found(logits, ids, q, SHARE, 1.0, 0).total >= LEAST * SHARE:  # where rules race for it
                here = found(logits, ids, q, SHARE, 1.0, 40)
                np.testing.assert_array_equal(here.unwritten, here.written)
                seen |= {*here.unwritten.tolist()}
    assert len(seen) > min(vocab, 20) - 1


def test_nothing_is_won_where_nothing_is_left() -> None:
    """Rules write it down before; a race finds it after seconds."""
    logits = np.zeros(8, np.float32)
    here = found(logits, np.arange(8), np.full(8, 0.125), 0.5, 1.0, 1)
    assert here.total < ROUNDING
    assert here.unwritten.tolist() == [-1]


@pytest.mark.parametrize("vocab", [40, 3000, 49152])
def test_where_next_to_nothing_is_left_nobody_races_for_ever(vocab: int) -> None:
    """A law that is p and at one token, the draft, a little more: all that is left is rounding."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, (2, vocab)).astype(np.float32)
    q = p_of(logits[0], 1.0)
    token = int(q.argmin())
    q[token] += 9e-7
    draft = Proposal.chain([token], (SparseLaw(np.arange(vocab), q, vocab),))
    mark_checked(draft, vocab)
    warm_up()  # compiling has no part in it
    start = perf_counter()
    for seed in range(5):
        found = Judge().decide(False, Transform(), logits, draft, PhiloxRandomness(seed), 3)
        assert found is None or len(found.verdict.tokens) in {1, 2}
    assert perf_counter() - start < MUCH
