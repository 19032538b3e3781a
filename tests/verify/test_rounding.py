"""What enumeration over a few tokens does not reach: larger vocabularies, p equal to q but for rounding, laziness."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import law_of, total_variation
from truedraw.protocol import ROOT, Proposal
from truedraw.registry import find, names
from truedraw.sampling.randomness import PhiloxRandomness

VOCAB = 300
SUBNORMAL = 5e-324
ROUNDS = 50
RULES = [name for name in names("verifiers") if name != "coupled"]


def rows_of(seed: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(VOCAB, 0.05)) for _ in range(count)]


def likely(row: np.ndarray, count: int = 1) -> list[int]:
    return np.argsort(-row)[:count].tolist()


@pytest.mark.parametrize("rule", RULES)
def test_a_draft_from_p_itself_is_kept_whatever_the_rounding(rule: str) -> None:
    p = rows_of(0, 6)
    tokens = [likely(row)[0] for row in p[:5]]
    for laws in (p[:5], [row * (1 + 1e-15) for row in p[:5]], [row.astype(np.float32).astype(float) for row in p[:5]]):
        proposal = Proposal.chain(tokens, laws)
        kept = [
            find("verifiers", rule)()(proposal, p, PhiloxRandomness(seed), 9).num_accepted for seed in range(ROUNDS)
        ]
        assert min(kept) == 5


@pytest.mark.parametrize("rule", RULES)
def test_a_draft_that_p_excludes_is_never_kept_and_never_emitted(rule: str) -> None:
    p, q = rows_of(1, 2)
    token = likely(q)[0]
    p = np.where(np.arange(VOCAB) == token, 0.0, p)
    p /= p.sum()
    for seed in range(ROUNDS):
        verdict = find("verifiers", rule)()(Proposal.chain([token], [q]), [p, p], PhiloxRandomness(seed), 9)
        assert verdict.num_accepted == 0
        assert verdict.rejected
        assert p[verdict.tokens[0]] > 0


@pytest.mark.parametrize("rule", RULES)
def test_a_draft_whose_probability_is_next_to_nothing_is_kept(rule: str) -> None:
    q = np.array([SUBNORMAL, 1.0, 0.0])
    p = np.array([0.5, 0.0, 0.5])
    proposal = Proposal.chain([0, 0], [q, q])
    law = law_of(lambda walker: find("verifiers", rule)()(proposal, [p, p, p], walker.sample(0), 4).num_accepted)
    assert law == {2: 1.0}


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_siblings_that_use_p_up_leave_a_law_to_draw_from(rule: str) -> None:
    """Four siblings without replacement over three tokens' worth of mass, p equal to q up to the last digit."""
    p = np.array([0.1, 0.2, 0.7, 0.0])
    laws = [p * (1 + 2e-16), np.array([0.0, 2 / 9, 7 / 9, 0.0]), np.array([0.0, 0.0, 1.0, 0.0])]
    proposal = Proposal(np.array([0, 1, 2]), np.full(3, ROOT), tuple(laws))
    law = law_of(lambda walker: find("verifiers", rule)()(proposal, [p] * 4, walker.sample(0), 4).num_accepted)
    assert law.get(1, 0) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_whole_vocabulary_gives_the_acceptance_of_the_formula(rule: str) -> None:
    """P(kept) of the one drafted token is min(1, p / q) to the last digit, found by walking both branches."""
    p, q = rows_of(2, 2)
    for token in likely(q, 2) + likely(p, 2):
        proposal = Proposal.chain([token], [q])
        one_token = {0: 0.0, 1: 0.0}
        law = law_of(lambda walker, x=proposal: find("verifiers", rule)()(x, [p, p], walker.sample(0), 4).num_accepted)
        one_token.update(law)
        assert one_token[1] == pytest.approx(min(1.0, p[token] / q[token]), abs=1e-12)


class Watched:
    """protocol.Rows that remember what was looked at."""

    def __init__(self, rows) -> None:
        self.rows, self.seen = rows, set()

    def __getitem__(self, row: int):
        self.seen.add(row)
        return self.rows[row]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chains", [1, 2])
def test_after_a_draft_that_p_excludes_no_row_of_its_chain_is_looked_at(rule: str, chains: int) -> None:
    """A mask has nothing to say of a text that it does not allow."""
    p, q = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    rows = Watched([p] * 7)
    below = [ROOT, 0, 1, ROOT, 3, 4]
    proposal = Proposal(np.array([1] * 6)[: 3 * chains], np.array(below)[: 3 * chains], (q,) * (3 * chains))
    if chains == 1 or rule not in ("token", "block"):
        assert find("verifiers", rule)()(proposal, rows, PhiloxRandomness(0), 4).tokens == (0,)
        assert rows.seen == {0}


def test_below_a_draft_that_p_excludes_no_row_of_a_tree_is_looked_at() -> None:
    p, q = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    rows = Watched([p] * 5)
    proposal = Proposal(np.array([1, 1, 1, 1]), np.array([ROOT, 0, 1, 0]), (q, q, q, q))
    verdict = find("verifiers", "traversal")()(proposal, rows, PhiloxRandomness(0), 4)
    assert verdict.tokens == (0,)
    assert rows.seen == {0}


def test_certain_trees_cost_one_row_for_each_emitted_token() -> None:
    rows = Watched([np.array([0.0, 1.0, 0.0])] * 7)
    proposal = Proposal(np.array([0, 1, 2, 0, 1, 2]), np.array([ROOT, ROOT, ROOT, 1, 1, 1]), (None,) * 6)
    verdict = find("verifiers", "traversal")()(proposal, rows, PhiloxRandomness(0), 4)
    assert verdict.tokens == (1, 1, 1)
    assert rows.seen == {0, 2, 5}


def test_equal_siblings_are_one_prefix_for_the_coupled_rule() -> None:
    """The second of two equal nodes has the child that the target wants."""
    wants = [np.eye(3)[token] for token in (0, 2, 2, 1, 1)]
    proposal = Proposal(np.array([0, 0, 1, 2]), np.array([ROOT, ROOT, 0, 1]), (None,) * 4)
    for rule in ("coupled", "traversal"):
        verdict = find("verifiers", rule)()(proposal, wants, PhiloxRandomness(0), 4)
        assert verdict.tokens == (0, 2, 1)
        assert verdict.num_accepted == 2


def test_the_laws_of_a_mixed_tree_survive_a_large_vocabulary() -> None:
    """First token only: p is recovered to 1e-12 over all tokens from both branches of every coin."""
    p, q, r = rows_of(3, 3)
    draft = [likely(q)[0], likely(r)[0], likely(p)[0]]
    proposal = Proposal(np.array(draft), np.full(3, ROOT), (q, r, None))
    mass = np.zeros(VOCAB)
    weight, left = 1.0, p
    for token, law in zip(draft[:2], (q, r), strict=True):
        kept = min(1.0, left[token] / law[token])
        mass[token] += weight * kept
        weight *= 1 - kept
        left = np.maximum(left - law, 0)
        left /= left.sum()
    mass += weight * left
    law = law_of(lambda walker: find("verifiers", "traversal")()(proposal, [p] * 4, walker.sample(0), 4).tokens[0])
    assert total_variation(law, dict(enumerate(mass))) < 1e-12
