"""The exact law of texts drafted by a head: every branch of whole rounds and runs, and mutants that are not exact."""

from __future__ import annotations

import numpy as np
import pytest

from draft.head.seeing import (
    KNOWN,
    PROMPT,
    ROUNDING,
    TARGET,
    VISIBLE,
    SeeingEngine,
    TableCell,
    case,
    head,
    law_of_rounds,
    law_of_text,
)
from enumeration import law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, random_table, text_law
from truedraw.draft import gains, growth, siblings
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Siblings
from truedraw.draft.tempering import Tempering
from truedraw.draft.trees import Trees
from truedraw.errors import BadProposal
from truedraw.protocol import Proposal, SparseLaw
from truedraw.registry import find
from truedraw.testing import run

CHAIN = (((0, 1),), ((0, 1),), ((0, 1),))
TREES = {
    "two": (((0, 2),),),
    "three": (((0, 3),),),
    "caterpillar": (((0, 2),), ((0, 1),)),
    "behind the second": (((0, 2),), ((1, 2),)),
    "two levels": (((0, 2),), ((0, 2), (1, 1))),
    "three levels": (((0, 1),), ((0, 2),), ((0, 1), (1, 1))),
}
PARAMS = [{}, {"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.8}]


def distance(*args, **more) -> float:
    return total_variation(*law_of_rounds(*args, **more))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath", "coupled"])
@pytest.mark.parametrize("known", KNOWN)
def test_chains_keep_the_law(known, rule) -> None:
    assert distance(case(CHAIN), lambda: head(CHAIN, KNOWN[known]), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive", "coupled"])
@pytest.mark.parametrize("shape", TREES)
def test_trees_keep_the_law(shape, rule) -> None:
    assert distance(case(TREES[shape]), lambda: head(TREES[shape]), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("params", PARAMS, ids=str)
@pytest.mark.parametrize("shape", ["two", "caterpillar"])
def test_candidates_of_all_tokens_keep_the_law(shape, params, rule) -> None:
    """Nothing is certain of the second candidate, whose law lacks the first; nor of what is behind either."""
    assert distance(case(TREES[shape], params), lambda: head(TREES[shape], KNOWN["all"]), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("shape", ["three", "behind the second", "two levels", "three levels"])
def test_large_trees_of_all_tokens_keep_the_law(shape, rule) -> None:
    assert distance(case(TREES[shape]), lambda: head(TREES[shape], KNOWN["all"]), rule) < ROUNDING


@pytest.mark.parametrize("settings", [
    {"draft_temperature": 1.6}, {"draft_top_k": 1}, {"draft_sample_method": "greedy"}, {"draft_stop_below": 0.6},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_laws_of_its_own_keep_the_law(rule, settings) -> None:
    shape = TREES["two levels"]
    assert distance(case(shape, {"temperature": 0.8}), lambda: head(shape, knobs=Knobs(**settings)), rule) < ROUNDING


def test_a_law_that_looks_at_the_text() -> None:
    """It is applied to the logits of all tokens, those that the head lacks at -inf; the target alone is the judge."""
    scenario = Scenario("penalised", random_table(3, 1, 41), {}, {"repetition_penalty": 1.4}, 2, 4)
    plain = law_of_text(Scenario("plain", scenario.target, {}, scenario.params, 0, 4), lambda: head(()))
    for rule in ("traversal", "recursive"):
        assert total_variation(law_of_text(scenario, lambda: head(TREES["two"]), rule), plain) < ROUNDING


QUARTERS = {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.75, 0.0, 0.25]}


@pytest.mark.parametrize("shape", ["two", "two levels"])
@pytest.mark.parametrize("rule", ["coupled", "traversal", "recursive"])
def test_drafts_with_the_targets_noise_keep_the_law_under_every_rule(rule, shape) -> None:
    shape = TREES[shape]
    found = distance(case(shape, target=QUARTERS), lambda: head(shape, coupled=True), rule, kind=CoupledWalker)
    assert found < ROUNDING


# -------------------------------------------------------------------------------------------------- while it learns

SHORT = Scenario("short", TARGET, {}, draft_tokens=3, max_tokens=5)


@pytest.fixture
def eager(monkeypatch):
    """Every place is believed at once, and wholly: the shape of the next round is another one."""
    monkeypatch.setattr(siblings, "EVERY", 1)
    monkeypatch.setattr(siblings, "PRIOR_TRIES", 0.7)
    monkeypatch.setattr(siblings, "MEMORY", 2)
    for name in ("SOONEST", "SELDOM", "FEW"):
        monkeypatch.setattr(gains, name, 1)


class Second:
    """The chance of another sample, for a run of one."""

    def __init__(self, walker) -> None:
        self.walker = walker

    def sample(self, index):
        return self.walker.sample(1 + index)


class Learning(HeadDrafter):
    """Remembers the shapes that it drew."""

    @classmethod
    def new(cls, cell=None, vocab=3):
        drafter = cls.over(cell or TableCell(), Trees(Siblings((0.5, 0.2)), 3), vocab)
        drafter.shapes = []
        return drafter

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        self.shapes += [tuple(each.parents.tolist()) for each in found]
        return found


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_the_law_is_kept_while_shapes_are_learnt(eager, rule) -> None:
    drafters = []
    found = law_of_text(SHORT, Learning.new, rule, watch=drafters)
    assert total_variation(found, text_law(SHORT, PROMPT)) < ROUNDING
    shapes = {shape for drafter in drafters for shape in drafter.shapes}
    assert {(-1, 0, 1), (-1, -1)} <= shapes  # and they did change


def test_a_sample_that_learns_from_another_is_independent_of_it(eager) -> None:
    scenario, drafters = Scenario("two", random_table(2, 1, 43), {}, draft_tokens=2, max_tokens=4), []
    engine, table = SeeingEngine(scenario.target), random_table(2, 2, 44)

    def in_turn(walker):
        drafters.append(drafter := Learning.new(TableCell(table, (0, 1)), 2))
        rule = find("verifiers", "traversal")()
        (first,) = run(scenario, walker, rule, drafter, engine, prompt=PROMPT)
        drafter.shapes.clear()
        return first, *run(scenario, Second(walker), rule, drafter, engine, prompt=PROMPT)

    one = text_law(scenario, PROMPT)
    independent = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(law_of(in_turn), independent) < ROUNDING
    assert {(-1, -1), (-1, 0)} <= {shape for drafter in drafters for shape in drafter.shapes[:2]}


def test_the_law_is_kept_while_the_temperature_is_tuned(eager) -> None:
    scenario = Scenario("cold", TARGET, {}, {"temperature": 0.6}, draft_tokens=2, max_tokens=5)
    drafters = []

    def tuned():
        drafter = Learning.new()
        drafter._tempering = Tempering()
        return drafter

    found = law_of_text(scenario, tuned, "traversal", watch=drafters)
    assert total_variation(found, text_law(scenario, PROMPT)) < ROUNDING
    tuners = [tuner for drafter in drafters for tuner in drafter._tempering._tuners.values()]
    assert len({tuner.variant.ratio for tuner in tuners}) > 1


# ---------------------------------------------------------------------------------------------------------- mutants


def as_it_was(q, token):
    """The law of the first candidate once more: the second is drawn with replacement, or so it says."""
    return q


def not_whole(q, token):
    return SparseLaw(q.tokens, np.where(q.tokens == token, 0.0, q.weights), q.vocab_size)


class Whole(HeadDrafter):
    """Draws without replacement and hands over the law of a first candidate for all of them."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [self.claimed(each) for each in found]

    def claimed(self, proposal):
        first: dict[int, SparseLaw] = {}
        laws = tuple(first.setdefault(parent, law)
                     for parent, law in zip(proposal.parents.tolist(), proposal.laws, strict=True))  # fmt: skip
        return Proposal(proposal.tokens, proposal.parents, laws, proposal.confidence)


class Shifted(HeadDrafter):
    """Hands over the law of the node before."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [Proposal(p.tokens, p.parents, p.laws[:1] + p.laws[:-1], p.confidence) for p in found]


class Regretting(HeadDrafter):
    """Chooses the shape once it has seen the tokens: a second candidate stands only where the first is unlikely."""

    def propose(self, states, budgets, randomness):
        return [self.cut(each) for each in super().propose(states, budgets, randomness)]

    def cut(self, proposal):
        if len(proposal) < 2 or int(proposal.tokens[1]) != 0:
            return proposal
        return proposal.only(np.array([0]))


class Redrawing(HeadDrafter):
    """Drops a tree whose first token its law thinks unlikely."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [p if not len(p) or p.laws[0][int(p.tokens[0])] > 0.5 else p.only(np.array([], np.int64)) for p in found]


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("mutant", [Whole, Shifted, Regretting, Redrawing])
def test_mutants_are_caught(mutant, rule) -> None:
    shape = TREES["two"]
    try:
        assert distance(case(shape), lambda: head(shape, KNOWN["all"], mutant), rule) > VISIBLE
    except BadProposal:  # a law under which its token cannot come
        assert mutant is Shifted


def test_a_rest_that_is_not_made_whole_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(growth, "without", not_whole)
    with pytest.raises(BadProposal, match="sums to"):
        distance(case(TREES["two"]), lambda: head(TREES["two"], KNOWN["all"]))


def test_candidates_with_replacement_are_exact_too_and_not_what_is_drawn(monkeypatch) -> None:
    """Not a mutant: a candidate twice, each from the law it is handed over with."""
    shape = TREES["two"]
    monkeypatch.setattr(growth, "without", as_it_was)
    assert distance(case(shape), lambda: head(shape, KNOWN["all"])) < ROUNDING
    assert any(len(set(tokens)) == 1 for tokens in law_of(lambda walker: drawn(walker, shape)))
    monkeypatch.undo()
    assert all(len(set(tokens)) == 2 for tokens in law_of(lambda walker: drawn(walker, shape)))


def drawn(walker, shape) -> tuple[int, ...]:
    from draft.head.seeing import seen
    from truedraw.sampling.law import SamplingLaw
    from truedraw.sampling.params import SamplingParams

    drafter = head(shape, KNOWN["all"])
    state = seen(drafter, [0, 1, 0], SamplingLaw(SamplingParams()))
    return tuple(drafter.propose([state], [9], [walker.sample(0)])[0].tokens.tolist())
