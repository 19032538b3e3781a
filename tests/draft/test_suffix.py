"""Suffix decoding: its contract, its settings and what texts see of one another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from suffix_drafts import PROMPT, drafts, with_text

from truedraw.draft.none import NoDrafter
from truedraw.draft.suffix import SuffixDrafter
from truedraw.errors import BadParameter
from truedraw.generate.making import CHAINS
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Drafter, DraftState, LooksAhead
from truedraw.registry import names
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import Scenario, drafter_checks, random_table, run
from truedraw.verify.coupled import CoupledVerifier

KINDS = {
    "tree": {"suffix_decoding_tree": True, "suffix_decoding_max_spec_factor": 4.0},
    "alone": {"suffix_decoding_scope": "text"},
    "all, nothing too unlikely": {"suffix_decoding_scope": "all", "suffix_decoding_min_token_prob": 0.0},
    "nothing kept": {"suffix_decoding_max_cached_requests": 0},
    "one kept": {"suffix_decoding_max_cached_requests": 1, "suffix_decoding_scope": "all"},
    "shallow": {"suffix_decoding_max_tree_depth": 2},
}
CHECKS = [
    pytest.param(kind, check, id=f"{kind}: {check}")
    for kind in KINDS
    for check in drafter_checks(lambda kind=kind: SuffixDrafter(**KINDS[kind]))
    if not (kind == "all, nothing too unlikely" and check.name == "states are apart")  # they are not: it was asked for
]


@pytest.mark.parametrize(("kind", "check"), CHECKS)
def test_every_kind_keeps_the_contract(kind, check) -> None:
    check()


@pytest.mark.parametrize("check", drafter_checks(SuffixDrafter, vocab_size=1000), ids=str)
def test_over_a_large_vocabulary(check) -> None:
    check()


def test_parts_are_what_the_protocol_asks_for() -> None:
    state = SuffixDrafter().open(PROMPT, None)
    assert isinstance(SuffixDrafter(), Drafter)
    for each in (state, state.ahead([5])):
        assert isinstance(each, DraftState)
        assert isinstance(each, LooksAhead)


def test_much_is_drafted_where_much_agrees() -> None:
    lengths = []
    for agreeing in range(1, 6):
        drafter = SuffixDrafter(suffix_decoding_max_spec_factor=1.5)
        state = with_text(drafter, [10, 11, 12, 13, 14, *range(20, 40), 90, *[10, 11, 12, 13, 14][-agreeing:]])
        lengths.append(len(drafts(drafter, state, 20)))
    assert lengths == [int(1.5 * n) for n in range(1, 6)]


def test_unlikely_tokens_are_not_drafted() -> None:
    text = [5, 6, 0, 5, 7, 1, 5, 8, 2, 5]  # three tokens followed 5
    for floor, expected in ((0.3, 1), (0.4, 0)):
        drafter = SuffixDrafter(suffix_decoding_min_token_prob=floor, suffix_decoding_max_spec_factor=1)
        assert len(drafts(drafter, with_text(drafter, text))) == expected


def test_a_tree_branches_and_a_chain_does_not() -> None:
    text = [5, 6, 1, 5, 7, 2, 5, 6, 1, 8, 5]
    shapes = {}
    for tree in (False, True):
        drafter = SuffixDrafter(suffix_decoding_tree=tree, suffix_decoding_max_spec_factor=3)
        (proposal,) = drafter.propose([with_text(drafter, text)], [3], [None])
        shapes[tree] = proposal.tokens.tolist(), proposal.parents.tolist()
    assert shapes[False] == ([6, 1, 8], [-1, 0, 1])
    assert shapes[True] == ([6, 1, 7], [-1, 0, -1])


def test_samples_of_a_prompt_see_what_the_others_wrote_at_once() -> None:
    drafter = SuffixDrafter(suffix_decoding_max_spec_factor=1)
    first, second = (drafter.open(PROMPT, None) for _ in range(2))
    assert drafts(drafter, second) == []
    first.commit([7, 8, 9, 4, 5])
    assert drafts(drafter, second) == [7, 8, 9]
    second.commit([7])
    assert drafts(drafter, second) == [8, 9, 4, 5]


def test_the_more_frequent_continuation_is_drafted() -> None:
    drafter = SuffixDrafter()
    for token in (7, 8, 8, 9):
        with_text(drafter, [token, 5])
    assert drafts(drafter, drafter.open(PROMPT, None), 1) == [8]


def test_a_longer_suffix_counts_more_than_a_frequent_one() -> None:
    drafter = SuffixDrafter()
    for _ in range(3):
        with_text(drafter, [9, 5, 6])
    state = with_text(drafter, [4, 5, 7, 0, 4, 5])
    assert drafts(drafter, state, 1) == [7]


def test_what_a_scope_shows() -> None:
    found = {}
    for scope in ("text", "prompt", "all"):
        drafter = SuffixDrafter(suffix_decoding_scope=scope)
        with_text(drafter, [7, 8], prompt=[1, 2, 3])
        with_text(drafter, [7, 9], prompt=[6, 6, 3])
        found[scope] = [drafts(drafter, drafter.open(p, None), 1) for p in ([1, 2, 3], [0, 2, 3])]
    assert found == {"text": [[], []], "prompt": [[7], []], "all": [[7], [7]]}


def test_the_texts_of_the_same_prompt_come_first() -> None:
    drafter = SuffixDrafter(suffix_decoding_scope="all")
    for _ in range(3):
        with_text(drafter, [7], prompt=[6, 2, 3])
    with_text(drafter, [8], prompt=[2, 3])
    assert drafts(drafter, drafter.open([2, 3], None), 1) == [8]


def test_a_look_ahead_leaves_everything_as_it_is() -> None:
    drafter = SuffixDrafter()
    state = with_text(drafter, [4, 5, 6, 7, 4])
    ahead = state.ahead([5])
    assert drafts(drafter, ahead, 2) == [6, 7]
    ahead.commit([6])
    assert drafts(drafter, ahead, 3) == [7, 4, 5]
    assert drafts(drafter, ahead.ahead([99])) == []
    assert drafts(drafter, state, 1) == [5]
    state.commit([5, 6])
    assert drafts(drafter, state, 1) == [7]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("suffix_decoding_max_tree_depth", 1),
        ("suffix_decoding_max_tree_depth", 2.5),
        ("suffix_decoding_max_cached_requests", -1),
        ("suffix_decoding_max_cached_bytes", "much"),
        ("suffix_decoding_max_spec_factor", -0.5),
        ("suffix_decoding_max_spec_factor", float("nan")),
        ("suffix_decoding_min_token_prob", 1.5),
        ("suffix_decoding_tree", 1),
        ("suffix_decoding_scope", "others"),
    ],
)
def test_bad_settings_are_refused_by_name(name, value) -> None:
    with pytest.raises(BadParameter, match=name):
        SuffixDrafter(**{name: value})


@pytest.mark.parametrize("name", ["suffix_decoding_max_cached_requests", "suffix_decoding_max_cached_bytes"])
def test_what_is_kept_for_others_where_no_text_looks_at_another(name: str) -> None:
    with pytest.raises(BadParameter, match=rf'^{name}: got 7, but .*"text".*; leave one of the two out'):
        SuffixDrafter(suffix_decoding_scope="text", **{name: 7})
    for scope, kept in (("text", 0), ("prompt", 7)):
        SuffixDrafter(suffix_decoding_scope=scope, **{name: kept})


@pytest.mark.parametrize("rule", [None, *names("verifiers")])
def test_a_tree_is_refused_where_the_rule_takes_chains_only(rule) -> None:
    tree = {"method": "suffix", "suffix_decoding_tree": True}
    for spec in (tree, {"method": "auto", "auto_sources": [tree]}):
        if rule in CHAINS:
            with pytest.raises(BadParameter, match=r"suffix_decoding_tree: the rule takes chains only.*traversal"):
                Speculation(**spec, rejection_sample_method=rule)
        else:
            Speculation(**spec, rejection_sample_method=rule)
        Speculation("suffix", suffix_decoding_tree=False, rejection_sample_method=rule)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_texts_whatever_is_known(kind) -> None:
    scenario = Scenario("seeded", random_table(4, 2, 81), {}, {"temperature": 0.6}, draft_tokens=5, max_tokens=60)
    plain = run(replace(scenario, draft_tokens=0), Seeds(), CoupledVerifier(), NoDrafter(), n=5)
    drafter = SuffixDrafter(**KINDS[kind])
    for _ in range(3):  # with what the runs before left behind
        assert run(scenario, Seeds(), CoupledVerifier(), drafter, n=5) == plain


class Seeds:
    def sample(self, index):
        return PhiloxRandomness(23, index)
