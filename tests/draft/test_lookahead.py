"""Lookahead decoding: its contract and its settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truedraw import load
from truedraw.draft.lookahead import LookaheadDrafter
from truedraw.draft.none import NoDrafter
from truedraw.errors import BadParameter
from truedraw.generate.speculation import CHAINS, Speculation
from truedraw.protocol import Drafter, DraftState, LooksAhead, Proposal, Scores
from truedraw.registry import names
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import Scenario, drafter_checks, random_table, run
from truedraw.verify.coupled import CoupledVerifier

PROMPT = [1, 2, 3]
VOCAB = 40
KINDS = {
    "chain": {},
    "tree": {"lookahead_tree": True},
    "as the rule allows": {"trees": True},
    "pairs": {"lookahead_ngram": 2, "lookahead_window": 5, "lookahead_tree": True},
    "long, few": {"lookahead_ngram": 4, "lookahead_pool": 1, "lookahead_tree": True},
    "no window": {"lookahead_window": 0, "trees": True},
    "nothing of the prompt": {"lookahead_prompt": False, "lookahead_window": 1},
    "all": {"lookahead_scope": "all", "lookahead_tree": True},
}
CHECKS = [
    pytest.param(check, id=f"{kind}: {check}")
    for kind in KINDS
    for check in drafter_checks(lambda kind=kind: LookaheadDrafter(**KINDS[kind]))
    if not (kind == "all" and check.name == "states are apart")  # they are not: it was asked for
]


def saying(*tokens: int) -> Scores:
    """Rows of which each finds one token likeliest."""
    logits = np.zeros((len(tokens), VOCAB), np.float32)
    logits[range(len(tokens)), tokens] = 5.0
    return Scores(logits)


def drafts(drafter, state, budget=4) -> list[tuple[int, int]]:
    (proposal,) = drafter.propose([state], [budget], [None])
    assert proposal.laws == (None,) * len(proposal)
    return list(zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True))


@pytest.mark.parametrize("check", CHECKS)
def test_every_kind_keeps_the_contract(check) -> None:
    check()


@pytest.mark.parametrize("check", drafter_checks(lambda: LookaheadDrafter(trees=True), vocab_size=1000), ids=str)
def test_over_a_large_vocabulary(check) -> None:
    check()


def test_parts_are_what_the_protocol_asks_for() -> None:
    state = LookaheadDrafter().open(PROMPT, None)
    assert isinstance(LookaheadDrafter(), Drafter)
    for each in (state, state.ahead([5])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_ngrams_of_the_text_are_candidates_the_latest_first() -> None:
    drafter = LookaheadDrafter(lookahead_window=0, lookahead_tree=True)
    state = drafter.open([5, 6, 7, 5, 8, 9, 5, 6, 4, 5], None)
    assert drafts(drafter, state, 9) == [(6, -1), (4, 0), (8, -1), (9, 2), (7, 0)]
    assert drafts(drafter, state, 3) == [(6, -1), (4, 0), (8, -1)]
    state.commit([8, 3, 5], Scores(np.zeros((1, VOCAB), np.float32)))
    assert drafts(drafter, state, 2) == [(8, -1), (3, 0)]


def test_the_window_is_a_chain_with_a_column_behind_each_of_its_tokens() -> None:
    drafter = LookaheadDrafter(lookahead_window=2, lookahead_prompt=False, lookahead_tree=True)
    state = drafter.open([10, 11, 12, 13], None)
    first = [(10, -1), (11, 0), (12, 0), (13, 2)]  # columns (10, 11) and (12, 13)
    assert drafts(drafter, state, 4) == first
    state.commit([20], saying(0, 0, 21, 0, 22))
    assert drafts(drafter, state, 4) == [(11, -1), (21, 0), (13, 0), (22, 2)]
    for last, third in ((10, 21), (12, 22)):  # (10, 11, 21) and (12, 13, 22) are in the pool
        assert (third, 0) in drafts(drafter, state.ahead([last]), 4)


def test_columns_whose_places_have_passed_are_dropped() -> None:
    drafter = LookaheadDrafter(lookahead_window=2, lookahead_prompt=False, lookahead_tree=True)
    state = drafter.open([10, 11, 12, 13], None)
    drafts(drafter, state, 4)
    state.commit([10, 11], saying(10, 11, 21, 0, 22))  # the window came true
    assert drafts(drafter, state, 2) == [(13, -1), (22, 0)]


def test_rows_behind_candidates_and_behind_the_text_make_ngrams_too() -> None:
    drafter = LookaheadDrafter(lookahead_window=0, lookahead_tree=True)
    state = drafter.open([5, 6, 7, 5], None)
    assert drafts(drafter, state, 2) == [(6, -1), (7, 0)]
    state.commit([30], saying(31, 32, 33))
    found = {last: drafts(drafter, state.ahead([last]), 9) for last in (6, 7, 5)}
    assert found[6] == [(7, -1), (33, 0), (5, 0)]  # (6, 7, 33) is later than (6, 7, 5)
    assert found[7] == [(5, -1), (30, 0), (31, 0)]  # what came, then what was likeliest
    assert found[5] == [(6, -1), (32, 0), (7, 0)]


def test_a_chain_is_one_candidate_and_the_guesses_behind_it() -> None:
    drafter = LookaheadDrafter(lookahead_window=2, lookahead_ngram=2)
    state = drafter.open([5, 6, 7, 5], None)
    assert drafts(drafter, state) == [(6, -1), (6, 0), (7, 1)]  # guesses that begin with the text
    state.commit([30], saying(0, 1, 2, 3))
    assert drafts(drafter, state) == [(1, -1), (2, 0)]  # nothing begins with 30
    state.commit([5], saying(0, 11, 12))
    assert drafts(drafter, state, 3) == [(30, -1), (12, 0), (7, 1)]
    assert drafts(drafter, state, 1) == [(30, -1)]


def test_what_was_not_scored_is_not_learnt_and_the_window_moves_on() -> None:
    drafter = LookaheadDrafter(lookahead_window=2, lookahead_prompt=False, lookahead_tree=True)
    for scores in (saying(9), None, replace(saying(9, 8), proposal=Proposal.chain([30]))):
        state = drafter.open([10, 11, 12, 13], None)
        drafts(drafter, state, 4)
        state.commit([20], scores)
        assert drafts(drafter, state, 2) == [(12, -1), (13, 0)]
        assert drafts(drafter, state.ahead([10])) == []


def test_forced_tokens_in_front_move_the_window_and_keep_their_rows() -> None:
    drafter = LookaheadDrafter(lookahead_tree=True, lookahead_window=0)
    state = drafter.open([5, 6, 7, 5], None)
    state.commit([8, 9], replace(saying(0, 1, 2), proposal=Proposal.chain([8])))
    assert drafts(drafter, state.ahead([8]))[:1] == []
    assert drafts(drafter, state.ahead([5]), 2) == [(8, -1), (9, 0)]


def test_samples_share_a_pool_and_the_next_prompt_inherits_it() -> None:
    drafter = LookaheadDrafter(lookahead_window=0)
    first, second = drafter.open(PROMPT, None), drafter.open(PROMPT, None)
    first.commit([20, 21], None)
    assert drafts(drafter, second) == [(20, -1), (21, 0)]
    later = drafter.open([9, 3], None)
    assert drafts(drafter, later) == [(20, -1), (21, 0)]
    first.commit([3, 22, 23], None)
    assert drafts(drafter, second)[0] == (22, -1)
    assert drafts(drafter, later)[0] == (20, -1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lookahead_window", -1),
        ("lookahead_ngram", 1),
        ("lookahead_ngram", 2.5),
        ("lookahead_pool", 0),
        ("lookahead_prompt", 1),
        ("lookahead_tree", "yes"),
        ("lookahead_scope", "others"),
    ],
)
def test_bad_settings_are_refused_by_name(name, value) -> None:
    with pytest.raises(BadParameter, match=name):
        Speculation("lookahead", **{name: value})


@pytest.mark.parametrize("rule", [None, *names("verifiers")])
def test_a_tree_is_drafted_for_rules_that_take_one(rule) -> None:
    with load("tabular") as model:
        spec = {"method": "lookahead", "adaptive": False, "rejection_sample_method": rule}
        result = model.generate("the cat", n=2, seed=2, max_tokens=40, ignore_eos=True, speculative=spec)
        assert result.fallback is None
        assert result.stats.accepted > 0
        if rule in CHAINS:
            with pytest.raises(BadParameter, match=r"lookahead_tree: the rule takes chains only.*traversal"):
                Speculation(**spec, lookahead_tree=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_texts_whatever_is_known(kind) -> None:
    scenario = Scenario("seeded", random_table(4, 2, 81), {}, {"temperature": 0.6}, draft_tokens=5, max_tokens=60)
    plain = run(replace(scenario, draft_tokens=0), Seeds(), CoupledVerifier(), NoDrafter(), n=5)
    drafter = LookaheadDrafter(**KINDS[kind])
    for _ in range(3):  # with what the runs before left behind
        assert run(scenario, Seeds(), CoupledVerifier(), drafter, n=5) == plain


class Seeds:
    def sample(self, index):
        return PhiloxRandomness(23, index)
