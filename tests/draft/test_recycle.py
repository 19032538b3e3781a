"""Token recycling: its contract, what it learns from a round, and what it drafts from that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from suffix_drafts import drafts

from truedraw import load
from truedraw.draft.none import NoDrafter
from truedraw.draft.recycle import RecycleDrafter
from truedraw.errors import BadParameter
from truedraw.generate.speculation import CHAINS, Speculation
from truedraw.protocol import Drafter, DraftState, LooksAhead, Proposal, Scores
from truedraw.registry import find, names
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import Scenario, drafter_checks, random_table, run
from truedraw.verify.coupled import CoupledVerifier

PROMPT = [1, 2, 3]
VOCAB = 40
KINDS = {
    "chain": {},
    "tree": {"recycle_tree": True, "recycle_min_token_prob": 0.0},
    "as the rule allows": {"trees": True},
    "two followers of three tokens": {"recycle_top_k": 2, "recycle_max_tokens": 3, "recycle_tree": True},
    "one token": {"recycle_max_tokens": 1, "recycle_min_token_prob": 0.0},
    "all": {"recycle_scope": "all", "recycle_tree": True},
}
CHECKS = [
    pytest.param(check, id=f"{kind}: {check}")
    for kind in KINDS
    for check in drafter_checks(lambda kind=kind: RecycleDrafter(**KINDS[kind]))
    if not (kind == "all" and check.name == "states are apart")  # they are not: it was asked for
]


def rows(*best: dict[int, float]) -> Scores:
    """Logits under which the tokens of each row have these probabilities, and the others share the rest."""
    table = []
    for row in best:
        p = np.full(VOCAB, (1 - sum(row.values())) / (VOCAB - len(row)))
        p[list(row)] = list(row.values())
        table.append(p)
    with np.errstate(divide="ignore"):
        return Scores(np.log(table).astype(np.float32))


@pytest.mark.parametrize("check", CHECKS)
def test_every_kind_keeps_the_contract(check) -> None:
    check()


@pytest.mark.parametrize("check", drafter_checks(lambda: RecycleDrafter(trees=True), vocab_size=1000), ids=str)
def test_over_a_large_vocabulary(check) -> None:
    check()


def test_parts_are_what_the_protocol_asks_for() -> None:
    state = RecycleDrafter().open(PROMPT, None)
    assert isinstance(RecycleDrafter(), Drafter)
    for each in (state, state.ahead([5])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_what_followed_in_the_prompt_comes_first() -> None:
    drafter = RecycleDrafter()
    assert drafts(drafter, drafter.open([7, 8, 9, 7], None)) == [8, 9, 7, 8]
    assert drafts(drafter, drafter.open([6], None)) == []


def test_a_row_says_what_follows_its_token() -> None:
    drafter = RecycleDrafter(recycle_tree=True, recycle_min_token_prob=0.1)
    state = drafter.open([5], None)
    state.commit([6], rows({5: 0.5, 7: 0.3}))
    state.commit([5], rows({7: 0.9}))
    (proposal,) = drafter.propose([state], [9], [None])
    found = list(zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True))
    assert found == [(5, -1), (7, -1), (5, 0), (7, 0), (5, 2)]  # .5 .3 .25 .15 .125
    assert np.allclose(proposal.confidence, [0.5, 0.3, 0.5, 0.3, 0.5], atol=2e-3)
    assert drafts(drafter, state.ahead([6]), 2) == [7]


def test_rows_behind_drafts_are_learnt_and_those_of_the_text_win() -> None:
    drafter = RecycleDrafter(recycle_tree=True)
    state = drafter.open([5], None)
    state.commit([5], rows({6: 0.5, 7: 0.4}))
    assert drafts(drafter, state, 2) == [6, 7]
    state.commit([6, 9], rows({6: 0.8}, {9: 0.9}, {4: 0.9}))
    assert drafts(drafter, state.ahead([7]), 1) == [4]  # it was dropped
    assert drafts(drafter, state.ahead([6]), 1) == [9]
    assert drafts(drafter, state.ahead([5]), 1) == [6]


def test_the_text_wins_over_a_dropped_draft_of_the_same_token() -> None:
    drafter = RecycleDrafter()
    state = drafter.open([5], None)
    tree = Proposal(np.array([6, 7, 6]), np.array([-1, -1, 1]), (None,) * 3)
    state.commit([6, 8], replace(rows({6: 0.5}, {8: 0.9}, {6: 0.9}, {9: 0.9}), proposal=tree))
    assert drafts(drafter, state.ahead([6]), 1) == [8]


def test_the_scored_proposal_counts_and_not_the_drafters_own() -> None:
    """Parts of it may have been left out, and tokens that had to come stand in front."""
    drafter = RecycleDrafter(recycle_tree=True)
    state = drafter.open([5], None)
    state.commit([5], rows({6: 0.5, 7: 0.4}))
    assert drafts(drafter, state, 2) == [6, 7]
    state.commit([30], replace(rows({6: 0.5}, {31: 0.9}), proposal=Proposal.chain([7])))
    assert drafts(drafter, state.ahead([7]), 1) == [31]
    assert drafts(drafter, state.ahead([6])) == []


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_rows_may_be_missing(missing) -> None:
    drafter = RecycleDrafter(recycle_tree=True)
    state = drafter.open([5], None)
    state.commit([5], rows({6: 0.5, 7: 0.4}))
    drafts(drafter, state, 2)
    state.commit([8], rows(*[{6: 0.5}, {10: 0.9}, {11: 0.9}][: 3 - missing]))
    assert [drafts(drafter, state.ahead([t]), 1) for t in (6, 7)] == [[10], [11]][: 2 - missing] + [[]] * missing


def test_a_round_without_drafts_does_not_use_the_drafts_of_an_earlier_one() -> None:
    drafter = RecycleDrafter(recycle_tree=True)
    state = drafter.open([5], None)
    state.commit([5], rows({6: 0.5, 7: 0.4}))
    drafts(drafter, state, 2)
    state.commit([5], rows({6: 0.5, 7: 0.4}, {10: 0.9}, {11: 0.9}))
    state.commit([5], rows({6: 0.5, 7: 0.4}, {12: 0.9}, {13: 0.9}))  # of a proposal that nobody told of
    assert drafts(drafter, state.ahead([6]), 1) == [10]


def test_rows_without_a_law_are_left_out() -> None:
    drafter = RecycleDrafter()
    state = drafter.open([5], None)
    for value in (np.nan, np.inf, -np.inf):
        state.commit([5], Scores(np.full((1, VOCAB), value, np.float32)))
    assert drafts(drafter, state) == []


def test_what_is_impossible_is_never_drafted() -> None:
    drafter = RecycleDrafter(recycle_tree=True, recycle_min_token_prob=0.0)
    state = drafter.open([5], None)
    state.commit([5], rows({6: 0.6, 7: 0.4}))
    assert set(drafts(drafter, state, 20)) <= {6, 7}


def test_unlikely_tokens_are_not_drafted() -> None:
    for floor, expected in ((0.3, [6]), (0.6, [])):
        drafter = RecycleDrafter(recycle_tree=True, recycle_min_token_prob=floor)
        state = drafter.open([5], None)
        state.commit([5], rows({6: 0.5, 7: 0.2}))
        assert drafts(drafter, state) == expected


def test_samples_share_a_table_and_the_next_prompt_inherits_it() -> None:
    drafter = RecycleDrafter()
    first, second = drafter.open(PROMPT, None), drafter.open(PROMPT, None)
    first.commit([9], rows({20: 0.9}))
    assert drafts(drafter, second, 1) == [20]
    later = drafter.open([8, 3], None)
    assert drafts(drafter, later, 1) == [20]
    first.commit([3], rows({21: 0.9}))
    first.commit([3], rows({21: 0.9}))
    assert drafts(drafter, second, 1) == [21]
    assert drafts(drafter, later, 1) == [20]  # two prompts that run side by side are apart
    del first, second, later
    assert drafts(drafter, drafter.open(PROMPT, None), 1) == [20]


def test_one_table_for_all_if_asked_for() -> None:
    drafter = RecycleDrafter(recycle_scope="all")
    first, other = drafter.open(PROMPT, None), drafter.open([4, 3], None)
    first.commit([9], rows({20: 0.9}))
    assert drafts(drafter, other, 1) == [20]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recycle_top_k", 0),
        ("recycle_top_k", 65),
        ("recycle_top_k", 2.5),
        ("recycle_min_token_prob", -0.1),
        ("recycle_min_token_prob", float("nan")),
        ("recycle_max_tokens", 0),
        ("recycle_tree", 1),
        ("recycle_scope", "others"),
    ],
)
def test_bad_settings_are_refused_by_name(name, value) -> None:
    with pytest.raises(BadParameter, match=name):
        Speculation("recycle", **{name: value})


@pytest.mark.parametrize("rule", [None, *names("verifiers")])
def test_a_tree_is_drafted_for_rules_that_take_one(rule) -> None:
    with load("tabular") as model:
        spec = {"method": "recycle", "adaptive": False, "rejection_sample_method": rule}
        result = model.generate("the cat", n=2, seed=2, max_tokens=40, ignore_eos=True, speculative=spec)
        assert result.fallback is None
        assert result.stats.accepted > 0
        if rule in CHAINS:
            with pytest.raises(BadParameter, match=r"recycle_tree: the rule takes chains only.*traversal"):
                Speculation(**spec, recycle_tree=True)


@pytest.mark.parametrize("method", ["recycle", "lookahead"])
@pytest.mark.parametrize("rule", names("verifiers"))
def test_a_part_of_another_drafter_drafts_for_the_rule_of_the_run(rule, method) -> None:
    """Its own config does not name that rule."""
    drafter = Speculation(method, num_speculative_tokens=4).drafter(find("verifiers", rule)())
    state = drafter.open([5, 6, 7, 5, 8, 9, 5], None)
    (proposal,) = drafter.propose([state], [4], [None])
    assert len(proposal) > 2
    assert np.array_equal(proposal.parents, np.arange(len(proposal)) - 1) == (rule in CHAINS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_texts_whatever_is_known(kind) -> None:
    scenario = Scenario("seeded", random_table(4, 2, 81), {}, {"temperature": 0.6}, draft_tokens=5, max_tokens=60)
    plain = run(replace(scenario, draft_tokens=0), Seeds(), CoupledVerifier(), NoDrafter(), n=5)
    drafter = RecycleDrafter(**KINDS[kind])
    for _ in range(3):  # with what the runs before left behind
        assert run(scenario, Seeds(), CoupledVerifier(), drafter, n=5) == plain


class Seeds:
    def sample(self, index):
        return PhiloxRandomness(23, index)
