from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from enumeration import law_of
from truedraw.bench.draft_eval.places import NOT_DRAWN, Place, kept, matched, overlap, place, rank
from truedraw.draft.growing import without
from truedraw.protocol import Proposal, Purpose, SparseLaw
from truedraw.sampling.randomness import PhiloxRandomness, choose_sparse
from truedraw.verify.recursive import RecursiveVerifier

KNOWN = np.array([1, 2, 4, 5])
LAWS = [
    ([0.3, 0.1, 0.2, 0.1, 0.0, 0.3], [0.4, 0.3, 0.2, 0.1]),
    ([0.0, 0.5, 0.0, 0.0, 0.5, 0.0], [0.1, 0.0, 0.9, 0.0]),
    ([0.6, 0.0, 0.0, 0.4, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]),
    ([0.0, 0.2, 0.3, 0.0, 0.4, 0.1], [0.2, 0.3, 0.4, 0.1]),
]


class Grid:
    """Every cell of the square of two chances once: means over it are exact but for the cells on an edge."""

    SIDE = 50

    def __init__(self):
        middles = (np.arange(self.SIDE) + 0.5) / self.SIDE
        self._cells = [float(value) for pair in product(middles, middles) for value in pair]
        self._place = 0

    def cells(self):
        for start in range(0, len(self._cells), 2):
            self._place = start
            yield self

    def random(self):
        self._place += 1
        return self._cells[self._place - 1]


def law(weights):
    return SparseLaw(KNOWN, np.array(weights), 6)


@pytest.mark.parametrize(("p", "q"), LAWS)
@pytest.mark.parametrize("token", range(6))
def test_overlap_and_match_by_definition(p, q, token):
    p, whole = np.array(p), law(q).dense()
    at = place(p, law(q), token)
    assert overlap(at) == pytest.approx(np.minimum(p, whole).sum())
    chances = {
        j: 1 / sum(max(p[i] / p[j], whole[i] / whole[j]) for i in range(6))
        for j in range(6)
        if p[j] > 0 and whole[j] > 0
    }
    same, share = matched(at)
    assert same == pytest.approx(sum(chances.values()))
    assert share == pytest.approx(chances.get(token, 0.0) / p[token] if token in chances else 0.0)
    assert place(p, whole, token).outside == pytest.approx(1 - p[whole > 0].sum())  # a dense law is no other
    assert matched(place(p, whole, token)) == pytest.approx((same, share))


def candidates_by_the_rule(p, q, count):
    """Production's rule, enumerated: mass of (candidate kept, its token)."""

    def run(walker):
        chance, left, tokens, laws = walker.sample(0), law(q), [], []
        while len(tokens) < count and left.weights.any():
            tokens.append(choose_sparse(chance, left, Purpose.DRAFT, 9, len(tokens)))
            laws.append(left)
            left = without(left, tokens[-1])
        proposal = Proposal(np.array(tokens), np.full(len(tokens), -1), tuple(laws))
        verdict = RecursiveVerifier()(proposal, [np.array(p)] * (count + 1), chance, 9)
        return (tokens.index(verdict.tokens[0]), verdict.tokens[0]) if verdict.num_accepted else (None, None)

    return law_of(run)


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_candidates_are_kept_as_often_as_the_rule_keeps_them(p, q):
    found = candidates_by_the_rule(p, q, 3)
    chances, shares = np.zeros(3), defaultdict(lambda: np.zeros(3))
    for (number, token), mass in found.items():
        if number is not None:
            chances[number] += mass
            shares[token][number] += mass / p[token]
    for token in range(6):
        each = [kept(place(np.array(p), law(q), token), 3, grid) for grid in Grid().cells()]
        assert np.mean([one.chances for one in each], axis=0) == pytest.approx(chances, abs=0.02)
        assert np.mean([one.shares for one in each], axis=0) == pytest.approx(shares[token], abs=0.02)


def test_without_temperature_one_candidate_is_all_there_is():
    sure = law([0.0, 1.0, 0.0, 0.0])
    for token, chance in ((2, 1.0), (4, 0.0)):
        p = np.eye(6)[token]
        at = place(p, sure, token)
        assert (overlap(at), *matched(at)) == (chance, chance, chance)
        found = kept(at, 4, np.random.default_rng(0))
        assert (found.chances.tolist(), found.shares.tolist()) == ([chance, 0, 0, 0], [chance, 0, 0, 0])
    assert kept(Place(np.array([1.0]), np.array([1.0]), 0.0, None), 2, np.random.default_rng(0)).shares.tolist() == [
        0,
        0,
    ]


def test_equal_laws_always_meet():
    p = np.array([0.0, 0.4, 0.3, 0.0, 0.2, 0.1])
    at = place(p, law(p[KNOWN]), 1)
    assert (overlap(at), *matched(at)) == pytest.approx((1, 1, 1))
    assert kept(at, 3, np.random.default_rng(0)).chances == pytest.approx([1, 0, 0])


def test_the_rank_is_that_of_a_draw_with_the_same_noise():
    chance, p, q = PhiloxRandomness(7), np.array(LAWS[0][0]), law(LAWS[0][1])
    seen = defaultdict(int)
    for position in range(4000):

        def draw(of, position=position):
            return choose_sparse(chance, of, Purpose.TARGET, position)

        token = chance.choose(p, Purpose.TARGET, position)
        found = rank(q, token, 3, draw)
        seen[found] += 1
        assert (found == 0) == (draw(q) == token)
        if token == 3:  # none that q knows
            assert found == NOT_DRAWN
    assert seen[0] / 4000 == pytest.approx(matched(place(p, q, 1))[0], abs=0.03)
    assert seen[1] > 0
    assert seen[2] > 0
    assert rank(law([0, 1.0, 0, 0]), 1, 4, lambda of: int(of.tokens[of.weights.argmax()])) == NOT_DRAWN
