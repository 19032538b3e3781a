"""A drafter that is drafted for: its law enumerated over three different tables, its passes, its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from draft.drafting import Counting
from enumeration import KeyReused, law_of, total_variation
from generate.coupled_noise import CoupledWalker
from guided import END, finite, legal_after, masked_text_law
from known_laws import SCENARIOS, Scenario, TableDrafter, lookup, random_table, text_law
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.staged import StagedDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import OutOfPages
from truedraw.protocol import Proposal
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact
from truedraw.testing.runs import run
from truedraw.testing.trees import SHAPES, TreeDrafter

ROUNDING = 1e-12
PROMPT = (0, 1, 0)
SHORT = [
    replace(scenario, draft_tokens=min(scenario.draft_tokens, 3), max_tokens=min(scenario.max_tokens, 3))
    for scenario in SCENARIOS
]
DEEP = Scenario("deep", random_table(2, 1, 200), random_table(2, 1, 201), draft_tokens=4, max_tokens=4)
WIDE = Scenario("wide", random_table(3, 1, 202), random_table(3, 1, 203), draft_tokens=3, max_tokens=3)
RULES = ["token", "block", "traversal", "recursive"]


def small(vocab: int, seed: int = 204):
    return random_table(vocab, 1, seed)


def staged(table, inner, *, stage="ngram", **more) -> StagedDrafter:
    knobs = Knobs(**more.pop("knobs", {}))
    return StagedDrafter(TabularEngine(table), lambda config: inner, stage=stage, knobs=knobs, **more)


def over_a_table(table, **more) -> StagedDrafter:
    return staged(table, TableDrafter(small(len(table[()]))), **more)


@pytest.mark.parametrize("rule", [*RULES, "kseq", "multipath"])
@pytest.mark.parametrize("scenario", SHORT, ids=str)
def test_three_laws_in_a_row_keep_the_targets(scenario: Scenario, rule: str) -> None:
    require_exact(replace(scenario, draft_tokens=2), PROMPT, find("verifiers", rule)(), over_a_table(scenario.draft))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("more", [{}, {"staged_passes": 1}, {"staged_passes": 2},
                                  {"stage": {"method": "x", "num_speculative_tokens": 1}}], ids=str)  # fmt: skip
@pytest.mark.parametrize("scenario", [DEEP, WIDE], ids=str)
def test_chains_of_random_length_keep_the_law(scenario: Scenario, more, rule: str) -> None:
    require_exact(scenario, PROMPT, find("verifiers", rule)(), over_a_table(scenario.draft, **more))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whatever_the_stage_proposes(shape) -> None:
    target = replace(DEEP, draft_tokens=1 + len(shape.nodes), max_tokens=3)
    require_exact(target, PROMPT, find("verifiers", "block")(), staged(target.draft, TreeDrafter(small(2), shape)))


@pytest.mark.parametrize("knobs", [
    {"draft_temperature": 0.5}, {"draft_top_k": 1}, {"draft_top_p": 0.7, "draft_temperature": 1.6},
    {"draft_stop_below": 0.6}, {"draft_stop_entropy": 0.6}, {"draft_sample_method": "greedy"},
], ids=str)  # fmt: skip
def test_every_law_of_the_middle_model_keeps_the_law(knobs) -> None:
    for scenario in (DEEP, replace(WIDE, params={"temperature": 0.7, "top_p": 0.9})):
        for inner in (TableDrafter(small(len(scenario.draft[()]))), NgramDrafter()):
            require_exact(
                scenario, PROMPT, find("verifiers", "traversal")(), staged(scenario.draft, inner, knobs=knobs)
            )


def test_a_stage_in_a_stage_keeps_the_law() -> None:
    inner = staged(small(2), ModelDrafter(TabularEngine(small(2, 205))))
    for passes in (None, 1):
        require_exact(DEEP, PROMPT, find("verifiers", "block")(), staged(DEEP.draft, inner, staged_passes=passes))


def test_what_the_middle_model_rules_out_ends_the_chain() -> None:
    middle = {(): [0.5, 0.5, 0.0], (0,): [0.0, 1.0, 0.0], (1,): [0.3, 0.7, 0.0]}
    scenario = replace(WIDE, params={"allowed_token_ids": [0, 2]})
    drafter = staged(middle, TableDrafter(small(3)))
    law = law_of(lambda walker: run(scenario, walker, find("verifiers", "block")(), drafter, prompt=PROMPT)[0])
    allowed = {context: normalised_over(row, (0, 2)) for context, row in scenario.target.items()}
    assert total_variation(law, text_law(replace(scenario, target=allowed, params={}), PROMPT)) < ROUNDING


def normalised_over(row, allowed) -> list[float]:
    total = sum(row[i] for i in allowed)
    return [w / total if i in allowed else 0.0 for i, w in enumerate(row)]


class Narrow(TabularEngine):
    """Has room for so many draft tokens in a pass."""

    def __init__(self, table, most: int, knows: bool = True) -> None:
        super().__init__(table)
        self._most, self._knows, self.refused = most, knows, 0

    def fits(self, works, fills=()):
        return not self._knows or sum(len(work.proposal) for work in works) <= self._most

    def forward(self, works, fills=()):
        if sum(len(work.proposal) for work in works) > self._most:
            self.refused += 1
            raise OutOfPages("the cache is out of pages")
        return super().forward(works, fills)


class Ragged(TableDrafter):
    """Drafts until it has drawn a 1: how much room that takes depends on what was drawn."""

    def chain(self, state, budget, randomness):
        whole = super().chain(state, budget, randomness)
        end = next((place + 1 for place, token in enumerate(whole.tokens.tolist()) if token == 1), len(whole))
        return whole.only(np.arange(end))


def without_room(monkeypatch, most: int, rule: str, knows: bool) -> tuple[Narrow, float]:
    monkeypatch.setattr("truedraw.engine.tabular.TabularSequence.evict", lambda self: None, raising=False)
    engine = Narrow(DEEP.draft, most, knows)
    drafter = StagedDrafter(engine, lambda config: Ragged(small(2)), stage="x")
    law = law_of(lambda walker: run(DEEP, walker, find("verifiers", rule)(), drafter, prompt=PROMPT)[0])
    return engine, total_variation(law, text_law(DEEP, PROMPT))


@pytest.mark.parametrize("rule", ["block", "traversal"])
@pytest.mark.parametrize("most", [0, 1])
def test_a_chain_for_whose_guesses_there_may_be_no_room_keeps_the_law(monkeypatch, most: int, rule: str) -> None:
    engine, wrong = without_room(monkeypatch, most, rule, knows=True)
    assert wrong < ROUNDING
    assert not engine.refused


def test_the_oracle_sees_guesses_that_are_drawn_before_room_is_looked_for(monkeypatch) -> None:
    engine, wrong = without_room(monkeypatch, 1, "block", knows=False)
    assert wrong > 1e-3
    assert engine.refused


WORDS = [(0, 1, 2, 0, END), (0, 1, 2, 1, END), (2, 1, 0, END), (2, 1, 1, 2, END)]


@pytest.mark.parametrize("inner", [TableDrafter(small(4)), NgramDrafter()], ids=["table", "ngram"])
def test_behind_forced_tokens_it_goes_on_and_keeps_the_law(inner) -> None:
    tables = random_table(4, 1, 302), random_table(4, 1, 303)
    case = Scenario("forced", *tables, draft_tokens=3, max_tokens=5, end_ids=(END,), masks=(finite(WORDS),))
    engine = Counting(case.draft)
    drafter = StagedDrafter(engine, lambda config: inner)
    found = law_of(lambda walker: run(case, walker, find("verifiers", "traversal")(), drafter, prompt=PROMPT)[0])
    expected = masked_text_law(case, PROMPT, lambda text: legal_after(case.masks[0], text, 4))
    assert total_variation(found, expected) < ROUNDING
    assert any(rows > 0 for works in engine.passes for rows in works)


class TheStagesLaw(StagedDrafter):
    """The bug: what the stage proposed is handed over with the stage's law, though the middle model decided."""

    def propose(self, states, budgets, randomness):
        found = []
        for state, proposal in zip(states, super().propose(states, budgets, randomness), strict=True):
            laws = [np.array(lookup(small(2), [*state.text.tokens, *proposal.tokens[:i].tolist()]))
                    for i in range(len(proposal))]  # fmt: skip
            found.append(Proposal.chain(proposal.tokens.tolist(), laws))
        return found


class DropsWhatWasCorrected(StagedDrafter):
    """The bug: the last token is dropped where the stage was wrong about it."""

    def propose(self, states, budgets, randomness):
        guessed = []
        ask = self._stage.propose

        def listening(*asked):
            guessed.append(ask(*asked)[0])
            return guessed[-1:]

        self._stage.propose = listening
        [proposal] = super().propose(states, budgets, randomness)
        self._stage.propose = ask
        first = guessed[0].tokens.tolist() if guessed else []
        if len(proposal) > 1 and first and first[0] != int(proposal.tokens[0]):
            return [Proposal.chain([])]
        return [proposal]


@pytest.mark.parametrize("kind", [TheStagesLaw, DropsWhatWasCorrected])
def test_the_oracle_sees_what_bends_the_law(kind) -> None:
    drafter = kind(TabularEngine(DEEP.draft), lambda config: TableDrafter(small(2)))
    law = law_of(lambda walker: run(DEEP, walker, find("verifiers", "block")(), drafter, prompt=PROMPT)[0])
    assert total_variation(law, text_law(DEEP, PROMPT)) > 1e-3


def test_the_oracle_sees_names_that_are_used_twice(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.draft.staged_chain.StagedChance", lambda randomness, position: randomness)
    with pytest.raises(KeyReused):
        require_exact(DEEP, PROMPT, find("verifiers", "block")(), over_a_table(DEEP.draft))


def contract(vocab: int, coupled: bool, stage: str) -> None:
    def make() -> StagedDrafter:
        small_model = TabularEngine(small(vocab))
        inner = NgramDrafter() if stage == "ngram" else ModelDrafter(small_model, coupled=coupled)
        return staged(random_table(vocab, 1, 9), inner, coupled=coupled)

    for check in drafter_checks(make, vocab):
        check()


@pytest.mark.parametrize(
    ("stage", "vocab"),
    [("ngram", 3), ("model", 2), *(pytest.param(stage, 50, marks=pytest.mark.slow) for stage in ("ngram", "model"))],
)
def test_it_keeps_the_contract_of_a_drafter(stage: str, vocab: int) -> None:
    contract(vocab, False, stage)


@pytest.mark.parametrize("stage", ["ngram", "model"])
def test_it_keeps_the_contract_with_the_noise_of_the_target(stage: str) -> None:
    """Over many tokens only: that noise is drawn again on purpose, and the oracle of small ones knows no noise."""
    contract(50, True, stage)


@pytest.mark.slow
def test_it_keeps_the_contract_over_a_model_of_three_tokens() -> None:
    contract(3, False, "model")


def test_coupled_it_drafts_what_the_middle_model_would_have_drafted_alone() -> None:
    table, law = random_table(50, 1, 9), SamplingLaw(SamplingParams())
    for inner in (NgramDrafter(), ModelDrafter(TabularEngine(small(50)), coupled=True), TableDrafter(small(50))):
        alone, drafter = ModelDrafter(TabularEngine(table), coupled=True), staged(table, inner, coupled=True)
        for seed in range(20):
            budget, chance = 1 + seed % 7, PhiloxRandomness(seed)
            text = [seed, 3, seed, 3]
            [one] = alone.propose([alone.open(text, law)], [budget], [chance])
            [other] = drafter.propose([drafter.open(text, law)], [budget], [chance])
            assert one.tokens.tolist() == other.tokens.tolist()
            assert other.laws == (None,) * budget
            assert one.confidence == pytest.approx(other.confidence, abs=ROUNDING)


QUARTERS = Scenario(
    "in quarters",
    {(): [0.5, 0.5, 0.0], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.5, 0.0, 0.5]},
    {(): [0.25, 0.25, 0.5], (0,): [0.25, 0.5, 0.25], (1,): [0.5, 0.25, 0.25], (2,): [0.0, 0.5, 0.5]},
    draft_tokens=2,
    max_tokens=3,
)


@pytest.mark.parametrize("rule", ["coupled", *RULES])
@pytest.mark.parametrize("stage", ["ngram", "model"])
def test_drafts_with_the_targets_noise_keep_the_law_under_every_rule(stage: str, rule: str) -> None:
    middle = {context: row[::-1] for context, row in QUARTERS.target.items()}
    inner = NgramDrafter() if stage == "ngram" else ModelDrafter(TabularEngine(QUARTERS.draft), coupled=True)
    drafter, verifier = staged(middle, inner, coupled=True), find("verifiers", rule)()
    law = law_of(lambda walker: run(QUARTERS, walker, verifier, drafter, prompt=PROMPT)[0], CoupledWalker)
    assert total_variation(law, text_law(QUARTERS, PROMPT)) < ROUNDING
