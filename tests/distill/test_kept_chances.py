"""What further candidates add, against an enumeration of the recursive rule."""

import numpy as np

from truedraw.distill.siblings import kept_chances


def enumerated(p, q, candidates):
    """The chance that one of so many candidates is kept, by all that can be drawn; p may sum to less than 1."""
    if candidates == 0 or q.sum() == 0:
        return 0.0
    kept = np.minimum(p, q)
    lost = 1 - kept.sum()
    if lost < 1e-12:
        return 1.0
    rest = np.maximum(p - q, 0) / lost
    more = 0.0
    for token in np.flatnonzero(q > p):
        left = q.copy()
        left[token] = 0
        left = left / left.sum() if left.sum() else left
        more += (q[token] - p[token]) * enumerated(rest, left, candidates - 1)
    return kept.sum() + more


def test_chances_are_those_of_the_rule():
    chance = np.random.default_rng(0)
    p, q = np.array([0.3, 0.05, 0.2, 0.1, 0.1]), chance.dirichlet(np.ones(5))  # a quarter of p is on unknown tokens
    rows = 20_000
    found = kept_chances(np.tile(p, (rows, 1)), np.tile(q, (rows, 1)), np.random.default_rng(1), candidates=4)
    wanted = [enumerated(p, q, count) for count in (1, 2, 3, 4)]
    np.testing.assert_allclose(found.within, wanted, atol=0.01)
    not_kept = np.cumprod([1 - each for each in found.given])
    np.testing.assert_allclose(1 - not_kept, found.within, atol=1e-9)


def test_a_draft_like_its_target_is_always_kept():
    law = np.tile([0.5, 0.3, 0.2], (4, 1))
    found = kept_chances(law.copy(), law.copy(), np.random.default_rng(0))
    assert found.within == (1.0, 1.0, 1.0, 1.0)
    assert found.given[0] == 1.0


def test_more_candidates_than_tokens_add_nothing():
    p, q = np.tile([0.1, 0.1], (50, 1)), np.tile([0.5, 0.5], (50, 1))
    found = kept_chances(p, q, np.random.default_rng(0), candidates=4)
    assert found.within[1] == found.within[3]
