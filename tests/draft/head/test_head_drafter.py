"""The head as a drafter: its contract, the law of every node written down, and what it reads of a round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from draft.given_trees import Given
from draft.head.seeing import KNOWN, SAYS, TARGET, Fed, SeeingEngine, TableCell, case, features, head, seen, text_of
from known_laws import lookup, random_table
from truedraw.draft.head import known_rows
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.reading import Reading, features_along
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import EVERY, Settled, Siblings
from truedraw.draft.tempering import RATIOS, Tempering
from truedraw.draft.trees import Trees
from truedraw.errors import BadParameter
from truedraw.protocol import ROOT, Drafter, DraftState, Proposal, Purpose, Scores, Shapes, SparseLaw, Work
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks

SHAPE = (((0, 2),), ((0, 2), (1, 1)), ((1, 1), (2, 1)))  # 7 nodes over three levels
TEXT = [0, 1, 2, 0]


def law(vocab=3, **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), vocab))


def one(drafter, text=TEXT, target=None, budget=9, seed=1) -> Proposal:
    return drafter.propose([seen(drafter, text, target or law())], [budget], [PhiloxRandomness(seed)])[0]


def fed(vocab, known, trees=None, **more) -> Fed:
    table = random_table(vocab, 1 if vocab > 5 else 2, 45)
    return Fed.over(TableCell(table, known), trees or Trees(Settled((0.5, 0.4, 0.3)), 4), vocab, **more)


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


def test_coupled_over_many_tokens_it_keeps_the_contract() -> None:
    for check in drafter_checks(lambda: fed(50, range(0, 50, 2), coupled=True), 50):
        check()


def test_the_suite_would_not_pass_if_nothing_were_drafted() -> None:
    drafter = fed(3, KNOWN["all"])
    assert len(drafter.propose([drafter.open([0, 1], law())], [4], [PhiloxRandomness(1)])[0]) == 4


def test_parts_are_what_the_protocol_asks_for() -> None:
    drafter = head(SHAPE)
    assert isinstance(drafter, Drafter)
    assert isinstance(drafter.open([0], law()), DraftState)


# --------------------------------------------------------------------------------------------------- what is drawn


def by_definition(text, known, temperature=1.0) -> np.ndarray:
    """q [3] behind a text: the table's row of its last two tokens, of what the head knows."""
    row = np.array(lookup(SAYS, text[-2:]))
    q = np.zeros(3)
    q[list(known)] = row[list(known)] ** (1 / temperature)
    return q / q.sum()


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("seed", range(6))
def test_each_node_comes_with_the_law_it_was_drawn_from(seed, known) -> None:
    proposal = one(head(SHAPE, KNOWN[known]), target=law(temperature=0.7), seed=seed)
    assert len(proposal) == 7
    chance, paths, taken = PhiloxRandomness(seed), {ROOT: TEXT}, {}
    for node, (token, parent, q) in enumerate(
        zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    ):
        whole = by_definition(paths[parent], KNOWN[known], 0.7)
        expected = whole.copy()
        expected[taken.setdefault(parent, [])] = 0.0
        expected /= expected.sum()
        assert isinstance(q, SparseLaw)
        np.testing.assert_allclose(q.dense(), expected, atol=1e-6)
        assert token == chance.choose(q.dense(), Purpose.DRAFT, len(TEXT), node)
        sure = whole @ whole
        assert proposal.confidence[node] == pytest.approx(sure * (1 - sure) ** len(taken[parent]), abs=1e-6)
        taken[parent].append(token)
        paths[node] = [*paths[parent], token]


def test_a_place_with_fewer_tokens_than_candidates_and_what_would_stand_behind_them() -> None:
    proposal = one(head((((0, 3),), ((0, 1), (1, 1), (2, 2))), KNOWN["two of three"]))
    assert proposal.parents.tolist() == [ROOT, ROOT, 0, 1]
    assert set(proposal.tokens[:2].tolist()) == {0, 2}
    greedy = one(head(SHAPE, KNOWN["all"], knobs=Knobs(draft_top_k=1)))
    assert greedy.parents.tolist() == [ROOT, 0]  # the law leaves one token everywhere


@pytest.mark.parametrize("seed", range(5))
def test_with_the_targets_noise_candidates_are_the_first_in_its_race(seed) -> None:
    proposal = one(head((((0, 2),), ((1, 1),)), KNOWN["all"], coupled=True), seed=seed)
    assert proposal.laws == (None, None, None)
    chance, q = PhiloxRandomness(seed), by_definition(TEXT, (0, 1, 2))
    first = chance.choose(q, Purpose.TARGET, len(TEXT))
    assert proposal.tokens[0] == first
    q[first] = 0.0
    second = chance.choose(q / q.sum(), Purpose.TARGET, len(TEXT))
    assert proposal.tokens[1] == second
    behind = by_definition([*TEXT, second], (0, 1, 2))
    assert proposal.tokens[2] == chance.choose(behind, Purpose.TARGET, len(TEXT) + 1)


@pytest.mark.parametrize("params", [
    {"top_k": 2}, {"top_p": 0.6}, {"min_p": 0.3}, {"temperature": 0}, {"repetition_penalty": 1.5},
    {"presence_penalty": 1.0}, {"logit_bias": {0: -100.0}}, {"bad_words": [[2]]}, {"typical_p": 0.5},
    {"mirostat": 2, "mirostat_tau": 2.0}, {"min_tokens": 3}, {"xtc_probability": 1.0, "xtc_threshold": 0.1},
], ids=str)  # fmt: skip
def test_the_targets_law_is_applied_to_what_the_head_says(params) -> None:
    target = SamplingLaw(sampling_params(params), Opening((0,), 3, (2,), PhiloxRandomness(3)))
    drafter = head((((0, 1),),))
    state = seen(drafter, TEXT, target)
    (proposal,) = drafter.propose([state], [1], [PhiloxRandomness(1)])
    logits = np.full(3, -np.inf, np.float32)
    logits[[0, 2]] = np.log(np.array(lookup(SAYS, TEXT[-2:])))[[0, 2]]
    there = target
    for token in TEXT[1:]:
        there = there.after(token)
    np.testing.assert_allclose(proposal.laws[0].dense(), there(logits), atol=1e-6)


def test_nothing_is_drafted_where_the_law_rules_out_all_that_is_known() -> None:
    assert len(one(head(SHAPE), target=law(allowed_token_ids=[1]))) == 0
    assert len(one(head(SHAPE), target=law(bad_words=[[0], [2]]))) == 0


def test_where_it_is_unsure_it_stops_before_it_draws() -> None:
    """Whether a place is drawn at depends on its law, and on no token there."""
    sure = {(a, b): [0.8, 0.1, 0.1] if b == 0 else [0.4, 0.3, 0.3] for a in range(3) for b in range(3)}
    table = {(): [1 / 3] * 3, **{(a,): [1 / 3] * 3 for a in range(3)}, **sure}
    shape = (((0, 2),), ((0, 1), (1, 1)))
    found = {
        tuple(map(tuple, (p.tokens.tolist(), p.parents.tolist())))
        for p in (one(head(shape, (0, 1, 2), table=table, knobs=Knobs(draft_stop_below=0.6)), seed=s)
                  for s in range(60))
    }  # fmt: skip
    for tokens, parents in found:
        assert parents[:2] == (ROOT, ROOT)
        assert list(parents[2:]) == [node for node in (0, 1) if tokens[node] == 0]
    assert len(found) > 5


# -------------------------------------------------------------------------------------------------- several texts


def test_texts_draft_together_one_call_a_level() -> None:
    drafter = head(SHAPE, KNOWN["all"])
    texts = [TEXT, [2, 1], [1, 1, 1, 0, 2], [0, 2], [2, 2, 2]]
    states = [seen(drafter, text, law(temperature=0.5 + number / 4)) for number, text in enumerate(texts)]
    budgets, chances = [9, 3, 9, 0, 9], [PhiloxRandomness(5, number) for number in range(5)]
    together = drafter.propose(states, budgets, chances)
    assert drafter._cell.calls == [3, 6, 6]  # of the two that have no room for the shape nothing is asked
    assert [len(each) for each in together] == [7, 0, 7, 0, 7]
    for number, proposal in enumerate(together):
        (alone,) = drafter.propose([states[number]], [budgets[number]], [chances[number]])
        assert np.array_equal(alone.tokens, proposal.tokens)
        for p, q in zip(alone.laws, proposal.laws, strict=True):
            assert np.array_equal(p.weights, q.weights)


# ----------------------------------------------------------------------------------------------- what it has seen


def test_nothing_is_drafted_before_the_first_pass_or_behind_one_that_shows_nothing() -> None:
    drafter = head(SHAPE)
    state = drafter.open(TEXT, law())
    assert len(drafter.propose([state], [9], [PhiloxRandomness(1)])[0]) == 0
    state = seen(drafter, TEXT, law())
    assert len(drafter.propose([state], [9], [PhiloxRandomness(1)])[0]) == 7
    state.commit([1], Scores(np.zeros((1, 3), np.float32)))
    assert len(drafter.propose([state], [9], [PhiloxRandomness(1)])[0]) == 0
    assert drafter._cell.calls == [1, 2, 2]


TREE = Proposal(np.array([1, 2, 2, 1, 0]), np.array([ROOT, ROOT, 0, 0, 1]), (None,) * 5)


@pytest.mark.parametrize(("tokens", "rows"), [
    ([0], [0]), ([1, 0], [0, 1]), ([2, 0], [0, 2]), ([1, 2, 0], [0, 1, 3]), ([1, 1, 0], [0, 1, 4]),
    ([2, 0, 1], [0, 2, 5]),
])  # fmt: skip
@pytest.mark.parametrize("last", [False, True])
def test_states_are_those_of_the_rows_that_tokens_were_drawn_from(tokens, rows, last) -> None:
    hidden = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    found = features_along(tokens, Scores(np.zeros((6, 3)), hidden, TREE), last)
    hidden[:] = -1  # the engine's own buffer
    assert found.ravel().tolist() == (rows[-1:] if last else rows)


def test_states_behind_equal_candidates_and_of_rounds_that_do_not_tell() -> None:
    twice = Proposal(np.array([1, 1, 2]), np.array([ROOT, ROOT, 1]), (None,) * 3)
    hidden = np.arange(4, dtype=np.float32).reshape(4, 1, 1)
    assert features_along([1, 2, 0], Scores(np.zeros((4, 3)), hidden, twice)).ravel().tolist() == [0, 2, 3]
    assert features_along([0, 1], Scores(np.zeros((4, 3)), hidden, twice)) is None  # written by no row of these
    assert features_along([1, 2], Scores(np.zeros((4, 3)), hidden)) is None
    assert features_along([1], Scores(np.zeros((4, 3)), None, twice)) is None


def drawn_along_a_run(monkeypatch, shape) -> list[tuple[list[int], np.ndarray]]:
    """Texts and the law of their next draft, as whole runs of the loop have them."""
    noted = []

    class Noting(HeadDrafter):
        def open(self, tokens, law):
            state, self.text = super().open(tokens, law), list(tokens)
            commit = state.commit
            state.commit = lambda more, scores: (commit(more, scores), self.text.extend(more))
            return state

        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            noted.extend((list(self.text), p.laws[0].dense()) for p in found if len(p))
            return found

    class Seeded:
        def sample(self, index):
            return PhiloxRandomness(self.seed, index)

    for seed in range(10):
        Seeded.seed = seed
        text_of(case(shape), Seeded(), "traversal", head(shape, KNOWN["all"], Noting), 8)
    return noted


def test_a_run_drafts_from_the_states_of_the_right_row(monkeypatch) -> None:
    noted = drawn_along_a_run(monkeypatch, SHAPE)
    assert len(noted) > 60
    for text, q in noted:
        np.testing.assert_allclose(q, by_definition(text, (0, 1, 2)), atol=1e-6)


@pytest.mark.parametrize("row", [0, -1])
def test_another_row_would_be_noticed(monkeypatch, row) -> None:
    monkeypatch.setattr(known_rows, "features_along", lambda _, scores, last: scores.hidden[[row]])
    wrong = [q for text, q in drawn_along_a_run(monkeypatch, SHAPE)
             if np.abs(q - by_definition(text, (0, 1, 2))).max() > 1e-3]  # fmt: skip
    assert len(wrong) > 5


# ------------------------------------------------------------------------------------------------ what it has learnt


def test_it_learns_from_its_own_rounds() -> None:
    known = Siblings((0.4, 0.6))
    drafter = HeadDrafter.over(TableCell(), Trees(known, 4), 3)
    state, told = seen(drafter, TEXT, law()), []
    known.saw = lambda offered, kept: told.append((offered, kept))
    (proposal,) = drafter.propose([state], [2], [PhiloxRandomness(1)])
    state.commit([1], Scores(np.zeros((3, 3)), proposal=proposal))
    assert told == [(2, None)]
    state.commit([0], Scores(np.zeros((3, 3)), proposal=proposal))
    assert told == [(2, None)]  # that round is over


def test_more_candidates_than_the_card_has_chances_for() -> None:
    """A number that was asked for is no reason to fail."""
    drafter = HeadDrafter.over(TableCell(tokens=(0, 1, 2)), Trees(Siblings((0.5,)), 4, fixed=3), 3)
    state = seen(drafter, TEXT, law())
    (proposal,) = drafter.propose([state], [3], [PhiloxRandomness(1)])
    assert proposal.parents.tolist() == [ROOT] * 3
    state.commit([int(proposal.tokens[2]), 0], Scores(np.zeros((4, 3)), proposal=proposal))


def test_what_it_says_its_trees_are_worth() -> None:
    state = HeadDrafter.over(TableCell(), Trees(Settled((0.5, 0.4)), 4), 3).open(TEXT, law())
    assert isinstance(state, Shapes)
    assert state.worths(3) == ((0.5, 1), (0.25, 2), (0.2, 1))
    assert HeadDrafter.over(TableCell(), Trees(Settled((0.5,)), 4, 2), 3).open(TEXT, law()).worths(3) is None


def test_each_text_is_worth_what_it_has_shown() -> None:
    """One that keeps nothing says so of itself, and what is usual changes by less."""
    drafter = HeadDrafter.over(TableCell(), Trees(Siblings((0.5, 0.4)), 4), 3)
    state, other = (drafter.open(TEXT, law()) for _ in range(2))
    before = state.worths(1)[0][0]
    for _ in range(5 * EVERY):
        state.drafted = proposal = Proposal.chain([2])
        state.commit([0], Scores(np.zeros((2, 3)), proposal=proposal))
    assert state.worths(1)[0][0] < 0.5 * before
    assert other.worths(1)[0][0] == before
    assert state.worths(1)[0][0] < drafter.open(TEXT, law()).worths(1)[0][0] < before


def test_the_temperature_is_learnt_where_it_drafted(monkeypatch) -> None:
    drafter, told = head((((0, 1),),)), []
    drafter._tempering = Tempering()
    state = seen(drafter, TEXT, law(temperature=0.8))
    (tuner,) = drafter._tempering._tuners.values()
    tuner.saw, tuner.due = told.append, lambda: True
    drafter.propose([state], [1], [PhiloxRandomness(1)])
    said = np.array([0.3, -1.0, 2.0], np.float32)
    state.commit([0], Scores(said[None], features(TEXT, 3)[None], Proposal.chain([])))
    p = law(temperature=0.8)(said)
    expected = [np.minimum(p, by_definition(TEXT, (0, 2), 0.8 * ratio)).sum() for ratio in RATIOS]
    np.testing.assert_allclose(told, [expected], atol=1e-6)
    state.commit([1], Scores(said[None]))
    assert len(told) == 1


def test_a_reading_never_writes_into_what_the_head_said() -> None:
    logits = np.array([0.5, -0.5], np.float32)
    for target in (law(temperature=0.3, top_k=1), law(repetition_penalty=1.5)):
        Reading(np.array([0, 2]), 3).weights(logits, target)
        assert logits.tolist() == [0.5, -0.5]


# --------------------------------------------------------------------------------------------- settings and engines


@pytest.mark.parametrize("depth", [0, -1, 2.0, "3", True])
def test_nonsense_for_a_depth_is_refused(depth) -> None:
    with pytest.raises(BadParameter, match="head_depth"):
        HeadDrafter(3, models=None, head_depth=depth)


def test_the_engine_of_these_tests_shows_the_texts_of_its_rows() -> None:
    engine = SeeingEngine(TARGET)
    scores = engine.forward([Work(engine.open([0, 1]), replace(TREE))])[0]
    assert scores.hidden.shape == (6, 2, 3)
    texts = [[0, 1], [0, 1, 1], [0, 1, 2], [0, 1, 1, 2], [0, 1, 1, 1], [0, 1, 2, 0]]
    for row, text in zip(scores.hidden, texts, strict=True):
        assert np.array_equal(row, features(text, 3))
