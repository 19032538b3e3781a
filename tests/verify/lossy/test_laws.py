"""What the lossy rules do, enumerated: how far from the target, and never farther than they say."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import SCENARIOS, Scenario, TableDrafter, random_table, text_law
from truedraw.draft.ngram import NgramDrafter
from truedraw.protocol import LossyVerifier, Proposal, Purpose
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.runs import PROMPT, run
from truedraw.testing.short import shortened
from truedraw.testing.trees import SHAPES, TreeDrafter
from truedraw.verify.lossy.lenient import LenientVerifier
from truedraw.verify.lossy.skip import SkipVerifier
from truedraw.verify.lossy.typical import TypicalVerifier

ROUNDING = 1e-12
EXACT_SETTINGS = [partial(LenientVerifier, lenience=1), partial(SkipVerifier, audit_rate=1, skip_above=0.1)]
RULES = [
    partial(LenientVerifier, 1.3),
    partial(LenientVerifier, 3.0),
    partial(LenientVerifier, 1e6),
    partial(SkipVerifier, 0.5, 0.3),
    partial(SkipVerifier, 0.01, 0.05),
]
TREES = Scenario("trees", random_table(2, 1, 52), random_table(2, 1, 53), draft_tokens=4, max_tokens=5)


def random_laws(count: int):
    rng = np.random.default_rng(7)
    for vocab in (2, 3, 5, 8):
        for _ in range(count):
            p, q = rng.dirichlet(np.full(vocab, 0.6), size=2)
            yield p, q, 1 + float(rng.exponential(1.5))


def law_of_one_draft(rule: LossyVerifier, p, q) -> np.ndarray:
    """The first token's law [vocab] after one sampled draft."""

    def first(walker):
        chance = walker.sample(0)
        draft = chance.choose(q, Purpose.DRAFT, 5)
        return rule(Proposal.chain([draft], [q]), [p, p], chance, 5).tokens[0]

    law = law_of(first)
    return np.array([law.get(token, 0.0) for token in range(len(p))])


def tv(a, b) -> float:
    return 0.5 * float(np.abs(a - b).sum())


def test_skipping_never_keeps_what_the_target_excludes() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    rule = SkipVerifier(0.5, 0.1)
    law = law_of_one_draft(rule, p, q)
    assert law == pytest.approx(
        [0.1 * 0.5 + 0.9 * (0.2 + 0.5 * 0.3 / 0.5), 0.1 * 0.5 + 0.9 * (0.3 + 0.5 * 0.2 / 0.5), 0]
    )
    assert tv(law, p) == pytest.approx(0.0)  # all that q has too much of is excluded: the residual puts it right
    assert rule.tally.eligible.seen == 0.0


@pytest.mark.parametrize("settings", [(0.5, 0.2), (0.05, 0.7)])
def test_a_skipping_rule_mixes_q_and_p(settings) -> None:
    for p, q, _ in random_laws(6):
        missed = 1 - settings[1] if q.max() >= settings[0] else 0.0
        assert law_of_one_draft(SkipVerifier(*settings), p, q) == pytest.approx(missed * q + (1 - missed) * p)


def test_lenience_is_as_far_from_p_as_it_says_and_less_than_it_promises() -> None:
    for p, q, lenience in random_laws(10):
        rule = LenientVerifier(lenience)
        said = float((np.minimum(q, lenience * p) - np.minimum(q, p)).sum())
        found = tv(law_of_one_draft(rule, p, q), p)
        assert found == pytest.approx(said, abs=ROUNDING)
        assert found <= min(rule.loss().details["tv_of_any_token"], tv(p, q)) + ROUNDING
        assert found > 0 or (q <= p + ROUNDING).all() or lenience == 1


def test_lenience_never_exceeds_its_bound_on_any_table() -> None:
    worst = 0.0
    for p, q, lenience in random_laws(500):
        kept, left = np.minimum(q, lenience * p), np.maximum(p - q, 0)
        out = kept + (1 - kept.sum()) * left / left.sum()
        worst = max(worst, tv(out, p) - (1 - 1 / lenience))
        assert tv(out, p) <= (kept - np.minimum(q, p)).sum() + ROUNDING
    assert -0.2 < worst <= ROUNDING  # the bound that needs no laws is nearly reached


def loss_and_bias(make, scenario: Scenario, drafter) -> tuple[float, float]:
    """(expected sum over the text of what the rule says, total variation of the text)."""

    def one(walker):
        rule = make()
        text = run(scenario, walker, rule, drafter)[0]
        loss = rule.loss()
        each = loss.details["tv_per_token_estimate"] if isinstance(rule, SkipVerifier) else loss.tv_per_token
        return text, each * loss.tokens

    law = law_of(one)
    texts: dict = {}
    for (text, _), weight in law.items():
        texts[text] = texts.get(text, 0.0) + weight
    said = math.fsum(said * weight for (_, said), weight in law.items())
    return said, total_variation(texts, text_law(scenario, PROMPT))


@pytest.mark.parametrize("scenario", [shortened(s) for s in SCENARIOS], ids=str)
@pytest.mark.parametrize("make", RULES, ids=str)
def test_the_law_of_a_text_is_no_farther_than_the_expected_sum(make, scenario: Scenario) -> None:
    said, bias = loss_and_bias(make, scenario, TableDrafter(scenario.draft))
    assert bias <= said + ROUNDING


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", [RULES[0], RULES[3]], ids=str)
def test_the_same_holds_for_trees(make, shape) -> None:
    said, bias = loss_and_bias(make, TREES, TreeDrafter(TREES.draft, shape))
    assert ROUNDING < bias <= said + ROUNDING


@pytest.mark.parametrize("make", EXACT_SETTINGS, ids=str)
def test_the_mildest_setting_is_exact(make) -> None:
    for scenario in SCENARIOS[:3]:
        assert loss_and_bias(make, shortened(scenario), TableDrafter(scenario.draft))[1] < ROUNDING


def test_what_lenience_says_of_one_place_is_its_distance_over_the_tokens_of_the_round() -> None:
    p, q, rule = np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.1, 0.2]), LenientVerifier(2.0)
    tokens = rule(Proposal.chain([0], [q]), [p, p], PhiloxRandomness(3, 0), 5).tokens
    assert (rule.loss().tokens, rule.loss().tv_per_token) == (len(tokens), pytest.approx((0.4 - 0.2) / len(tokens)))


def test_what_skipping_says_is_its_bound_over_the_share_that_is_not_audited() -> None:
    rule = SkipVerifier(0.5, 0.3)
    for place in range(400):
        rule.tally.eligible.looked(0.1 * (place % 3)) if place % 4 == 0 else rule.tally.eligible.skipped()
    rule.tally.tokens = 500
    eligible, loss = rule.tally.eligible, rule.loss()
    assert eligible.estimate < eligible.bound < eligible.places
    assert loss.tv_per_token == pytest.approx((1 - 0.3) * eligible.bound / 500)
    assert loss.details == {
        "tv_per_token_estimate": pytest.approx((1 - 0.3) * eligible.estimate / 500),
        "eligible": 400,
        "audited": 100,
    }


def test_certain_drafts_are_never_skipped() -> None:
    scenario = shortened(SCENARIOS[1])
    law = law_of(
        lambda walker: run(scenario, walker, SkipVerifier(0.01, 0.01), NgramDrafter(1, 2), prompt=(0, 1, 0))[0]
    )
    assert total_variation(law, text_law(scenario, (0, 1, 0))) < ROUNDING


def test_typical_acceptance_keeps_a_certain_draft_whatever_p_says() -> None:
    p = np.array([0.3, 0.6, 0.1])
    law = law_of(lambda walker: TypicalVerifier()(Proposal.chain([0]), [p, p], walker.sample(0), 3).tokens[0])
    assert law == {0: pytest.approx(1.0)}  # 1 - p(0) = 0.7 away
    law = law_of(lambda walker: TypicalVerifier(0.5, 1)(Proposal.chain([2]), [p, p], walker.sample(0), 3).tokens[0])
    assert law == pytest.approx(dict(enumerate(p)))


def test_typical_acceptance_has_the_threshold_of_its_source() -> None:
    """p > min(0.09, 0.3 exp(-H)): with a flat row of 16 tokens the entropy decides, 0.3 / 16 < 1 / 16."""
    flat, peaked = np.full(16, 1 / 16), np.array([0.93, 0.07])
    keeps = TypicalVerifier()
    assert keeps(Proposal.chain([3]), [flat, flat], Likeliest(), 3).num_accepted == 1
    assert keeps(Proposal.chain([1]), [peaked, peaked], Likeliest(), 3).num_accepted == 0
    assert keeps.loss().tv_per_token is None
    assert keeps.loss().details == {"tokens_from_drafts": 1}


class Likeliest:
    """Draws the likeliest token."""

    def choose(self, weights, purpose, position, node=0):
        return int(weights.argmax())


@pytest.mark.parametrize("make", [*RULES, TypicalVerifier], ids=str)
def test_they_say_that_they_are_lossy(make) -> None:
    rule = make()
    assert isinstance(rule, LossyVerifier)
    assert not rule.exact
    assert not rule.coupled
    loss = rule.loss()
    assert (loss.tokens, bool(loss.meaning), bool(loss.settings)) == (0, True, True)
