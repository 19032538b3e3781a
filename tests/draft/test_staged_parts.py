"""The staged drafter's names of draws, passes, pages and limits."""

from __future__ import annotations

import numpy as np
import pytest

from draft.drafting import Counting, Trouble
from engine.decoder import tiny_engine
from known_laws import TableDrafter, random_table
from truedraw.draft.knobs import Knobs
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.staged import StagedDrafter
from truedraw.draft.staged_chance import StagedChance
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, BadProposal, UnknownName
from truedraw.protocol import Proposal, Scores, SparseLaw
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness

TABLE = random_table(6, 1, 20)
LAW = SamplingLaw(SamplingParams())
ROW = Scores(np.zeros((1, 6), np.float32))


def staged(inner, **more) -> StagedDrafter:
    return StagedDrafter(TabularEngine(TABLE), lambda config: inner, **more)


def test_names_are_numbered_apart_and_alike() -> None:
    outer = PhiloxRandomness(3)
    chance, weights = StagedChance(outer, 7), np.full(50, 0.02)
    names = [(2, 7, 0), (3, 7, 0), (1, 8, 0), (1, 7, 1), (1, 7, 0)]
    drawn = [chance.choose(weights, *name) for name in names]
    assert drawn == [outer.choose(weights, 1, 7, node) for node in range(5)]
    assert [chance.choose(weights, *name) for name in reversed(names)] == drawn[::-1]
    assert chance.choose(weights, 0, 9) == outer.choose(weights, 0, 9)


def test_a_stage_that_knows_saves_passes() -> None:
    """The stage has the middle model's own law: all it proposes is kept, and a round takes two passes for eight."""
    engine, law = Counting(random_table(6, 1, 20)), SamplingLaw(SamplingParams())
    inner = TableDrafter(random_table(6, 1, 20))
    for stage, passes in (("x", 1), ({"method": "x", "num_speculative_tokens": 3}, 2),
                          ({"method": "x", "num_speculative_tokens": 0}, 8)):  # fmt: skip
        engine.passes.clear()
        drafter = StagedDrafter(engine, lambda config: inner, stage=stage)
        states = [drafter.open([0, 1 + i], law) for i in range(3)]
        found = drafter.propose(states, [8, 8, 8], [PhiloxRandomness(1, i) for i in range(3)])
        assert [len(each) for each in found] == [8, 8, 8]
        assert len(engine.passes) == passes


class Blind:
    """A stage whose states cannot look ahead."""

    def __init__(self) -> None:
        self.asked = 0

    def open(self, tokens, law):
        return BlindState(list(tokens))

    def propose(self, states, budgets, randomness):
        self.asked += len(states)
        return [Proposal.chain([0] * min(budget, 1)) for budget in budgets]


class BlindState:
    def __init__(self, text) -> None:
        self.text, self.rows = text, []

    def commit(self, tokens, scores) -> None:
        self.text += tokens
        self.rows.append(scores.logits.shape)


def test_a_stage_that_cannot_look_ahead_is_asked_once_a_round() -> None:
    inner = Blind()
    drafter = staged(inner)
    state = drafter.open([0, 1], LAW)
    assert len(drafter.propose([state], [6], [PhiloxRandomness(1)])[0]) == 6
    assert inner.asked == 1


def test_the_stage_sees_the_rows_that_it_can_place() -> None:
    drafter = staged(Blind())
    state = drafter.open([0, 1], LAW)
    state.commit([1, 0, 1], Scores(np.zeros((5, 2), np.float32)))
    assert state.reader.text == [0, 1, 1, 0, 1]
    state.commit([1], Scores(np.zeros((3, 2), np.float32), proposal=Proposal.chain([1, 0])))
    assert state.reader.rows == [(1, 2), (3, 2)]


@pytest.mark.parametrize("rows", [4, 6, 9])
def test_the_middle_model_may_differ_in_rows(rows: int) -> None:
    drafter = StagedDrafter(TabularEngine(random_table(rows, 1, 30)), lambda config: NgramDrafter(), vocab_size=6)
    state = drafter.open([0, 1, 0], LAW)
    [proposal] = drafter.propose([state], [4], [PhiloxRandomness(2)])
    assert len(proposal) == 4
    assert all(law.shape == (6,) for law in proposal.laws)


def test_a_text_longer_than_the_middle_models_context_is_not_drafted_for() -> None:
    engine = TabularEngine(random_table(6, 1, 20), context_length=6)
    drafter = StagedDrafter(engine, lambda config: NgramDrafter())
    state = drafter.open([0, 1, 0, 1], LAW)
    for text, drafted in (((), 3), ((0,), 2), ((1,), 1), ((0,), 0), ((1, 1), 0)):
        state.commit(text, ROW)
        assert len(drafter.propose([state], [5], [PhiloxRandomness(2)])[0]) == drafted


def test_in_the_paged_engine_all_pages_come_back(tmp_path_factory) -> None:
    engine = tiny_engine(tmp_path_factory.mktemp("converted"))
    free, law = engine._pool.num_free, LAW
    drafter = StagedDrafter(engine, lambda config: NgramDrafter())
    texts = [[5, 6, 7] * 14] * 3 + [[1, 2, 3]]
    states = [drafter.open(text, law) for text in texts]
    for step in range(4):
        found = drafter.propose(states, [4, 5, 0, 3], [PhiloxRandomness(step, i) for i in range(4)])
        assert [len(each) for each in found] == [4, 5, 0, 3]
        for state, proposal in zip(states, found, strict=True):
            state.commit([*proposal.tokens[:2].tolist(), 7], ROW)
    assert engine._pool.num_free < free
    drafter.close()
    assert engine._pool.num_free == free
    engine.close()


@pytest.mark.parametrize("error", [ValueError("no guess here"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("where", ["stage", "law", "pass"])
def test_a_round_that_is_broken_off_holds_no_page(tmp_path_factory, monkeypatch, where: str, error) -> None:
    engine = tiny_engine(tmp_path_factory.mktemp("broken"))
    free, inner, law = engine._pool.num_free, Saying(lambda room: Proposal.chain([3][:room])), LAW
    drafter = StagedDrafter(engine, lambda config: inner)
    states = [drafter.open(list(range(40)), law) for _ in range(2)]
    chances = [PhiloxRandomness(1, i) for i in range(2)]
    assert [len(each) for each in drafter.propose(states, [3, 3], chances)] == [3, 3]
    held = engine._pool.num_free
    if where == "stage":
        monkeypatch.setattr(inner, "propose", Trouble(inner.propose, error, at=3))
    elif where == "pass":
        monkeypatch.setattr(engine, "forward", Trouble(engine.forward, error, at=3))
    else:
        states[1].law = Trouble(law, error, at=4)
    with pytest.raises(type(error)):
        drafter.propose(states, [8, 8], chances)
    assert engine._pool.num_free == held
    drafter.close()
    assert engine._pool.num_free == free
    engine.close()


class Saying(Blind):
    """A stage that proposes whatever it is told to, in every round."""

    def __init__(self, guess) -> None:
        self._guess = guess

    def open(self, tokens, law):
        return SeeingState(list(tokens))

    def propose(self, states, budgets, randomness):
        return [self._guess(budget) for budget in budgets]


class SeeingState(BlindState):
    def ahead(self, tokens):
        return self


def odd(tokens=(1, 2), parents=(-1, 0), laws=(None, None)) -> Proposal:
    return Proposal(np.array(tokens, np.int64), np.array(parents, np.int64), tuple(laws))


def point(token: int, vocab: int):
    return np.eye(vocab)[token]


GUESSES = {
    "too long": (lambda room: Proposal.chain([1] * (room + 1)), "a budget of 5 draft tokens was answered with 6"),
    "out of order": (lambda room: odd(parents=(1, -1)), "draft node 0 has parent 1"),
    "a ring": (lambda room: odd(parents=(-1, 1)), "draft node 1 has parent 1"),
    "parents missing": (lambda room: odd(parents=(-1,)), "2 draft tokens came with 1 parents"),
    "laws missing": (lambda room: odd(laws=(None,)), "2 draft tokens came with 2 parents and 1 laws"),
    "no token": (lambda room: odd(tokens=(1, 6)), "draft node 1 is token 6; the target's tokens are 0 to 5"),
    "below all": (lambda room: odd(tokens=(-1, 2)), "draft node 0 is token -1"),
}
LAWS = {
    "another vocabulary": (point(1, 7), "the law of draft node 0 has shape"),
    "no law": (np.full(6, 0.5), "sums to 3"),
    "without its token": (point(2, 6), "gives its own token 1 probability 0"),
    "few of another vocabulary": (SparseLaw(np.array([1]), np.ones(1), 7), "is over 7 tokens"),
}
GUESSES |= {name: (lambda room, q=q: odd(laws=(q, None)), told) for name, (q, told) in LAWS.items()}


@pytest.mark.parametrize("wrong", GUESSES)
@pytest.mark.parametrize("stage", ["saying", {"method": "saying", "num_speculative_tokens": 5}], ids=str)
def test_what_the_stage_says_wrongly_is_refused_and_named(stage, wrong: str) -> None:
    guess, told = GUESSES[wrong]
    drafter = staged(Saying(guess), stage=stage)
    state = drafter.open([0, 1], LAW)
    with pytest.raises(BadProposal, match=told) as raised:
        drafter.propose([state], [6], [PhiloxRandomness(1)])
    assert raised.value.__notes__ == ["in saying, the stage"]


@pytest.mark.parametrize("wrong", [name for name in GUESSES if name not in LAWS])
def test_under_a_coupled_rule_too(wrong: str) -> None:
    guess, told = GUESSES[wrong]
    drafter = staged(Saying(guess), coupled=True)
    with pytest.raises(BadProposal, match=told):
        drafter.propose([drafter.open([0, 1], LAW)], [6], [PhiloxRandomness(1)])


def test_a_stage_that_cannot_open_a_text_is_named(monkeypatch) -> None:
    inner = Saying(None)
    monkeypatch.setattr(inner, "open", Trouble(None, ValueError("no text"), at=1))
    with pytest.raises(ValueError, match="no text") as raised:
        staged(inner, stage="saying").open([0, 1], LAW)
    assert raised.value.__notes__ == ["in saying, the stage"]


def test_an_error_of_the_middle_model_is_not_the_stages() -> None:
    drafter = staged(Saying(lambda room: Proposal.chain([1])), stage="saying")
    state = drafter.open([0, 1], Trouble(LAW, ValueError("of the law"), at=1))
    with pytest.raises(ValueError, match="of the law") as raised:
        drafter.propose([state], [6], [PhiloxRandomness(1)])
    assert not hasattr(raised.value, "__notes__")


def test_without_room_in_the_cache_the_last_texts_go_without(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.engine.tabular.TabularSequence.evict", lambda self: None, raising=False)
    law = SamplingLaw(SamplingParams())
    for most, lengths in ((2, [4, 4, 0]), (0, [0, 0, 0])):
        drafter = StagedDrafter(Counting(random_table(6, 1, 20), most=most), lambda config: NgramDrafter())
        states = [drafter.open([0, i, 0], law) for i in range(3)]
        found = drafter.propose(states, [4] * 3, [PhiloxRandomness(2, i) for i in range(3)])
        assert [len(each) for each in found] == lengths


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"stage": 3}, "stage: got 3; give a method's name"),
        ({"stage": None}, "stage: got None"),
        ({"stage": "none"}, "stage: none drafts nothing; name a method that does"),
        ({"stage": {"method": "none"}}, "stage: none drafts nothing"),
        ({"stage": {"method": "ngram", "adaptive": True}}, "a stage does not use adaptive"),
        ({"stage": {"method": "ngram", "rejection_sample_method": "block"}}, "does not use rejection_sample_method"),
        ({"stage": {"method": "ngram", "num_speculative_tokens": -1}}, r"stage.num_speculative_tokens: got -1"),
        ({"staged_passes": 0}, "staged_passes: got 0"),
        ({"staged_passes": 1.5}, "staged_passes: got 1.5"),
        ({"knobs": Knobs(draft_siblings=2)}, "draft_siblings: the method staged drafts chains"),
        ({"knobs": Knobs(draft_sample_method="gumbel")}, "draft_sample_method"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(more, told: str) -> None:
    with pytest.raises(BadParameter, match=told):
        staged(NgramDrafter(), **more)


def test_a_stage_that_does_not_exist_is_named() -> None:
    def inner(config):
        return find("drafters", config)()

    with pytest.raises(UnknownName, match="ngrams"):
        StagedDrafter(TabularEngine(TABLE), inner, stage="ngrams")
