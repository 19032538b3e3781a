"""What is learnt of candidates: it comes to the truth, follows changes, and is never taken from a round of others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from truedraw.draft import siblings
from truedraw.draft.siblings import (
    EVERY,
    EVERY_OF_ALL,
    MEMORY,
    MEMORY_OF_TEXT,
    STEP,
    USUAL_TRIES,
    OfText,
    Settled,
    Siblings,
    told,
)
from truedraw.draft.trees import Trees
from truedraw.protocol import ROOT, Proposal, Scores

FIRST = (0.3, 0.2, 0.1, 0.1)
WIDE = (((0, 2),), ((0, 2), (1, 1)))  # a shape: two candidates, two behind the first of them, one behind the second


def joint(given) -> np.ndarray:
    """That a candidate is kept and none before it was, from chances given that."""
    left = np.cumprod([1.0, *(1 - np.array(given[:-1]))])
    return left * np.array(given)


def chances(known: Siblings) -> tuple[float, ...]:
    """That a candidate is kept and none before it was, as is usual."""
    return told(known.given)


def watched(known, given, places: int, seed: int = 0, offered: int = 4):
    """So many places in a world where candidates are kept by these chances, each given that none before it was."""
    rng = np.random.default_rng(seed)
    for _ in range(places):
        kept = next((number for number in range(offered) if rng.random() < given[number]), None)
        known.saw(offered, kept)
    return known


@pytest.mark.parametrize("given", [(0.5, 0.3, 0.2, 0.15), (0.9, 0.5, 0.1, 0.1), (0.1, 0.05, 0.03, 0.02)])
def test_it_comes_to_the_truth(given, monkeypatch) -> None:
    monkeypatch.setattr(siblings, "PRIOR_TRIES", 1.0)  # what was thought before weighs next to nothing
    runs = [chances(watched(Siblings(FIRST), given, 4 * MEMORY, seed)) for seed in range(20)]
    np.testing.assert_allclose(np.mean(runs, axis=0), joint(given), atol=2 * STEP)
    assert np.abs(np.array(runs) - joint(given)).max() < 0.12


def test_what_was_thought_before_weighs_as_much_as_so_many_tries() -> None:
    known = Siblings((0.5, 0.5))
    for _ in range(int(siblings.PRIOR_TRIES)):
        known.saw(1, None)
    assert chances(known)[0] == pytest.approx(0.25, abs=2 * STEP)  # half of the guess, but for what was forgotten
    assert chances(known)[1] == pytest.approx(chances(known)[0], abs=2 * STEP)  # not 0.38: never above the one before


def test_candidates_that_are_seldom_offered_are_no_worse_for_it() -> None:
    """How often the second is kept is counted where there was one."""
    known, rng = Siblings(FIRST), np.random.default_rng(1)
    for place in range(4 * MEMORY):
        offered = 2 if place % 4 == 0 else 1
        known.saw(offered, next((n for n in range(offered) if rng.random() < (0.5, 0.3)[n]), None))
    expected = joint((0.5, (0.3 * 50 + siblings.PRIOR_TRIES * FIRST[1]) / (50 + siblings.PRIOR_TRIES)))
    np.testing.assert_allclose(chances(known)[:2], expected, atol=0.1)  # of 400 places 100 had a second, half tried it


def test_it_forgets() -> None:
    known = watched(Siblings(FIRST), (0.8, 0.1, 0.1, 0.1), 3 * MEMORY)
    before = chances(known)[0]
    watched(known, (0.2, 0.1, 0.1, 0.1), 3 * MEMORY)
    assert before > 0.7
    assert chances(known)[0] < 0.3


def test_none_is_believed_to_be_better_than_the_one_before() -> None:
    rng = np.random.default_rng(2)
    for seed in range(50):
        found = chances(watched(Siblings(FIRST), rng.random(4), 5 * EVERY, seed))
        assert all(a >= b for a, b in pairwise(found))
        assert all(STEP <= each <= 1 for each in found)
        np.testing.assert_allclose(np.array(found) / STEP, np.round(np.array(found) / STEP))


def test_guesses_hold_at_first_and_are_given_that_none_before_was_kept() -> None:
    np.testing.assert_allclose(chances(Siblings((0.5, 0.5, 0.5))), (0.5, 0.25, 0.12))
    assert chances(Siblings((1.0, 0.5))) == (1.0, STEP)
    assert all(a >= b for a, b in pairwise(chances(Siblings((0.1, 0.9, 0.9)))))
    known = Siblings(FIRST)
    before = chances(known)
    for _ in range(EVERY):
        known.saw(1, 0)
    assert chances(known)[0] > before[0]
    assert chances(watched(Settled(FIRST), (1.0, 1.0, 1.0, 1.0), 10 * EVERY)) == before


def test_more_candidates_than_there_were_guesses() -> None:
    known = Siblings((0.5, 0.2))
    text = OfText(known)
    for kept in (4, None, 1, 0, 2, None, 3, 1):
        text.saw(5, kept)
    assert len(chances(known)) == len(text.chances) == 2


# ------------------------------------------------------------------------------------------------------ one text


def test_a_text_begins_as_usual_and_is_looked_at_now_and_then() -> None:
    usual = watched(Siblings(FIRST), (0.6, 0.3, 0.1, 0.1), 2 * MEMORY)
    text = OfText(usual)
    before = text.chances
    assert before == chances(usual)
    for _ in range(EVERY - 1):
        text.saw(1, None)
        assert text.chances == before
    text.saw(1, None)
    assert text.chances[0] < before[0]


def test_a_text_hears_what_others_have_shown() -> None:
    """It may not draft itself, by what was usual when it began."""
    usual = Siblings((0.05,))
    waits, other = OfText(usual), OfText(usual)
    before = waits.chances[0]
    for _ in range(10 * EVERY_OF_ALL):
        other.saw(1, 0)
    assert waits.chances[0] > before + 0.5


def test_others_are_looked_at_now_and_then_whenever_a_text_begins() -> None:
    usual = Siblings((0.05,))
    other = watched(OfText(usual), (0.05,), EVERY_OF_ALL + 1, offered=1)
    waits = OfText(usual)
    for _ in range(3):
        before = chances(usual)
        for _ in range(EVERY_OF_ALL - 1):
            other.saw(1, 0)
        assert waits.chances == before
        other.saw(1, 0)
        assert waits.chances[0] > before[0]


def test_what_is_usual_weighs_as_much_as_so_many_tries() -> None:
    usual = Siblings((0.5, 0.5))
    text = OfText(usual)
    usual.saw = lambda offered, kept: None  # what this text teaches is no matter here
    for _ in range(int(USUAL_TRIES) // EVERY * EVERY):
        text.saw(1, None)
    fades, tries = 1 - 1 / MEMORY_OF_TEXT, int(USUAL_TRIES) // EVERY * EVERY
    tried = (1 - fades**tries) / (1 - fades)
    assert text.chances[0] == pytest.approx(0.5 * USUAL_TRIES / (USUAL_TRIES + tried), abs=STEP)


@pytest.mark.parametrize("true", [0.1, 0.25, 0.55, 0.8])
def test_a_text_that_is_unlike_the_others_is_known_by_its_own_places(true) -> None:
    usual = watched(Siblings(FIRST), (0.42, 0.2, 0.1, 0.1), 3 * MEMORY)
    texts = [watched(OfText(usual), (true, 0.2, 0.1, 0.1), 2 * MEMORY_OF_TEXT, seed) for seed in range(8)]
    found = np.array([text.chances[0] for text in texts])
    assert found.mean() == pytest.approx(true, abs=0.05)
    assert abs(found - true).max() < 0.13


def test_one_odd_text_hardly_changes_where_the_next_one_begins() -> None:
    """All texts had one count, and those behind a translation were drawn plainly."""
    usual = watched(Siblings((0.42, 0.2)), (0.42, 0.2), 3 * MEMORY, offered=2)
    before = OfText(usual).chances[0]
    odd = OfText(usual)
    while odd.chances[0] > 0.3:  # about where drafting ends to pay
        watched(odd, (0.15, 0.1), EVERY, seed=odd._places, offered=2)
    assert odd._places < 60
    assert OfText(usual).chances[0] > before - 0.05


def test_what_never_learns_teaches_no_text() -> None:
    text = OfText(Settled(FIRST))
    before = text.chances
    assert watched(text, (1.0, 1.0, 1.0, 1.0), 10 * EVERY).chances == before


def test_the_usual_hears_every_text_of_its_drafter() -> None:
    noted = Noted()
    for text in (Trees(noted, 6).of_text(), Trees(noted, 6).of_text()):
        text.learn([3, 9], TREE, Scores(np.zeros((1, 10), np.float32), proposal=TREE))
    assert noted.seen == [(2, 0), (2, None)] * 2


# ---------------------------------------------------------------------------------------------------- whose rounds


class Noted(Siblings):
    """Writes down what it is told."""

    def __init__(self) -> None:
        super().__init__(FIRST)
        self.seen = []

    def saw(self, offered, kept) -> None:
        self.seen.append((offered, kept))


LAW = np.full(10, 0.1)
TREE = Proposal(np.array([3, 4, 5, 6, 7]), np.array([ROOT, ROOT, 0, 0, 1]), (LAW,) * 5)
CERTAIN = Proposal(TREE.tokens, TREE.parents, (None,) * 5)


def learnt(tokens, drafted=TREE, scored=TREE):
    noted = Noted()
    scores = None if scored is None else Scores(np.zeros((1, 10), np.float32), proposal=scored)
    Trees(noted, 6).of_text().learn(tokens, drafted, scores)
    return noted.seen


@pytest.mark.parametrize(("tokens", "seen"), [
    ([9], [(2, None)]), ([3, 9], [(2, 0), (2, None)]), ([3, 6, 9], [(2, 0), (2, 1)]), ([4, 7, 9], [(2, 1), (1, 0)]),
    ([4, 9], [(2, 1), (1, None)]), ([3], [(2, 0)]), ([5, 3], [(2, None)]),
])  # fmt: skip
def test_places_are_counted_along_the_text(tokens, seen) -> None:
    assert learnt(tokens) == seen


def test_only_rounds_of_its_own_drafts_teach() -> None:
    same = Proposal(TREE.tokens, TREE.parents, TREE.laws)
    for scored in (same, TREE.only(np.array([0, 1])), Proposal.chain([3]), None):
        assert learnt([3, 9], TREE, scored) == []
    assert learnt([3, 9], None, TREE) == []
    assert learnt([3, 9], TREE.only(np.arange(5)), TREE) == [(2, 0), (2, None)]  # nothing was cut: the very same


def test_of_certain_drafts_it_is_seen_whoever_drafted() -> None:
    for scored in (CERTAIN, CERTAIN.only(np.array([0])), Proposal.chain([3])):
        assert learnt([3, 6, 9], CERTAIN, scored) == [(2, 0), (2, 1)]
    assert learnt([3, 9], CERTAIN, None) == []


def test_shapes_follow_what_was_learnt_unless_they_are_given() -> None:
    known = watched(Siblings(FIRST), (0.95, 0.02, 0.02, 0.02), 4 * MEMORY)
    shapes = Trees(known, 6).of_text()
    assert shapes.levels(4) == (((0, 1),),) * 4
    for _ in range(MEMORY):
        shapes.learn([9], TREE, Scores(np.zeros((1, 10), np.float32), proposal=TREE))
    assert shapes.levels(2) == (((0, 2),),)
    watched(known, (0.05, 0.05, 0.05, 0.05), 6 * MEMORY)
    shapes = Trees(known, 6).of_text()
    assert shapes.levels(3) == (((0, 3),),)
    assert shapes.worths(3) == tuple((chance, 1) for chance in chances(known)[:3])
    fixed, chain = Trees(known, 3, 2).of_text(), Trees(known, 3, 2, chains=True).of_text()
    assert fixed.levels(6) == (((0, 2),), ((0, 1),), ((0, 1),))
    assert chain.levels(6) == (((0, 1),),) * 3
    assert fixed.worths(6) is chain.worths(6) is None


def test_where_branches_take_more_than_they_bring_what_is_learnt_makes_a_chain() -> None:
    """A number of candidates that was given holds."""
    shapes = Trees(Siblings((0.1, 0.1, 0.1)), 6, narrow=True).of_text()
    assert shapes.levels(4) == (((0, 1),),) * 4
    assert [level for _, level in shapes.worths(4)] == [1, 2, 3, 4]
    assert Trees(Siblings(FIRST), 6, 2, narrow=True).of_text().levels(3) == (((0, 2),), ((0, 1),))


def test_what_a_place_teaches_reaches_back_so_far_and_no_further(monkeypatch) -> None:
    monkeypatch.setattr(siblings, "MEMORY", 10)
    monkeypatch.setattr(siblings, "PRIOR_TRIES", 2.0)
    known = watched(Siblings(FIRST), (1.0, 0.0, 0.0, 0.0), 200)
    watched(known, (0.0, 0.0, 0.0, 0.0), 60)
    assert chances(known)[0] < 0.2
