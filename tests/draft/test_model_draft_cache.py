"""The model drafter's passes, pages and limits."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from draft.drafting import TABLE, Counting, Trouble, law, propose
from engine.decoder import tiny_engine
from known_laws import lookup, normalised, random_table
from truedraw.draft.cached_text import CachedText, SharedPrompt
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import NOTHING, Work
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness

ROUNDING = 1e-12


@pytest.mark.parametrize("siblings", [1, 2, 3])
def test_one_pass_a_token_serves_all_texts(siblings: int) -> None:
    engine = Counting(TABLE)
    proposals = propose(ModelDrafter(engine, knobs=Knobs(draft_siblings=siblings)), (5, 2, 0, 5))
    assert [len(each) for each in proposals] == [5, 2, 0, 5]
    deepest = 5 - siblings + 1
    assert [len(works) for works in engine.passes] == [3, *([3] if siblings == 1 else []), 2, 2, 2, 2][:deepest]
    assert all(rows == 0 for works in engine.passes for rows in works)


def test_without_room_in_the_cache_the_last_texts_go_without(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.engine.tabular.TabularSequence.evict", lambda self: None, raising=False)
    engine = Counting(TABLE, most=2)
    assert [len(each) for each in propose(ModelDrafter(engine), (3, 3, 3, 3))] == [3, 3, 0, 0]
    assert propose(ModelDrafter(Counting(TABLE, most=0)), (3, 3))[1].tokens.size == 0


def test_a_text_longer_than_the_draft_models_context_is_not_drafted_for() -> None:
    drafter = ModelDrafter(TabularEngine(TABLE, context_length=6))
    state = drafter.open([0, 1, 2, 3], law())
    for text, drafted in (((), 3), ((4,), 2), ((5,), 1), ((0,), 0), ((1, 1), 0)):
        state.commit(text)
        assert len(drafter.propose([state], [5], [PhiloxRandomness(2)])[0]) == drafted
    assert len(propose(drafter, (2,), [[0] * 7])[0]) == 0


@pytest.mark.parametrize("rows", [4, 6, 9])
def test_models_of_one_tokenizer_may_differ_in_rows(rows: int) -> None:
    table = random_table(rows, 1, 30)
    drafter = ModelDrafter(TabularEngine(table), vocab_size=6)
    state = drafter.open([0, 1], law())
    q = drafter.propose([state], [2], [PhiloxRandomness(1)])[0].laws[0]
    expected = normalised([*lookup(table, [1])[:6], *([0.0] * (6 - rows))])
    assert q == pytest.approx(expected, abs=ROUNDING)
    state.commit([5])
    assert len(drafter.propose([state], [2], [PhiloxRandomness(1)])[0]) == (2 if rows > 5 else 0)


def test_a_text_that_went_on_before_it_was_drafted_for_is_read_to_its_end() -> None:
    state = (drafter := ModelDrafter(TabularEngine(TABLE))).open([0, 1], law())
    state.commit([4])
    state.commit([2, 5])
    q = drafter.propose([state], [1], [PhiloxRandomness(1)])[0].laws[0]
    assert q == pytest.approx(normalised(lookup(TABLE, [5])), abs=ROUNDING)


def test_a_text_that_ends_before_all_have_begun_holds_its_prompt_no_more() -> None:
    prompt = SharedPrompt(TabularEngine(TABLE), [0, 1])
    text = CachedText(prompt)
    text.sequence()
    assert prompt._sequence is not None
    text.close()
    assert prompt._sequence is None


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    engine = tiny_engine(tmp_path_factory.mktemp("converted"))
    yield engine
    engine.close()


def test_in_the_paged_engine_all_pages_come_back(paged) -> None:
    free = paged._pool.num_free
    drafter = ModelDrafter(paged)
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 96, 40).tolist()] * 3 + [[1, 2, 3]]
    states = [drafter.open(text, SamplingLaw(sampling_params({}))) for text in texts]
    for step in range(4):
        proposals = drafter.propose(states, [4, 4, 2, 3], [PhiloxRandomness(step, i) for i in range(4)])
        assert [len(each) for each in proposals] == [4, 4, 2, 3]
        for state, proposal in zip(states, proposals, strict=True):
            state.commit([*proposal.tokens[:2].tolist(), 7])
    assert paged._pool.num_free < free
    states[0].close()
    drafter.close()
    assert paged._pool.num_free == free


def test_in_the_paged_engine_q_is_that_of_the_text_alone(paged) -> None:
    """Forks, commits and batches leave no trace: q of every node equals a pass over its text from the beginning."""
    drafter, one = ModelDrafter(paged), SamplingLaw(sampling_params({}))
    texts = [[5, 6, 7, 8], list(range(40))]
    states = [drafter.open(text, one) for text in texts]
    for round_ in range(3):
        proposals = drafter.propose(states, [3, 4], [PhiloxRandomness(round_, i) for i in range(2)])
        for text, proposal in zip(texts, proposals, strict=True):
            for node, q in enumerate(proposal.laws):
                whole = paged.open([*text, *proposal.tokens[:node].tolist()])
                assert q == pytest.approx(one(paged.forward([Work(whole)])[0].logits[0]), abs=1e-4)
                whole.close()
        for state, text, proposal in zip(states, texts, proposals, strict=True):
            kept = [*proposal.tokens[:round_].tolist(), 9]
            state.commit(kept)
            text.extend(kept)
    drafter.close()


def test_a_run_that_nobody_ended_gives_its_pages_back(paged) -> None:
    free = paged._pool.num_free
    drafter = ModelDrafter(paged)
    drafter.propose([drafter.open([1, 2, 3], law())], [3], [PhiloxRandomness(1)])
    assert paged._pool.num_free < free
    del drafter
    gc.collect()
    assert paged._pool.num_free == free


@pytest.mark.parametrize("error", [ValueError("no law here"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("where", ["law", "pass"])
def test_a_round_that_is_broken_off_holds_no_page(paged, monkeypatch, where: str, error) -> None:
    """Forks of both texts are open when a law or a pass raises; the texts themselves can still be drafted for."""
    free, drafter, text = paged._pool.num_free, ModelDrafter(paged), list(range(40))
    plain, trouble = SamplingLaw(sampling_params({})), Trouble(SamplingLaw(sampling_params({})), error, at=8)
    states = [drafter.open(text, plain), drafter.open(text, trouble if where == "law" else plain)]
    chances = [PhiloxRandomness(1, i) for i in range(2)]
    lengths = [len(each) for each in drafter.propose(states, [3, 3], chances)]
    held = paged._pool.num_free
    if where == "pass":
        monkeypatch.setattr(paged, "forward", Trouble(paged.forward, error, at=3))
    with pytest.raises(type(error)):
        drafter.propose(states, [6, 6], chances)
    assert paged._pool.num_free == held
    assert [len(each) for each in drafter.propose(states, [3, 3], chances)] == lengths == [3, 3]
    drafter.close()
    assert paged._pool.num_free == free


def test_a_budget_of_nothing_costs_nothing() -> None:
    engine = Counting(TABLE)
    assert [len(each) for each in propose(ModelDrafter(engine), (0, 0))] == [0, 0] == [len(NOTHING)] * 2
    assert engine.passes == []


def test_a_paged_cache_that_is_too_small_costs_drafts_and_nothing_else(tmp_path_factory) -> None:
    engine = tiny_engine(tmp_path_factory.mktemp("small"), cache_bytes=256 << 10)
    drafter, free = ModelDrafter(engine), engine._pool.num_free
    count = free + 2  # each text takes a page at least
    texts = [[i, *range(20)] for i in range(count)]
    states = [drafter.open(text, SamplingLaw(sampling_params({}))) for text in texts]
    for round_ in range(3):
        lengths = [len(each) for each in drafter.propose(
            states, [3] * count, [PhiloxRandomness(round_, i) for i in range(count)])]  # fmt: skip
        assert lengths[0] == 3
        assert lengths[-1] == 0
        for state in states:
            state.commit([5, 6])
    drafter.close()
    assert engine._pool.num_free == free
    engine.close()
