"""Rounds decided in one compiled call are those of the rules, token by token and bit for bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from truedraw.generate.means import Means
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, ROOT, Proposal, Purpose, Scores
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.stats.check.machine import compiled_rounds
from truedraw.testing.rounds import LAWS, POSITION, RULES, AnyRound, any_round
from truedraw.verify.fused.judge import Decided, Judge
from truedraw.verify.proposals import mark_checked

MEANS = Means()
"""As the loop has them: memory that is used again for rounds of other sizes."""


def law_of(settings: dict) -> SamplingLaw:
    return SamplingLaw(SamplingParams(**settings), Opening(vocab_size=64))


def checked(proposal: Proposal, vocab: int) -> Proposal:
    """As the guard of a drafter leaves it."""
    mark_checked(proposal, vocab)
    return proposal


def case(rng: np.random.Generator) -> AnyRound:
    return any_round(rng, SamplingParams())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("params", LAWS)
def test_a_round_is_decided_at_once_as_step_by_step(rule: str, params: SamplingParams) -> None:
    rng, accepted = np.random.default_rng(3), Counter[int]()
    for _ in range(250):
        one = any_round(rng, params)
        found = one.at_once(rule, MEANS)
        assert found is not None
        assert found == one.step_by_step(rule)
        accepted[found[0].num_accepted] += 1
    assert len(accepted) > 2  # rejected at once, and behind one token and more


def test_a_rule_asks_for_it_and_the_law_stays() -> None:
    one = case(np.random.default_rng(1))
    for rule in RULES:
        rows = one.rows(MEANS)
        verdict = find("verifiers", rule)()(one.proposal, rows, one.chance, POSITION)
        assert rows.law_after(verdict.tokens) is one.law
        assert rows._told is not None


def test_another_rule_would_be_seen() -> None:
    """Otherwise the test above would prove nothing: what keeps as much at the first node differs behind it."""
    rng = np.random.default_rng(4)
    twins = [
        (one.at_once("traversal", MEANS), one.step_by_step("recursive")) for one in (case(rng) for _ in range(200))
    ]
    assert any(one[0] != other[0] for one, other in twins if one is not None)


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_check_looks_at_it(spoilt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One round of two hundred is decided otherwise."""
    if spoilt:
        decide = Judge.decide
        calls = count()

        def sometimes(*given):
            found = decide(*given)
            return found if next(calls) != 77 else replace_tokens(found)

        monkeypatch.setattr(Judge, "decide", sometimes)
    assert compiled_rounds(100).passed is not spoilt


def replace_tokens(told: Decided) -> Decided:
    return told._replace(verdict=replace(told.verdict, tokens=(1 - min(told.verdict.tokens[0], 1),)))


WRONG = {
    "a coin that is always won": lambda p: replace(
        p, laws=tuple(None if law is None else law * 0 + 1 for law in p.laws)
    ),
    "the law of the next node": lambda p: replace(p, laws=p.laws[1:] + p.laws[:1]),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_laws_of_drafts_are_what_decides(wrong) -> None:
    rng, other = np.random.default_rng(5), 0
    for _ in range(200):
        p, q = rng.dirichlet(np.ones(4), size=(2, 3))
        drafts = checked(Proposal.chain([int(rng.choice(4, p=law)) for law in q[:2]], tuple(q[:2])), 4)
        here = AnyRound(law_of({}), drafts, np.log(p).astype(np.float32), PhiloxRandomness(int(rng.integers(1 << 62))))
        twin = replace(here, proposal=checked(wrong(drafts), 4))
        verdicts = [each.rows().decide(False, each.proposal, each.chance, POSITION) for each in (here, twin)]
        other += verdicts[0] != verdicts[1]
    assert other > 10


ROUNDS = 40_000
SURE = 4.9  # standard errors: one of a million laws that are right is further off


def test_the_first_tokens_have_the_targets_law() -> None:
    """By the real noise, drafts drawn from another law: a chain of two, and siblings without replacement."""
    rng = np.random.default_rng(6)
    rows, q = np.log(rng.dirichlet(np.ones(3), size=7)).astype(np.float32), rng.dirichlet(np.ones(3), size=7)
    p = np.exp(rows.astype(np.float64))
    p /= p.sum(axis=1, keepdims=True)
    seen = Counter[tuple[int, int]]()
    for seed in range(ROUNDS):
        chance = PhiloxRandomness(seed)
        first = chance.choose(q[0], Purpose.DRAFT, POSITION, 0)
        left = np.where(np.arange(3) == first, 0.0, q[0])
        second = chance.choose(left / left.sum(), Purpose.DRAFT, POSITION, 1)
        behind = chance.choose(q[1 + first], Purpose.DRAFT, POSITION, 2)
        laws = q[0], left / left.sum(), q[1 + first]
        tree = checked(Proposal(np.array([first, second, behind]), np.array([ROOT, ROOT, 0]), laws), 3)
        logits = np.array([rows[0], rows[1 + first], rows[1 + second], rows[4 + behind]])
        found = LawRows(law_of({}), tree, Scores(logits), MEANS)
        tokens = find("verifiers", "traversal")()(tree, found, chance, POSITION).tokens
        assert found.decide(False, tree, chance, POSITION) is not None
        if len(tokens) == 1:
            tokens = (*tokens, chance.choose(p[1 + tokens[0]], Purpose.TARGET, POSITION + 1))
        seen[tokens[0], tokens[1]] += 1
    for one in range(3):
        for two in range(3):
            expected = p[0, one] * p[1 + one, two]
            error = np.sqrt(expected * (1 - expected) / ROUNDS)
            assert abs(seen[one, two] / ROUNDS - expected) < SURE * error


def left_to_the_rule() -> dict[str, AnyRound]:
    rng = np.random.default_rng(7)
    here = case(rng)
    while not len(here.proposal):
        here = case(rng)
    q = np.full(here.logits.shape[1], 1 / here.logits.shape[1])
    wide = np.zeros((len(here.logits), 2 * here.logits.shape[1]), np.float32)
    wide[:, ::2] = here.logits
    opening = Opening(prompt=(0, 0, 0), vocab_size=len(q), end_ids=(1,))
    ngrams = SamplingLaw(SamplingParams(no_repeat_ngram=2), opening)
    unended = SamplingLaw(SamplingParams(min_tokens=2), opening)
    moving = SamplingLaw(SamplingParams(mirostat=2), Opening(prompt=(0,), vocab_size=len(q)))
    float32 = checked(replace(here.proposal, laws=(q.astype(np.float32),) * len(here.proposal)), len(q))
    fewer = replace(here, logits=here.logits[: len(here.proposal)])
    return {
        "bans that follow the text": replace(here, law=ngrams),
        "bans that end with the text's length": replace(here, law=unended),
        "a law that moves": replace(here, law=moving),
        "logits in float64": replace(here, logits=here.logits.astype(np.float64)),
        "logits that are no block": replace(here, logits=wide[:, ::2]),
        "drafts whose laws are float32": replace(here, proposal=float32),
        "drafts that nobody has checked": replace(here, proposal=replace(here.proposal)),
        "fewer rows than nodes": fewer,
        "no law": replace(here, logits=np.full_like(here.logits, np.nan)),
        "nothing allowed": replace(here, logits=np.full_like(here.logits, -np.inf)),
    }


@pytest.mark.parametrize("kind", left_to_the_rule())
def test_what_compiled_code_cannot_do_is_left_to_the_rule(kind: str) -> None:
    here = left_to_the_rule()[kind]
    assert here.rows().decide(False, here.proposal, here.chance, POSITION) is None


def test_other_randomness_is_left_to_the_rule() -> None:
    class Other(PhiloxRandomness):
        """May draw otherwise."""

    here = case(np.random.default_rng(8))
    assert here.rows().decide(True, here.proposal, Other(1), POSITION) is None


@pytest.mark.parametrize("rule", RULES)
def test_a_row_without_a_law_behind_a_draft_ends_the_round_there(rule: str) -> None:
    logits = np.array([[0, 0, 0, 0], [np.nan] * 4], np.float32)
    drafts, ends = checked(Proposal.chain([2]), 4), set()
    for seed in range(30):
        rows = AnyRound(law_of({}), drafts, logits, PhiloxRandomness(seed)).rows(MEANS)
        verdict = find("verifiers", rule)()(drafts, rows, PhiloxRandomness(seed), POSITION)
        ends.add(rows.reached(verdict).tokens)
    assert ends == {(0,), (1,), (2,), (3,)}


@pytest.mark.parametrize("rule", RULES)
def test_rows_around_these_are_what_decides(rule: str) -> None:
    """By delegation or as a subclass: they say what p is."""

    class Around:
        def __init__(self, rows):
            self._rows = rows

        def __getattr__(self, name):
            return getattr(self._rows, name)

        def __getitem__(self, row):
            return without_zero(self._rows[row])

        def draw(self, row, randomness, purpose, position, node=0):
            return randomness.choose(self[row], purpose, position, node)

    class Of(LawRows):
        draw = Around.draw

        def __getitem__(self, row):
            return without_zero(LawRows.__getitem__(self, row))

    def without_zero(p):
        p = np.where(np.arange(len(p)) == 0, 0.0, p)
        return p / p.sum()

    logits = np.zeros((1, 3), np.float32)
    for seed in range(40):
        one = AnyRound(law_of({}), NOTHING, logits, PhiloxRandomness(seed))
        for rows in (Around(one.rows()), Of(one.law, NOTHING, Scores(logits))):
            assert find("verifiers", rule)()(NOTHING, rows, one.chance, POSITION).tokens != (0,)


@pytest.mark.parametrize("coupled", [False, True])
def test_where_there_is_no_memory_nothing_is_taken_for_granted(coupled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, how, given = Judge(), SamplingLaw(SamplingParams(top_p=0.5)).transform, np.zeros((1, 50), np.float32)

    def nothing(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", nothing)
        with pytest.raises(MemoryError):
            judge.decide(coupled, how, given, NOTHING, PhiloxRandomness(1), POSITION)
    assert judge.decide(coupled, how, given, NOTHING, PhiloxRandomness(1), POSITION) is not None


def test_tokens_of_any_kind_of_whole_number() -> None:
    here = case(np.random.default_rng(9))
    small = checked(replace(here.proposal, tokens=here.proposal.tokens.astype(np.int32)), here.logits.shape[1])
    found = [each.rows().decide(True, each.proposal, here.chance, POSITION)
             for each in (here, replace(here, proposal=small))]  # fmt: skip
    assert found[0] == found[1]
