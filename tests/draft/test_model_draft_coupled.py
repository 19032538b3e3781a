"""Drafts drawn with the target's noise: they match more often, and no p/q rule can be misled by them."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import KeyReused, law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, random_table, text_law
from truedraw.draft.growing import Draws
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter
from truedraw.protocol import Purpose
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.runs import PROMPT, run

QUARTERS = Scenario(
    "in quarters",
    {(): [0.5, 0.5, 0.0], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.5, 0.0, 0.5]},
    {(): [0.25, 0.25, 0.5], (0,): [0.25, 0.5, 0.25], (1,): [0.5, 0.25, 0.25], (2,): [0.0, 0.5, 0.5]},
    draft_tokens=2,
    max_tokens=3,
)
RULES = ["token", "block", "traversal", "recursive"]
ROUNDING = 1e-12


class LawOfTheCoupled(Draws):
    """The bug: what the target's noise drew is handed over as a sample of q."""

    def token(self, q, depth, node):
        return super().token(q, depth, node)[0], q


class ReportsItsLaw(ModelDrafter):
    def _begun(self, state, budget, randomness):
        draft = super()._begun(state, budget, randomness)
        draft.draws = LawOfTheCoupled(self.method, randomness, len(state.text.tokens))
        return draft


def bias(kind, rule: str) -> float:
    verifier, drafter = find("verifiers", rule)(), kind(TabularEngine(QUARTERS.draft), coupled=True)
    law = law_of(lambda walker: run(QUARTERS, walker, verifier, drafter)[0], CoupledWalker)
    return total_variation(law, text_law(QUARTERS, PROMPT))


@pytest.mark.parametrize("rule", ["coupled", *RULES])
def test_drafts_with_the_targets_noise_keep_the_law_under_every_rule(rule: str) -> None:
    assert bias(ModelDrafter, rule) < ROUNDING


@pytest.mark.parametrize("rule", ["block", "traversal"])
def test_handed_over_as_samples_they_bend_it(rule: str) -> None:
    """Such a draft is met again by the noise of its position, after it has already moved an earlier verdict."""
    assert bias(ReportsItsLaw, rule) > 1e-3


@pytest.mark.parametrize("rule", RULES)
def test_the_oracle_sees_the_reused_number_too(rule: str) -> None:
    drafter = ReportsItsLaw(TabularEngine(QUARTERS.draft), coupled=True)
    with pytest.raises(KeyReused):
        law_of(lambda walker: run(QUARTERS, walker, find("verifiers", rule)(), drafter)[0])


def test_only_a_coupled_rule_gets_the_targets_noise() -> None:
    engine = TabularEngine(QUARTERS.draft)
    with pytest.raises(BadParameter, match=r"draft_sample_method: .gumbel. draws with the noise of the target"):
        ModelDrafter(engine, knobs=Knobs(draft_sample_method="gumbel"))
    assert ModelDrafter(engine).method == "probabilistic"
    assert ModelDrafter(engine, coupled=True).method == "gumbel"
    assert ModelDrafter(engine, knobs=Knobs(draft_sample_method="probabilistic"), coupled=True).method != "gumbel"


def first_tokens(count: int, **more) -> np.ndarray:
    """[count, 2]: the drafted and the target's token at one place."""
    target, draft = random_table(6, 0, 3)[()], random_table(6, 0, 4)
    drafter, law = ModelDrafter(TabularEngine(draft), **more), SamplingLaw(SamplingParams())
    found = []
    for seed in range(count):
        chance = PhiloxRandomness(seed)
        proposal = drafter.propose([drafter.open([0, 1], law)], [1], [chance])[0]
        found.append((proposal.tokens[0], chance.choose(np.array(target), Purpose.TARGET, 2)))
    return np.array(found)


def test_they_match_as_often_as_the_coupling_says() -> None:
    """P(x = y) = sum_j 1 / sum_i max(p_i / p_j, q_i / q_j), and both keep their own law."""
    p, q = np.array(random_table(6, 0, 3)[()]), np.array(random_table(6, 0, 4)[()])
    chance = sum(1 / np.maximum(p / p[j], q / q[j]).sum() for j in range(6))
    distance = np.abs(p - q).sum() / 2
    assert (1 - distance) / (1 + distance) <= chance <= 1 - distance
    count = 4000
    drafted, drawn = first_tokens(count, coupled=True).T
    error = 4 / (2 * np.sqrt(count))  # four standard deviations at most
    assert abs((drafted == drawn).mean() - chance) < error
    assert np.abs(np.bincount(drafted, minlength=6) / count - q).max() < error
    assert np.abs(np.bincount(drawn, minlength=6) / count - p).max() < error
    apart = first_tokens(count, knobs=Knobs(draft_sample_method="probabilistic"), coupled=True)
    assert abs((apart[:, 0] == apart[:, 1]).mean() - float(p @ q)) < error < chance - float(p @ q)


def test_siblings_are_the_runners_up_of_the_same_race() -> None:
    table, law = random_table(6, 0, 5), SamplingLaw(SamplingParams())
    drafter = ModelDrafter(TabularEngine(table), knobs=Knobs(draft_siblings=3), coupled=True)
    chance = PhiloxRandomness(7)
    proposal = drafter.propose([drafter.open([0], law)], [5], [chance])[0]
    assert proposal.parents.tolist() == [-1, -1, -1, 0, 3]
    assert proposal.laws == (None,) * 5
    q, order = np.array(table[()]), []
    for _ in range(3):
        order.append(chance.choose(q, Purpose.TARGET, 1))
        q[order[-1]] = 0.0
    assert proposal.tokens[:3].tolist() == order
    assert proposal.tokens[3] == chance.choose(np.array(table[()]), Purpose.TARGET, 2)
