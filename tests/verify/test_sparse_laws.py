"""Laws of drafts that are no vectors: every rule does with them what it does with vectors, and refuses bad ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np
import pytest

from enumeration import law_of, total_variation
from sibling_drafts import Drawing, Shape
from truedraw.errors import BadInput, BadProposal
from truedraw.protocol import ROOT, Proposal, SparseLaw
from truedraw.registry import find
from truedraw.testing.sparse import sparse
from truedraw.verify import block, recursive, residual, traversal
from truedraw.verify.lossy.lenient import LenientVerifier
from truedraw.verify.lossy.skip import SkipVerifier
from truedraw.verify.proposals import check_law, is_sound
from verify.cases import CHAINS, TABLES, TAKES, affordable
from verify.one_round import distance, verdicts
from verify.test_bad_proposals import RULES, NoDraws

ROUNDING = 1e-12
EQUAL = 1e-15
VISIBLE = 1e-6
VOCAB = 5000
EVERY = [(rule, shape) for rule, shapes in TAKES.items() for shape in shapes]
TRIED = ("three tokens", "zeros in p", "zeros in q", "disjoint supports", "near zero")
CHOSEN = [tables for tables in TABLES if tables.name in TRIED]


def with_zeros(law) -> SparseLaw:
    """A support that holds tokens which cannot come."""
    return SparseLaw(np.arange(len(law)), law.copy(), len(law))


def mixed(drawing: Drawing) -> Proposal:
    """Laws of three forms by turns, and none where there was none."""
    proposal = drawing.proposal()
    forms = (sparse, with_zeros, np.asarray)
    laws = (None if law is None else forms[node % 3](law) for node, law in enumerate(proposal.laws))
    return replace(proposal, laws=tuple(laws))


def all_sparse(drawing: Drawing) -> Proposal:
    proposal = drawing.proposal()
    return replace(proposal, laws=tuple(None if law is None else sparse(law) for law in proposal.laws))


def tokens_of(law) -> dict:
    return {tokens: weight for (tokens, _), weight in law.items()}


@pytest.mark.parametrize(("name", "shape"), EVERY, ids=str)
def test_a_round_has_the_law_of_the_target_and_that_of_the_same_vectors(name: str, shape: Shape) -> None:
    rule = find("verifiers", name)()
    for tables in CHOSEN:
        if affordable(tables, shape):
            as_vectors = verdicts(tables, shape, rule)
            for draft in (all_sparse, mixed):
                found = verdicts(tables, shape, rule, draft)
                assert distance(tables, tokens_of(found)) < ROUNDING, tables
                assert total_variation(found, as_vectors) < EQUAL, tables


def random_pair(seed: int, share: float = 0.02, vocab: int = VOCAB):
    """p and q [vocab], each 0 at most places."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(vocab, 0.05), 2) * (rng.random((2, vocab)) < [[0.3], [share]])
    q[rng.integers(vocab)] += 1e-4
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("weight", [1.0, 0.37, 1e-9, 0.0])
@pytest.mark.parametrize("share", [0.0, 0.002, 0.9])
def test_what_is_left_is_that_of_the_vector_bit_for_bit(weight: float, share: float) -> None:
    for seed in range(4):
        p, q = random_pair(seed, share)
        for form in (sparse, with_zeros):
            expected, of_all = residual.excess(weight, p, q, 0)
            left, total = residual.excess(weight, p, form(q), 0)
            assert np.array_equal(left, expected)
            assert total == pytest.approx(of_all, rel=EQUAL * 8, abs=0)
            assert total == pytest.approx(left.sum(), rel=1e-13)


def test_a_small_rest_keeps_its_digits() -> None:
    """1 less what is kept would be off by a thousandth here."""
    p, q = random_pair(3, 0.9)
    q = p * (1 - 1e-13 * (np.arange(VOCAB) % 2))
    _, total = residual.excess(1.0, p, sparse(q), 0)
    assert total == pytest.approx(float(np.maximum(p - q, 0).sum()), rel=1e-12)
    assert 0 < total < 1e-12


def test_where_nothing_is_left_the_residual_is_p_itself() -> None:
    p, _ = random_pair(4)
    assert residual.residual(p, sparse(p), 0) is p


@pytest.mark.parametrize("rule", RULES)
def test_over_a_large_vocabulary_the_coin_and_the_residual_are_those_of_the_vector(rule: str) -> None:
    p, q = random_pair(5, vocab=400)
    for token in np.argsort(-q)[:3].tolist():
        proposals = [Proposal.chain([token], [law]) for law in (q, sparse(q))]
        both = [law_of(partial(first_round, find("verifiers", rule)(), each, p)) for each in proposals]
        assert total_variation(*both) < EQUAL


def first_round(rule, proposal: Proposal, p, walker) -> tuple[int, ...]:
    return rule(proposal, [p] * (1 + len(proposal)), walker.sample(0), 4).tokens


# ------------------------------------------------------------------------------------------------------ bad laws

GOOD = ([0, 2], [0.25, 0.75], 4)
BAD = {
    "sums to 1.5": ([0, 2], [0.5, 1.0], 4),
    "least entry is -0.5": ([0, 1, 2], [0.5, -0.5, 1.0], 4),
    "sums to nan": ([0, 2], [0.5, np.nan], 4),
    "sums to inf": ([0, 2], [0.5, np.inf], 4),
    "its own token 0 probability 0": ([1, 2], [0.5, 0.5], 4),
    "its own token 0 probability 0;": ([0, 2], [0.0, 1.0], 4),
    "over 5 tokens; the target's vocabulary has 4": ([0, 2], [0.25, 0.75], 5),
    "rising order, from 0 to 3": ([2, 0], [0.75, 0.25], 4),
    "tokens from 0 to 0": ([0, 0], [0.5, 0.5], 4),
    "tokens from -1 to 0": ([-1, 0], [0.5, 0.5], 4),
    "tokens from 0 to 4": ([0, 4], [0.5, 0.5], 4),
    "a weight for each": ([0, 1, 2], [0.5, 0.5], 4),
    "at least one": ([], [], 4),
}


def sparse_law(tokens, weights, vocab) -> SparseLaw:
    return SparseLaw(np.array(tokens, np.int64), np.array(weights, np.float64), vocab)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("message", BAD)
def test_a_bad_sparse_law_is_refused_before_anything_is_drawn(rule: str, message: str) -> None:
    proposal = Proposal.chain([0, 0], [sparse_law(*GOOD), sparse_law(*BAD[message])])
    with pytest.raises(BadProposal, match=f"draft node 1 .*{message}"):
        find("verifiers", rule)()(proposal, [np.full(4, 0.25)] * 3, NoDraws(), 3)


@pytest.mark.parametrize("message", BAD)
def test_compiled_code_finds_what_is_wrong_with_a_law(message: str) -> None:
    tells_of_its_token = "its own token" in message
    assert is_sound(sparse_law(*BAD[message]), 4) is tells_of_its_token


@pytest.mark.parametrize("size", [1, 2, 3, 8, 63, 64, 65, 1000])
def test_compiled_code_looks_at_every_entry(size: int) -> None:
    rng = np.random.default_rng(size)
    tokens, weights = np.sort(rng.choice(4 * size, size, replace=False)), rng.dirichlet(np.ones(size))
    assert is_sound(SparseLaw(tokens, weights, 4 * size), 4 * size)
    for place in range(size):
        for wrong in (np.nan, np.inf, -np.inf, weights[place] + 3e-6, weights[place] - 3e-6):
            bent = weights.copy()
            bent[place] = wrong
            assert not is_sound(SparseLaw(tokens, bent, 4 * size), 4 * size)
        if place:
            below = weights.copy()
            below[place], below[place - 1] = -1e-9, below[place - 1] + below[place] + 1e-9  # the sum is still 1
            assert not is_sound(SparseLaw(tokens, below, 4 * size), 4 * size)
            twice = tokens.copy()
            twice[place] = twice[place - 1]
            assert not is_sound(SparseLaw(twice, weights, 4 * size), 4 * size)


def test_compiled_code_leaves_other_arrays_to_numpy() -> None:
    tokens, weights, vocab = *(np.array(each) for each in GOOD[:2]), GOOD[2]
    fixed = weights.copy()
    fixed.flags.writeable = False
    for law in (SparseLaw(tokens, fixed, vocab), SparseLaw(tokens.astype(np.int32), weights, vocab),
                SparseLaw(tokens, weights.astype(np.float32), vocab)):  # fmt: skip
        assert not is_sound(law, vocab)
    check_law(SparseLaw(tokens, fixed, vocab), vocab, 0, 0)


def test_tokens_of_another_kind_are_refused() -> None:
    for tokens in (np.array([0.0, 2.0]), np.array([[0, 2]]), np.array([0, 2], np.uint64)):
        with pytest.raises(BadProposal, match="give int64 tokens"):
            check_law(SparseLaw(tokens, np.array([0.25, 0.75]), 4), 4, 0, 0)


def test_a_good_sparse_law_is_taken() -> None:
    check_law(sparse_law(*GOOD), 4, 0, 0)
    check_law(sparse_law([3], [1.0], 4), 4, 3, 0)
    check_law(SparseLaw(np.array([0, 2]), np.array([0.25, 0.75], np.float32), 4), 4, 2, 0)


@pytest.mark.parametrize("rule", ["kseq", "multipath"])
def test_siblings_of_one_law_in_two_forms_are_of_one_law(rule: str) -> None:
    p, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.0, 0.75, 0.0])
    siblings = np.array([0, 2]), np.full(2, ROOT)
    verdict = find("verifiers", rule)()
    with pytest.raises(AssertionError, match="drawn"):
        verdict(Proposal(*siblings, (q, sparse(q))), [p] * 3, NoDraws(), 3)
    with pytest.raises(BadInput, match="traversal"):
        verdict(Proposal(*siblings, (sparse(q), sparse(p))), [p] * 3, NoDraws(), 3)


# --------------------------------------------------------------------------------------------------- lossy rules


@pytest.mark.parametrize("make", [lambda: LenientVerifier(1.7), lambda: SkipVerifier(0.5, 0.3)])
def test_lossy_rules_do_and_say_the_same(make) -> None:
    rng = np.random.default_rng(8)
    for p, q in zip(rng.dirichlet(np.full(4, 0.6), 30), rng.dirichlet(np.full(4, 0.4), 30), strict=True):
        token, both = int(q.argmax()), []
        for law in (q, sparse(q)):
            rule = make()
            found = law_of(partial(first_round, rule, Proposal.chain([token], [law]), p))
            both.append((found, rule.loss()))
        assert both[0] == both[1]


# -------------------------------------------------------------------------------------------------------- mutants

original = residual.excess


def never_clips(weight, p, q, token):
    if not isinstance(q, SparseLaw):
        return original(weight, p, q, token)
    left = weight * p
    left[q.tokens] -= q.weights
    return left, float(left.sum())


def sums_before_it_clips(weight, p, q, token):
    left, total = original(weight, p, q, token)
    return left, float(weight * p.sum() - 1.0) if isinstance(q, SparseLaw) else total


def places_for_tokens(weight, p, q, token):
    """Takes the weights from the first tokens of the vocabulary."""
    if isinstance(q, SparseLaw):
        q = SparseLaw(np.arange(len(q.tokens)), q.weights, q.vocab_size)
    return original(weight, p, q, token)


def one_off(weight, p, q, token):
    if isinstance(q, SparseLaw):
        q = SparseLaw((q.tokens + 1) % q.vocab_size, q.weights, q.vocab_size)
    return original(weight, p, q, token)


def only_its_own_token(weight, p, q, token):
    if isinstance(q, SparseLaw):
        q = SparseLaw(np.array([token]), np.array([q[token]]), q.vocab_size)
    return original(weight, p, q, token)


def forgets_the_weight(weight, p, q, token):
    return original(1.0 if isinstance(q, SparseLaw) else weight, p, q, token)


def largest_bias(name: str, excess) -> float:
    """The greatest total variation over chains; infinite where the weights of a draw are none."""
    rule, module = find("verifiers", name)(), {"traversal": traversal, "block": block, "recursive": recursive}[name]
    with mock.patch.object(module, "excess", excess):
        try:
            return max(
                distance(tables, tokens_of(verdicts(tables, shape, rule, all_sparse)))
                for tables in CHOSEN for shape in CHAINS[1:4] if affordable(tables, shape)
            )  # fmt: skip
        except AssertionError:
            return np.inf


MUTANTS = [never_clips, sums_before_it_clips, places_for_tokens, one_off, only_its_own_token]


@pytest.mark.parametrize("name", ["traversal", "block", "recursive"])
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_bug_in_what_is_left_is_caught(mutant, name: str) -> None:
    assert largest_bias(name, mutant) > VISIBLE


@pytest.mark.parametrize("name", ["traversal", "block"])
def test_a_forgotten_weight_is_caught(name: str) -> None:
    assert largest_bias(name, forgets_the_weight) > VISIBLE


@pytest.mark.parametrize("name", ["traversal", "block", "recursive"])
def test_without_a_bug_nothing_is_seen(name: str) -> None:
    assert largest_bias(name, original) < ROUNDING


def test_a_weight_looked_up_one_place_off_is_caught() -> None:
    def next_one(law, token):
        return float(law.weights[(law.tokens.searchsorted(token) + 1) % len(law.tokens)])

    with mock.patch.object(SparseLaw, "__getitem__", next_one):
        for name in ("traversal", "block", "recursive"):
            assert largest_bias(name, original) > VISIBLE
