from collections import defaultdict

import numpy as np
import pytest

from enumeration import law_of
from known_laws import SCENARIOS, lookup
from truedraw.bench.draft_eval.places import matched, place
from truedraw.bench.draft_eval.rounds import (
    CANDIDATES,
    COUPLED,
    DEEPEST,
    INDEPENDENT,
    Places,
    best_trees,
    by_position,
    candidates,
    chain_tokens,
    levels,
    ratio,
    tree_tokens,
    trees,
)
from truedraw.testing.runs import PROMPT, rounds_of_one
from truedraw.testing.short import shortened
from truedraw.verify.token import TokenVerifier

PLAIN = [scenario for scenario in SCENARIOS if not scenario.params and not scenario.masks and not scenario.end_ids]
assert PLAIN


def row(**columns):
    """A place of which nothing is known but these."""
    return {
        "text": 0,
        "index": 0,
        "category": "a",
        "is_drafted": np.ones(DEEPEST, bool),
        "chances": np.zeros((DEEPEST, CANDIDATES)),
        "shares": np.zeros((DEEPEST, CANDIDATES)),
        "matches": np.zeros(DEEPEST),
        "match_shares": np.zeros(DEEPEST),
        "ranks": np.full(DEEPEST, -1),
        **columns,
    }


def along(text, scenario):
    """The places of a text behind PROMPT, of which the last token counts as the text's first."""
    rows = []
    for index in range(len(text)):
        shares, matches = np.zeros((DEEPEST, CANDIDATES)), np.zeros(DEEPEST)
        for depth in range(min(scenario.draft_tokens, len(text) - index)):
            before, token = (*PROMPT, *text[: index + depth]), text[index + depth]
            p, q = np.array(lookup(scenario.target, before)), np.array(lookup(scenario.draft, before))
            shares[depth, 0] = min(1.0, q[token] / p[token])
            matches[depth] = matched(place(p, q, token))[1]
        rows.append(row(index=index, shares=shares, match_shares=matches))
    return Places.of(rows)


@pytest.mark.parametrize("scenario", PLAIN, ids=str)
def test_rounds_are_those_of_the_production_loop_given_its_text(scenario):
    short = shortened(scenario)

    def run(walker):
        steps = [step[0] for step in rounds_of_one(short, walker, TokenVerifier())]
        return tuple(token for each in steps for token in each.tokens), len(steps)

    mass, rounds = defaultdict(float), defaultdict(float)
    for (text, count), probability in law_of(run).items():
        mass[text] += probability
        rounds[text] += probability * count
    for text, probability in mass.items():
        found = chain_tokens(along(text, short), INDEPENDENT)[short.draft_tokens - 1]
        expected = 1 + rounds[text] / probability  # the prompt's last token has a round of its own here
        assert found.mean == pytest.approx((len(text) + 1) / expected)


def test_chains_trees_and_both_rules_by_hand():
    ranks = [[0, 1, 0], [1, -1, -1], [-1, 0, 0], [0, 0, -1], [0, -1, -1]]
    wide = [
        row(index=index, ranks=np.array((each + [-1] * DEEPEST)[:DEEPEST]), match_shares=np.array([0.5] * DEEPEST))
        for index, each in enumerate(ranks)
    ]
    shape = [(0,), (1,), (0, 1)]
    # token 0 by itself; 1 and 2 kept, so 3 with them; then 4 and 5 together: three rounds for six tokens
    (found, none, few) = tree_tokens(Places.of(wide), COUPLED, [shape, [], [(0,)]])
    assert (found.mean, none.mean, few.mean) == pytest.approx((6 / 3, 1.0, 6 / 4))
    assert found.low is None
    two, three = (chain_tokens(Places.of(wide[:count]), COUPLED)[0].mean for count in (1, 2))
    assert two == pytest.approx(2 / 2)  # one token behind the first takes one round, drafted or not
    assert three == pytest.approx(3 / (1 + 1 + 1 / 2))  # the second of them half a round


def test_a_tree_is_at_least_its_chain_and_all_kept_is_as_deep_as_it_goes():
    rows = [
        row(index=index, shares=np.tile([0.6, 0.2, 0.1, 0.0], (DEEPEST, 1)), match_shares=np.full(DEEPEST, 0.6))
        for index in range(200)
    ]
    places = Places.of(rows)
    chain = [each.mean for each in chain_tokens(places, INDEPENDENT)]
    assert chain == pytest.approx([each.mean for each in chain_tokens(places, COUPLED)])
    assert chain[0] == pytest.approx(1.6, rel=0.02)
    assert chain[1] == pytest.approx(1.96, rel=0.02)
    shapes = trees([0.6, 0.2, 0.1, 0.0])
    assert [len(shape) for shape in shapes] == list(range(1, 13))
    tree = [each.mean for each in tree_tokens(places, INDEPENDENT, shapes)]
    assert tree == sorted(tree)
    assert tree[11] > chain[5]
    sure = Places.of([{**each, "shares": np.ones((DEEPEST, CANDIDATES))} for each in rows])
    assert chain_tokens(sure, INDEPENDENT)[3].mean == pytest.approx(201 / (1 + 200 // 5))


@pytest.mark.parametrize("deepest", [1, 2, 3, DEEPEST])
def test_no_tree_is_deeper_than_what_was_drafted(deepest):
    """Of a head with that many levels: nodes behind its last one would be drafted nowhere."""
    drafted = np.arange(DEEPEST) < deepest
    chances = np.where(drafted[:, None], [0.6, 0.2, 0.1, 0.05], 0.0)
    rows = [row(index=index, is_drafted=drafted, chances=chances, shares=chances) for index in range(60)]
    places = Places.of(rows)
    shapes = best_trees(places, INDEPENDENT)
    assert max(len(path) for path in shapes[-1]) == min(deepest, 5)
    here = tree_tokens(places, INDEPENDENT, shapes)
    deeper = tree_tokens(places, INDEPENDENT, trees(candidates(places, INDEPENDENT)))
    assert all(one.mean >= other.mean for one, other in zip(here, deeper, strict=True))
    assert (here[5].mean > deeper[5].mean) == (deepest <= 3)
    assert levels(places) == deepest


def test_means_are_over_what_was_drafted():
    rows = [
        row(chances=np.full((DEEPEST, CANDIDATES), 0.4), text=0),
        row(chances=np.full((DEEPEST, CANDIDATES), 0.8), text=1, category="b", is_drafted=np.arange(DEEPEST) < 1),
    ]
    places = Places.of(rows)
    first, second, *_ = by_position(places, places.chances[..., 0])
    assert first.mean == pytest.approx(0.6)
    assert first.low < 0.6 < first.high
    assert (second.mean, second.low) == (pytest.approx(0.4), None)
    assert candidates(places, INDEPENDENT) == pytest.approx([(0.4 * 6 + 0.8) / 7] * CANDIDATES)
    only = places.only(places.category == "b")
    assert len(only) == 1
    assert by_position(only, only.chances[..., 0])[1] is None


def test_of_nothing_nothing_is_known():
    places = Places.of([])
    assert by_position(places, places.matches) == [None] * DEEPEST
    assert chain_tokens(places, INDEPENDENT) == [None] * DEEPEST
    assert candidates(places, COUPLED) == [None] * CANDIDATES
    assert trees([0.0] * CANDIDATES) == trees([None] * CANDIDATES) == [()] * 12
    assert ratio(np.zeros(0), np.zeros(0), 0.0) is None


@pytest.mark.parametrize("rule", [INDEPENDENT, COUPLED])
def test_where_nothing_was_drafted_no_round_was_seen(rule):
    places = Places.of([row(is_drafted=np.zeros(DEEPEST, np.bool_), index=index) for index in range(3)])
    assert chain_tokens(places, rule) == [None] * DEEPEST
    assert tree_tokens(places, rule, trees(candidates(places, rule))) == [None] * 12


def test_the_interval_of_a_ratio():
    found = ratio(np.array([2.0, 4.0, 6.0]), np.array([2.0, 2.0, 2.0]), 0.0)
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(1.96 * np.sqrt(8.0 * 3 / 2) / 6)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_an_interval_holds_nothing_impossible():
    few = ratio(np.array([0.0, 0.0, 1.0]), np.ones(3), 0.0, 1.0)
    assert (few.low, few.high < 1) == (0.0, True)
    most = ratio(np.array([1.0, 1.0, 0.0]), np.ones(3), 0.0, 1.0)
    assert (most.low > 0, most.high) == (True, 1.0)
    assert ratio(np.array([2.0, 60.0]), np.array([2.0, 3.0]), least=1.0).low == 1.0
