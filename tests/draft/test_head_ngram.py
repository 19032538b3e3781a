"""A head and counts in one q: the contract, the law of every node written down, what it learns, and its settings."""

from __future__ import annotations

import numpy as np
import pytest

from draft.blended import both, by_definition, counted
from draft.given_trees import Given
from draft.head.seeing import KNOWN, SAYS, Fed, TableCell, features, seen
from known_laws import random_table
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head_ngram import HeadNgramDrafter
from truedraw.draft.head_ngram_weights import FIRST, GRID, Fixed, Weights
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Settled, Siblings
from truedraw.draft.tempering import Tempering
from truedraw.draft.trees import Trees
from truedraw.errors import BadParameter
from truedraw.protocol import ROOT, Drafter, DraftState, Proposal, Purpose, Scores, Shapes, SparseLaw
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks

SHAPE = (((0, 2),), ((0, 2), (1, 1)), ((1, 1), (2, 1)))  # 7 nodes over three levels
TEXT = [0, 1, 2, 0, 1, 2, 0]


def law(vocab=3, **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), vocab))


def one(drafter, text=TEXT, target=None, budget=9, seed=1) -> Proposal:
    return drafter.propose([seen(drafter, text, target or law())], [budget], [PhiloxRandomness(seed)])[0]


def fed(vocab, known, trees=None, online="text", **more) -> HeadNgramDrafter:
    table = random_table(vocab, 1 if vocab > 5 else 2, 45)
    shapes = trees or Trees(Settled((0.5, 0.4, 0.3)), 4)
    return HeadNgramDrafter.over(Fed.over(TableCell(table, known), shapes, vocab, **more), counted(vocab, online))


# --------------------------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("kind", ["best trees", "chains", "two levels", "greedy"])
def test_it_keeps_the_contract_of_a_drafter(kind, known) -> None:
    kinds = {
        "best trees": dict,
        "chains": lambda: {"trees": Trees(Settled((0.5,)), 4, chains=True)},
        "two levels": lambda: {"trees": Given((((0, 2),), ((0, 1),)))},
        "greedy": lambda: {"knobs": Knobs(draft_sample_method="greedy")},
    }
    for check in drafter_checks(lambda: fed(3, KNOWN[known], **kinds[kind]()), 3):
        check()


@pytest.mark.parametrize("online", ["text", "prompt"])
def test_coupled_over_many_tokens_it_keeps_the_contract(online) -> None:
    for check in drafter_checks(lambda: fed(50, range(0, 50, 2), online=online, coupled=True), 50):
        check()


def test_the_suite_would_not_pass_if_nothing_were_drafted() -> None:
    drafter = fed(3, KNOWN["all"])
    assert len(drafter.propose([drafter.open([0, 1], law())], [4], [PhiloxRandomness(1)])[0]) == 4


def test_parts_are_what_the_protocol_asks_for() -> None:
    drafter = both(SHAPE)
    assert isinstance(drafter, Drafter)
    state = drafter.open([0], law())
    assert isinstance(state, DraftState)
    assert isinstance(state, Shapes)


# --------------------------------------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("seed", range(6))
def test_each_node_comes_with_the_law_it_was_drawn_from(seed, known) -> None:
    proposal = one(both(SHAPE, KNOWN[known]), target=law(temperature=0.7), seed=seed)
    assert len(proposal) == 7
    chance, paths, taken = PhiloxRandomness(seed), {ROOT: []}, {}
    for node, (token, parent, q) in enumerate(
        zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    ):
        expected = by_definition(TEXT, paths[parent], KNOWN[known], 0.7)
        expected[taken.setdefault(parent, [])] = 0.0
        expected /= expected.sum()
        assert isinstance(q, SparseLaw)
        np.testing.assert_allclose(q.dense(), expected, atol=1e-5)
        assert token == chance.choose(q.dense(), Purpose.DRAFT, len(TEXT), node)
        taken[parent].append(token)
        paths[node] = [*paths[parent], token]


def test_what_the_head_does_not_know_can_come() -> None:
    drawn = {
        token for seed in range(20) for token in one(both((((0, 1),),)), [0, 2, 1, 0, 2], seed=seed).tokens.tolist()
    }
    assert 1 in drawn
    assert 1 not in KNOWN["two of three"]


def test_it_follows_the_text_through_its_rounds() -> None:
    drafter = both((((0, 1),),), KNOWN["all"])
    state, text = seen(drafter, TEXT[:3], law()), TEXT[:3]
    for token in (0, 1, 1, 2, 0, 1):
        (proposal,) = drafter.propose([state], [1], [PhiloxRandomness(4)])
        np.testing.assert_allclose(proposal.laws[0].dense(), by_definition(text, [], (0, 1, 2)), atol=1e-5)
        state.commit([token], Scores(np.zeros((1, 3)), features(text, 3)[None], Proposal.chain(())))
        text = [*text, token]


@pytest.mark.parametrize("seed", range(5))
def test_with_the_targets_noise_candidates_are_the_first_in_its_race(seed) -> None:
    proposal = one(both((((0, 2),),), KNOWN["all"], coupled=True), seed=seed)
    assert proposal.laws == (None, None)
    chance, q = PhiloxRandomness(seed), by_definition(TEXT, [], (0, 1, 2))
    first = chance.choose(q, Purpose.TARGET, len(TEXT))
    q[first] = 0.0
    assert proposal.tokens.tolist() == [first, chance.choose(q / q.sum(), Purpose.TARGET, len(TEXT))]


def test_nothing_is_drafted_where_the_law_rules_out_all_that_is_known() -> None:
    known = one(both((((0, 2),),), (0,)), [0, 0, 0], law(allowed_token_ids=[1]))
    assert len(known) == 0
    by_counts = one(both((((0, 2),),), (0,)), [0, 1, 0], law(allowed_token_ids=[1]))  # these know it
    assert by_counts.tokens.tolist() == [1]
    (q,) = by_counts.laws
    assert q[1] == pytest.approx(1.0)


def test_texts_draft_together_and_as_they_do_alone() -> None:
    drafter = both(SHAPE, KNOWN["all"])
    texts = [TEXT, [2, 1], [1, 1, 1, 0, 2], [0, 2], [2, 2, 2]]
    states = [seen(drafter, text, law(temperature=0.5 + number / 4)) for number, text in enumerate(texts)]
    budgets, chances = [9, 3, 9, 0, 9], [PhiloxRandomness(5, number) for number in range(5)]
    together = drafter.propose(states, budgets, chances)
    assert [len(each) for each in together] == [7, 0, 7, 0, 7]
    for number, proposal in enumerate(together):
        (alone,) = drafter.propose([states[number]], [budgets[number]], [chances[number]])
        assert np.array_equal(alone.tokens, proposal.tokens)
        for p, q in zip(alone.laws, proposal.laws, strict=True):
            assert np.array_equal(p.weights, q.weights)


def test_nothing_is_drafted_before_the_target_has_shown_anything() -> None:
    drafter = both(SHAPE)
    state = drafter.open(TEXT, law())
    assert len(drafter.propose([state], [9], [PhiloxRandomness(1)])[0]) == 0


# ------------------------------------------------------------------------------------------------ what it learns


def test_weights_are_learnt_where_it_drafted() -> None:
    """The overlaps by their definition, at the place behind the text, under the law that drafts are drawn from."""
    weights, told = Weights(), []
    weights.due, weights.saw = lambda matched: True, lambda *each: told.append(each)
    drafter = both((((0, 2),), ((0, 1),)), weights=weights)
    state = seen(drafter, TEXT, law(temperature=0.8))
    drafter.propose([state], [3], [PhiloxRandomness(1)])
    said = np.array([0.3, -1.0, 2.0], np.float32)
    state.commit([0], Scores(said[None], features(TEXT, 3)[None], Proposal.chain([])))
    ((matched, overlaps),) = told
    p = law(temperature=0.8)(said)
    expected = [np.minimum(p, by_definition(TEXT, [], (0, 2), 0.8, [weight] * 5)).sum() for weight in GRID]
    assert matched == 3
    np.testing.assert_allclose(overlaps, expected, atol=1e-5)
    state.commit([1], Scores(said[None]))
    assert len(told) == 1


def test_weights_of_nothing_are_learnt_as_well() -> None:
    weights, told = Weights(), []
    weights.due, weights.saw = lambda matched: True, lambda *each: told.append(each)
    drafter = both((((0, 2),),), weights=weights)
    state = seen(drafter, [0, 1, 2], law())
    drafter.propose([state], [2], [PhiloxRandomness(1)])
    state.commit([0], Scores(np.array([[0.3, -1.0, 2.0]], np.float32)))
    ((matched, overlaps),) = told
    assert weights.now()[matched] == 0.0
    assert len(set(overlaps.round(4).tolist())) > 3


def test_with_a_law_of_its_own_it_learns_what_the_target_keeps() -> None:
    weights, told = Weights(), []
    weights.due, weights.saw = lambda matched: True, lambda matched, overlaps: told.append(overlaps)
    drafter = both((((0, 1),),), weights=weights, knobs=Knobs(draft_temperature=1.5))
    state = seen(drafter, TEXT, law(temperature=0.8))
    drafter.propose([state], [1], [PhiloxRandomness(1)])
    said = np.array([0.3, -1.0, 2.0], np.float32)
    state.commit([0], Scores(said[None]))
    p = law(temperature=0.8)(said)
    expected = [np.minimum(p, by_definition(TEXT, [], (0, 2), 1.5, [weight] * 5)).sum() for weight in GRID]
    np.testing.assert_allclose(told, [expected], atol=1e-5)


def test_the_temperature_is_tuned_for_the_mixture() -> None:
    drafter, told = both((((0, 1),),)), []
    drafter._head._tempering = Tempering()
    state = seen(drafter, TEXT, law())
    (tuner,) = drafter._head._tempering._tuners.values()
    tuner.saw, tuner.due = told.append, lambda: True
    drafter.propose([state], [1], [PhiloxRandomness(1)])
    said = np.array([0.3, -1.0, 2.0], np.float32)
    state.commit([0], Scores(said[None]))
    p = law()(said)
    assert told[0][0] == pytest.approx(np.minimum(p, by_definition(TEXT, [], (0, 2))).sum(), abs=1e-5)


def test_it_learns_how_often_candidates_are_kept() -> None:
    known, told = Siblings((0.4, 0.6)), []
    known.saw = lambda offered, kept: told.append((offered, kept))
    inner = HeadDrafter.over(TableCell(), Trees(known, 4), 3)
    drafter = HeadNgramDrafter.over(inner, counted())
    state = seen(drafter, TEXT, law())
    (proposal,) = drafter.propose([state], [2], [PhiloxRandomness(1)])
    state.commit([int(proposal.tokens[1]), 0], Scores(np.zeros((3, 3)), proposal=proposal))
    assert told == [(2, 1)]
    assert state.worths(2) == state.head.worths(2) is not None


@pytest.mark.parametrize("best", [0.02, 0.3, 0.95])
def test_a_class_of_places_finds_its_best_weight_and_the_others_stay(best) -> None:
    weights, rng = Weights(), np.random.default_rng(1)
    assert weights.now() == FIRST
    for _ in range(300):
        weights.saw(2, 0.5 - 0.1 * np.abs(np.array(GRID) - best) + 0.01 * rng.normal(size=len(GRID)))
    assert weights.now()[2] == pytest.approx(best, abs=0.13)
    assert [weight for number, weight in enumerate(weights.now()) if number != 2] == [*FIRST[:2], *FIRST[3:]]


def test_counts_that_weigh_nothing_are_not_looked_up() -> None:
    drafter, asked = both((((0, 2),),), (0, 2)), []
    source = drafter._parts.texts.source
    looked_up = source.counted
    source.counted = lambda place: asked.append(place) or looked_up(place)
    assert len(one(drafter, [0, 1, 2], law()))
    assert not asked
    assert len(one(drafter, [0, 1, 2, 0, 1, 2, 0, 1], law()))  # three tokens match
    assert len(asked) == 1


def test_places_to_learn_from_become_rare_and_outside_a_run_there_are_none() -> None:
    weights = Weights()
    assert [weights.due(1) for _ in range(4)] == [False, False, False, True]
    assert not any(weights.due(0) for _ in range(3))  # each class of places for itself
    assert not any(Fixed().due(0) for _ in range(100))


# ------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(("settings", "name"), [
    ({"ngram_lm_order": 0}, "ngram_lm_order"), ({"ngram_lm_order": 6}, "ngram_lm_order"),
    ({"ngram_lm_online": "some"}, "ngram_lm_online"), ({"ngram_lm_path": 3}, "ngram_lm_path"),
    ({"ngram_lm_path": "", "ngram_lm_online": "none"}, "ngram_lm_online"),
    ({"ngram_lm_path": "", "head_depth": 0}, "head_depth"), ({"ngram_lm_path": "", "head_depth": "3"}, "head_depth"),
    ({"ngram_lm_path": "", "refit": 1}, "refit"),
], ids=str)  # fmt: skip
def test_nonsense_is_refused(settings, name) -> None:
    with pytest.raises(BadParameter, match=name):
        HeadNgramDrafter(3, models=None, **settings)


def test_the_head_of_these_tests_lacks_a_token_that_its_table_has() -> None:
    assert SAYS[(0, 0)][1] > 0
