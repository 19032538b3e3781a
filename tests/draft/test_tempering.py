"""The tuned temperature of drafts: exact while it changes, mutants that are not, and where it settles."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, random_table, text_law
from truedraw import load
from truedraw.draft import gains as gains_module
from truedraw.draft import tempering
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.tempering import RATIOS, OwnLaw, Tempering, Tuner, Variant
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, EngineError
from truedraw.generate.speculation import speculation
from truedraw.protocol import Proposal, Scores
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks, run

PROMPT = (0, 1, 0)
ROUNDING, VISIBLE = 1e-12, 0.003
PARAMS = {"plain": {}, "cold": {"temperature": 0.6}, "cut": {"temperature": 0.8, "top_p": 0.9},
          "penalties": {"repetition_penalty": 1.4}}  # fmt: skip
RULES = ["token", "block", "traversal", "recursive"]


TARGET = {(): [0.5, 0.5], (0,): [0.6, 0.4], (1,): [0.2, 0.8]}
DRAFT = {(): [0.5, 0.5], (0,): [0.97, 0.03], (1,): [0.45, 0.55]}  # too sure behind one token, not enough behind another


def scenario(name: str = "cold") -> Scenario:
    return Scenario(name, TARGET, DRAFT, PARAMS[name], draft_tokens=2, max_tokens=4)


def expected(case):
    """The law of the text; penalties look at it, and have none by definition: plain sampling's then."""
    if "repetition_penalty" not in case.params:
        return text_law(case, PROMPT)
    return law(replace(case, draft_tokens=0), lambda: counts(case))


@pytest.fixture
def eager(monkeypatch):
    """Every round is learnt from, and believed at once."""
    monkeypatch.setattr(gains_module, "SOONEST", 1)
    monkeypatch.setattr(gains_module, "SELDOM", 1)
    monkeypatch.setattr(gains_module, "FEW", 1)


def counts(case, kind=NgramLMDrafter, **more):
    return kind(len(case.target[()]), tempering=Tempering(), **more)


def model(case, kind=ModelDrafter, **more):
    return kind(TabularEngine(case.draft), tempering=Tempering(), **more)


def law(case, make, rule="traversal", watch=None):
    """Of the loop's text; every branch has a drafter of its own, which starts with nothing known."""

    def text(walker):
        drafter = make()
        found = run(case, walker, find("verifiers", rule)(), drafter, prompt=PROMPT)[0]
        if watch is not None:
            watch.append(drafter)
        return found

    return law_of(text)


def ratios(drafter) -> list[float]:
    return [tuner.variant.ratio for tuner in drafter._tempering._tuners.values()]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("make", [counts, model], ids=lambda each: each.__name__)
def test_the_law_is_kept_while_the_temperature_changes(eager, make, name, rule) -> None:
    case, seen = scenario(name), []
    assert total_variation(law(case, lambda: make(case), rule, seen), expected(case)) < ROUNDING
    assert len({ratio for drafter in seen for ratio in ratios(drafter)}) > 1


@pytest.mark.parametrize("make", [counts, model], ids=lambda each: each.__name__)
def test_siblings_and_three_tokens(eager, make) -> None:
    case = Scenario("three", random_table(3, 1, 5), random_table(3, 1, 6), {"temperature": 0.7}, 2, 3)
    found = law(case, lambda: make(case, knobs=Knobs(draft_siblings=2)))
    assert total_variation(found, text_law(case, PROMPT)) < ROUNDING


@pytest.mark.parametrize("rule", ["token", "traversal"])
def test_two_samples_that_tune_for_one_another_are_independent(eager, rule) -> None:
    case = replace(scenario(), draft_tokens=1, max_tokens=3)
    one = text_law(case, PROMPT)
    found = law_of(lambda walker: run(case, walker, find("verifiers", rule)(), model(case), n=2, prompt=PROMPT))
    independent = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(found, independent) < ROUNDING


class ReportedLate(ModelDrafter):
    """The mutant: tokens are drawn at the temperature of the round before, and handed over at the one tuned since."""

    before = 1.0

    def propose(self, states, budgets, randomness):
        (tuner,) = self._tempering._tuners.values()
        new, tuner.variant = tuner.variant.ratio, Variant(self.before)
        found = super().propose(states, budgets, randomness)
        power, self.before, tuner.variant = self.before / new, new, Variant(new)
        return [Proposal(p.tokens, p.parents, tuple(normalised(q**power) for q in p.laws)) for p in found]


class Anticipating(ModelDrafter):
    """The mutant: the temperature that is handed over depends on the token that was drawn."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [
            Proposal(p.tokens, p.parents, tuple(normalised(q ** (0.5 if token else 2.0))
                                                for q, token in zip(p.laws, p.tokens.tolist(), strict=True)))
            for p in found
        ]  # fmt: skip


def normalised(weights):
    return weights / weights.sum()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mutant", [ReportedLate, Anticipating])
def test_mutants_are_caught(eager, mutant, rule) -> None:
    case = scenario()
    assert total_variation(law(case, lambda: model(case, mutant), rule), text_law(case, PROMPT)) > VISIBLE


@pytest.mark.parametrize("make", [lambda case: counts(case, coupled=True), lambda case: model(case, coupled=True)])
def test_with_a_seed_the_text_is_the_same(eager, make) -> None:
    case = Scenario("seeded", random_table(50, 1, 70), random_table(50, 1, 9))
    for check in drafter_checks(lambda: make(case), 50):
        check()


# ------------------------------------------------------------------------------------------------ what it settles on


def gains(best: float, rng, width: float = 0.1, noise: float = 0.05) -> np.ndarray:
    """sum(min(p, q)) at a place, by RATIOS: best at one of them, and different from place to place."""
    base = rng.uniform(0.2, 0.8)
    return np.array([base - width * abs(np.log(r / best)) + noise * rng.normal() * (r != 1.0) for r in RATIOS])


@pytest.mark.parametrize("best", [0.5, 0.8, 1.3, 3.0])
def test_it_finds_the_best_and_finds_it_anew(best: float) -> None:
    tuner, rng = Tuner(), np.random.default_rng(1)
    for _ in range(400):
        tuner.saw(gains(best, rng))
    assert tuner.variant.ratio == best
    for _ in range(800):
        tuner.saw(gains(1.0, rng))
    assert tuner.variant.ratio == 1.0


def test_where_nothing_gains_it_stays() -> None:
    rng, left = np.random.default_rng(2), 0
    for _ in range(50):
        tuner = Tuner()
        for _ in range(100):
            tuner.saw(gains(1.0, rng))
            left += tuner.variant.ratio != 1.0
    assert left < 0.01 * 50 * 100


def test_nothing_is_believed_before_some_places_and_places_become_rare() -> None:
    tuner, due, at = Tuner(), 0, []
    for number in range(40_000):
        if tuner.due():
            due += 1
            at.append(number)
            tuner.saw(gains(3.0, np.random.default_rng(number)))
        assert tuner.variant.ratio == 1.0 or due >= gains_module.FEW
    assert at[0] == gains_module.SOONEST - 1
    steps = [b - a for a, b in pairwise(at)]
    assert steps == sorted(steps)
    assert steps[-1] == gains_module.SELDOM


def test_targets_of_other_temperatures_are_told_apart_and_some_have_none() -> None:
    known = Tempering()
    tuners = [known.tuner(target(temperature=t)) for t in (1.0, 0.7, 1.0)]
    assert tuners[0] is tuners[2] is not tuners[1]
    assert known.tuner(target(top_p=0.9)) is not known.tuner(target(top_p=0.8))
    assert known.tuner(target(top_p=0.9)) is not known.tuner(target(top_p=0.9), cuts=False)
    assert known.tuner(target(temperature=0.0)) is None
    assert known.tuner(lambda logits: logits) is None
    for number in range(100):
        known.tuner(target(temperature=1.0 + number))
    assert len(known._tuners) == tempering.MOST_KINDS


def test_a_gain_without_doubt_is_believed_after_so_many_places_and_not_before() -> None:
    tuner, gained = Tuner(), np.full(len(RATIOS), 0.1)
    gained[0], gained[3] = 0.0, 0.3
    for _ in range(gains_module.FEW - 1):
        tuner.saw(gained)
        assert tuner.variant.ratio == 1.0
    for _ in range(50):
        tuner.saw(gained)
        assert tuner.variant.ratio == RATIOS[3]


@pytest.mark.parametrize("error", [BadParameter("logits", "none is left"), EngineError("no numbers")], ids=str)
def test_where_a_law_leaves_nothing_of_a_draft_nothing_is_kept(error) -> None:
    def fails(law):
        raise error

    assert tempering.overlap(np.full(9, 1 / 9), target(), fails) == 0.0


def test_the_oldest_kind_of_target_is_the_one_that_is_forgotten() -> None:
    known, kinds = Tempering(), [target(temperature=1.0 + number) for number in range(tempering.MOST_KINDS + 1)]
    tuners = [known.tuner(each) for each in kinds]
    assert [known.tuner(each) for each in kinds[1:]] == tuners[1:]
    assert known.tuner(kinds[0]) is not tuners[0]


def test_cuts_are_compared_at_the_temperature_that_drafts_have_and_by_what_was_seen_there() -> None:
    tuner, size = Tuner(("wide", "narrow")), len(RATIOS)

    def sees(wide: float) -> None:
        """The fourth temperature is the best; the wide cut gains so much at the one that drafts have."""
        seen = np.full(size + 2, 0.1)
        seen[3] = 0.4
        seen[size] = seen[RATIOS.index(tuner.variant.ratio)] + wide
        tuner.saw(seen)

    for _ in range(gains_module.FEW):
        sees(0.05)
    assert tuner.variant == Variant(RATIOS[3])  # of the cuts nothing is known there
    assert tuner.variants()[size:] == [Variant(RATIOS[3], "wide"), Variant(RATIOS[3], "narrow")]
    for _ in range(2 * gains_module.FEW):
        sees(-0.05)
        assert tuner.variant == Variant(RATIOS[3])
    for _ in range(60):
        sees(0.2)
    assert tuner.variant == Variant(RATIOS[3], "wide")


def target(vocab=9, **params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), vocab))


@pytest.mark.parametrize("name", [*PARAMS, "impossible"])
def test_what_is_learnt_are_the_overlaps_by_their_definition(eager, name) -> None:
    """Of the counts' own law, which knows few tokens; of a law that leaves none of them nothing is kept."""
    rng, prompt = np.random.default_rng(3), [0, 1, 2, 0, 1, 2, 0, 1, 3, 0]  # no two of them as likely
    given = {"allowed_token_ids": [7, 8]} if name == "impossible" else PARAMS[name]
    drafter, p_law, seen = NgramLMDrafter(9, tempering=Tempering()), target(**given), []
    state = drafter.open(prompt, p_law)
    (tuner,) = drafter._tempering._tuners.values()
    tuner.saw = seen.append
    row = rng.normal(size=(1, 9)).astype(np.float32)
    opinion = state.source.opinion(state.place)
    state.commit([1], Scores(row))
    logits = np.full(9, -np.inf, np.float32)
    logits[opinion.tokens] = opinion.logits - (opinion.logits.max() if p_law.transform is None else 0.0)
    overlaps = [
        0.0 if name == "impossible" else np.minimum(p_law(row[0]), p_law.tempered(r)(logits)).sum() for r in RATIOS
    ]
    if name == "cut":  # without the target's top_p, and with it
        for cuts in ({"top_k": 200}, {"top_k": 10, "top_p": 0.9}):
            overlaps.append(np.minimum(p_law(row[0]), target(temperature=0.8, **cuts)(logits)).sum())
    np.testing.assert_allclose(seen, [overlaps], atol=1e-6)


def test_a_model_learns_at_the_text_itself_and_not_behind_what_must_come(eager) -> None:
    drafter, seen = ModelDrafter(TabularEngine(random_table(9, 1, 3)), tempering=Tempering()), []
    state = drafter.open([0, 1], target())
    (tuner,) = drafter._tempering._tuners.values()
    tuner.saw = seen.append
    row = np.zeros((1, 9), np.float32)
    drafter.propose([state.ahead([2])], [2], [PhiloxRandomness(1)])
    state.commit([2], Scores(row))
    assert not seen
    drafter.propose([state], [2], [PhiloxRandomness(1)])
    state.commit([3], Scores(row))
    said = np.log(random_table(9, 1, 3)[(2,)]).astype(np.float32)
    np.testing.assert_allclose(seen[0], [np.minimum(1 / 9, target(temperature=r)(said)).sum() for r in RATIOS])
    state.commit([4], Scores(row))
    assert len(seen) == 1


# ------------------------------------------------------------------------------------------------------- the setting


@pytest.mark.parametrize("given", ["hot", "", "1.0", True, -1, float("nan"), float("inf"), [1.0], {}], ids=str)
def test_nonsense_is_refused(given) -> None:
    with pytest.raises(BadParameter, match="draft_temperature: got"):
        speculation({"method": "ngram-lm", "draft_temperature": given})


def test_a_method_that_does_not_tune_says_so() -> None:
    with load("tabular") as toy, pytest.raises(BadParameter, match="the method staged does not tune it"):
        toy.generate("the", speculative={"method": "staged", "model": "tabular", "draft_temperature": "auto"})


@pytest.mark.parametrize(
    ("settings", "tunes"),
    [({}, True), ({"draft_temperature": "auto"}, True), ({"draft_temperature": "target"}, False),
     ({"draft_temperature": 0.9}, False), ({"draft_sample_method": "greedy"}, False)],
    ids=str,
)  # fmt: skip
def test_a_number_or_the_targets_switches_it_off(settings, tunes) -> None:
    with load("tabular") as toy:
        config = {"method": "ngram-lm", "adaptive": False, **settings}
        result = toy.generate("the cat sat", speculative=config, max_tokens=60, ignore_eos=True)
        assert (result.fallback, result.stats.drafted > 0) == (None, True)
        known = toy.drafts.tempering(speculation(config).name)._tuners
        assert bool(known) is tunes
        if tunes:
            (tuner,) = known.values()
            before = tuner._gains._places
            assert before > 0
            toy.generate("the cat sat", speculative=config, max_tokens=60, ignore_eos=True)
            assert tuner._gains._places > before  # one run goes on from what another has learnt


@pytest.mark.parametrize("knobs", [{}, {"draft_top_k": 3}, {"draft_temperature": "target"}], ids=str)
def test_without_what_is_known_drafts_have_the_targets_temperature(knobs) -> None:
    law, logits = target(temperature=0.6), np.arange(9, dtype=np.float32)
    own = OwnLaw.of(law, Knobs(**knobs), None)
    assert not own.is_due()
    np.testing.assert_array_equal(own.after([1]).now()(logits), Knobs(**knobs).law(law)(logits))


def test_rounds_in_a_row_end_with_one_that_is_learnt_from() -> None:
    """It is the last of as many as are told beforehand, and none is before it."""
    own = OwnLaw.of(SamplingLaw(sampling_params({"temperature": 0.8})), Knobs(), Tempering())
    for _ in range(6):
        rounds = own.settled(1000)
        assert [own.is_due() for _ in range(rounds)] == [False] * (rounds - 1) + [True]
    assert own.settled(2) == 2
    assert OwnLaw.of(SamplingLaw(sampling_params({})), Knobs(), None).settled(8) == 8


def test_drafts_are_drawn_by_what_is_known_by_now_at_each_place() -> None:
    """Also where a text stands still while others teach, and where texts take turns."""
    tuner, laws = Tuner(), [target(temperature=t) for t in (1.0, 0.5)]
    for ratio in (0.5, 1.3, 1.3, 1.0, 0.5):
        tuner.variant = Variant(ratio)
        assert tuner.law(laws[0]).temperature == ratio
    for ratio in (1.3, 0.5):
        tuner.variant = Variant(ratio)
        assert [tuner.law(own).temperature for own in laws] == [ratio, 0.5 * ratio]
    assert tuner.law(laws[1]) is tuner.law(laws[1])


@pytest.mark.parametrize("knobs", [{}, {"draft_top_k": 2}], ids=str)
def test_the_targets_law_goes_on_with_the_text_as_that_of_drafts_does(knobs) -> None:
    law, logits = target(repetition_penalty=1.5), np.arange(9, dtype=np.float32)
    own = OwnLaw.of(law, Knobs(**knobs), Tempering()).after([8])
    np.testing.assert_array_equal(own.target(logits), law.after(8)(logits))
    np.testing.assert_array_equal(own.now()(logits), Knobs(**knobs).law(law.after(8))(logits))
