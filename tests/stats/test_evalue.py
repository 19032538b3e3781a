"""The running e-value: mean exactly 1 under every exact rule, by enumeration; large under planted bugs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from generate.mutants import AcceptsByProbabilityAlone, ArgmaxMatch, ResidualFromP, ResidualFromQ
from truedraw import load
from truedraw.control.fixed import FixedController
from truedraw.draft.ngram import NgramDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.generate.ending import Ending
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Parts, Sample, Together
from truedraw.protocol import ROOT, Proposal, Verdict
from truedraw.registry import find, names
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.check.planted import BUGS, Bug, PlantedVerifier
from truedraw.stats.check.self_draft import SiblingsDrafter
from truedraw.stats.evalue import ExactnessWatch, RunningEvidence
from truedraw.stats.leaning import places
from truedraw.testing.enumeration import law_of
from truedraw.testing.runs import first_round
from truedraw.testing.scenarios import Scenario, TableDrafter
from truedraw.testing.tables import random_table
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify.token import TokenVerifier

EXACT = [name for name in names("verifiers") if find("verifiers", name).exact]
SCENARIO = Scenario("three tokens", random_table(3, 1, 60), random_table(3, 1, 61), draft_tokens=2, max_tokens=3)
LONG = Scenario("many tokens", random_table(6, 1, 62), random_table(6, 1, 63), draft_tokens=3, max_tokens=2000)


def watched(scenario: Scenario, verifier, randomness, drafter=None) -> ExactnessWatch:
    watch = ExactnessWatch()
    engine = TabularEngine(scenario.target)
    parts = Parts(drafter or TableDrafter(scenario.draft), verifier, watch)
    law, prompt = SamplingLaw(SamplingParams(**scenario.params)), (0, 1, 0)
    sample = Sample(0, parts, law, randomness, Ending((), scenario.max_tokens), engine.open(prompt),
                    parts.drafter.open(prompt, law))  # fmt: skip
    for _ in rounds(engine, FixedController(scenario.draft_tokens), Together([sample])):
        pass
    return watch


def expectation(verifier, drafter=None) -> float:
    law = law_of(lambda walker: watched(SCENARIO, verifier, walker.sample(0), drafter).evidence.value)
    return math.fsum(value * weight for value, weight in law.items())


@pytest.mark.parametrize("drafter", [None, NgramDrafter(1, 2)], ids=["sampled", "certain"])
@pytest.mark.parametrize("verifier", EXACT)
def test_its_mean_is_one_under_every_exact_rule(verifier: str, drafter) -> None:
    assert expectation(find("verifiers", verifier)(), drafter) == pytest.approx(1.0, abs=1e-12)


def test_it_bets_on_something() -> None:
    law = law_of(lambda walker: watched(SCENARIO, TokenVerifier(), walker.sample(0)).evidence.value)
    assert len(law) > 4


@pytest.mark.parametrize("bug", [ResidualFromP, ResidualFromQ, ArgmaxMatch, AcceptsByProbabilityAlone])
def test_under_a_bug_its_mean_is_not_one_and_its_value_grows(bug) -> None:
    assert abs(expectation(bug()) - 1) > 1e-3
    assert watched(LONG, bug(), PhiloxRandomness(0)).evidence.alarm(1e-6)


def test_exact_sampling_raises_no_alarm_over_many_texts() -> None:
    """60 texts looked at after every token: at delta 0.05 at most 3 alarms are expected, 9 would be a wonder."""
    short = Scenario("short", LONG.target, LONG.draft, draft_tokens=3, max_tokens=100)
    alarms = [watched(short, TokenVerifier(), PhiloxRandomness(seed)).evidence.alarm(0.05) for seed in range(60)]
    assert sum(alarms) < 9


class KeepsAll(TokenVerifier):
    """Whatever p says."""

    def __call__(self, proposal, rows, randomness, position):
        bare = Proposal.chain(())
        last = super().__call__(bare, [rows[len(proposal)]], randomness, position).tokens
        return Verdict((*proposal.tokens.tolist(), *last), len(proposal), rejected=False)


@pytest.mark.parametrize("params", [{"temperature": 0.0}, {"top_k": 1}], ids=str)
@pytest.mark.parametrize("drafter", [None, NgramDrafter(1, 2)], ids=["sampled", "certain"])
def test_a_draft_that_p_excludes_is_an_alarm_at_once_where_no_bet_can_be_placed(params, drafter) -> None:
    """Every event has probability 0 or 1 there."""
    sure = replace(LONG, params=params, max_tokens=200)
    kept = watched(sure, KeepsAll(), PhiloxRandomness(0), drafter or TableDrafter(LONG.draft)).evidence
    assert kept.alarm(1e-300)
    assert math.isfinite(kept.value)
    for _ in range(50):
        kept.add(False, 0.5)
    assert kept.value == kept.largest
    right = watched(sure, TokenVerifier(), PhiloxRandomness(0), drafter or TableDrafter(LONG.draft)).evidence
    assert (right.count, right.value) == (0, 1.0)


def coins(chance: float, true_chance: float, count: int) -> Iterator[tuple[bool, float]]:
    rng = np.random.default_rng(1)
    return ((bool(rng.random() < true_chance), chance) for _ in range(count))


@pytest.mark.parametrize("true_chance", [0.2, 0.4])
def test_a_bias_of_a_tenth_is_found_on_either_side(true_chance: float) -> None:
    evidence = RunningEvidence()
    for event in coins(0.3, true_chance, 1500):
        evidence.add(*event)
    assert evidence.p_value < 1e-6
    assert evidence.count == 1500


def test_what_is_certain_tells_nothing_and_overwhelming_evidence_stays_finite() -> None:
    evidence = RunningEvidence()
    evidence.add(True, 1.0)
    evidence.add(False, 0.0)
    assert evidence.value == 1.0
    for _ in range(5000):
        evidence.add(True, 0.01)
    assert math.isfinite(evidence.value)
    assert evidence.alarm(1e-300)


def test_an_alarm_stays_an_alarm() -> None:
    evidence = RunningEvidence()
    for _ in range(60):
        evidence.add(True, 0.5)
    peak = evidence.value
    for _ in range(60):
        evidence.add(False, 0.5)
    assert evidence.value < evidence.largest == peak
    assert evidence.alarm(1e-6)


@pytest.mark.parametrize("spec", [{}, {"model": "tabular", "draft_temperature": 0.5}], ids=["lookup", "draft model"])
def test_a_seed_is_no_alarm(spec) -> None:
    """A draft model then draws with the noise of the target's token: it is right more often than p says."""
    watch = ExactnessWatch()
    drafted = {"num_speculative_tokens": 2, "adaptive": False, **spec}
    load("tabular").generate(
        "the cat", n=4, seed=1, max_tokens=150, ignore_eos=True, speculative=drafted, observer=watch
    )
    assert watch.evidence.count > 300
    assert not watch.evidence.alarm(0.001)


TREE = Scenario("trees", random_table(3, 1, 64), random_table(3, 1, 65), draft_tokens=4, max_tokens=5)


def value_of_a_round(rule, walker, drafter) -> float:
    watch = ExactnessWatch()
    first_round(TREE, walker, rule, drafter, watch)
    return watch.evidence.value


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("verifier", EXACT)
def test_its_mean_is_one_over_trees(verifier: str, shape) -> None:
    rule, drafter = find("verifiers", verifier)(), TreeDrafter(TREE.draft, shape)
    try:
        law = law_of(lambda walker: value_of_a_round(rule, walker, drafter))
    except ValueError:
        return  # this rule takes no such tree
    assert math.fsum(value * weight for value, weight in law.items()) == pytest.approx(1.0, abs=1e-12)


def test_it_bets_on_later_siblings_which_a_rule_may_be_wrong_on_alone() -> None:
    def mean(rule) -> float:
        law = law_of(lambda walker: value_of_a_round(rule, walker, SiblingsDrafter(TabularEngine(TREE.draft))))
        return math.fsum(value * weight for value, weight in law.items())

    (bug,) = (bug for bug in BUGS if bug.siblings)
    assert mean(PlantedVerifier(Bug("none"))) == pytest.approx(1.0, abs=1e-12)
    assert abs(mean(PlantedVerifier(bug)) - 1) > 1e-3
    drafter = SiblingsDrafter(TabularEngine(LONG.draft))
    assert watched(LONG, PlantedVerifier(bug), PhiloxRandomness(0), drafter).evidence.alarm(1e-6)


Q = np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("parents", "laws", "tokens", "expected"),
    [
        ([ROOT, ROOT, ROOT], [None] * 3, [2], [(1, 2)]),
        ([ROOT, 0, ROOT], [None, Q, None], [2], [()]),  # the second may be there because of what was drawn
        ([ROOT, ROOT, 0], [None, None, Q], [2], [(1,)]),
        ([ROOT, ROOT], [None, Q], [2], [()]),
        ([ROOT, 0, 0], [Q, None, None], [0, 2], [(), (2,)]),  # what they follow is drawn, and is there
        ([ROOT, ROOT, 0, 0], [Q, Q, None, None], [0, 2], [(), ()]),
    ],
)
def test_later_siblings_are_looked_at_where_no_draw_may_have_made_them(parents, laws, tokens, expected) -> None:
    drafted = Proposal(np.arange(len(parents)) % 3, np.array(parents), tuple(laws))
    assert [draft.others for _, _, draft in places(drafted, tokens)] == expected


@pytest.mark.parametrize(
    ("parents", "laws", "seen"),
    [
        ([ROOT, ROOT, 1, 0], [None, None, Q, None], [True, False]),  # below an equal sibling something was drawn
        ([ROOT, ROOT, 0, 1], [None, None, None, Q], [True, True]),
        ([ROOT, 0], [Q, None], [True, True]),
        ([ROOT, ROOT, 0], [Q, Q, None], [True, False]),
        ([ROOT, ROOT, 0], [Q, Q, Q], [True, True]),
    ],
)
def test_certain_drafts_are_looked_at_where_no_draw_may_have_made_them(parents, laws, seen) -> None:
    drafted = Proposal(np.array([0, 0 if laws[0] is None else 1, 2, 2][: len(parents)]), np.array(parents), tuple(laws))
    assert [draft.is_known for _, _, draft in places(drafted, [0, 2])] == seen
