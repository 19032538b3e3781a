"""The target's first layers as drafter: the contract, the exact law, and how little they compute."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.decoder import PLAIN, tiny_engine
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.draft.borrowed_text import MOST_UNCACHED
from truedraw.draft.early_exit import EarlyExitDrafter
from truedraw.draft.knobs import Knobs
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Proposal, Work
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import drafter_checks
from truedraw.testing.tables import random_table

LAW = SamplingLaw(SamplingParams())
TEXT = np.random.default_rng(2).integers(0, PLAIN.vocab_size, 140).tolist()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def engine(cache):
    opened = tiny_engine(cache, replace(PLAIN, num_layers=3))
    yield opened
    opened.close()


def models(target):
    return SimpleNamespace(target=target, name="tiny")


def passes(monkeypatch, target) -> list[list[int]]:
    """Rows of text of every work that the first layers compute."""
    seen, forward = [], target.shallow(1).forward

    def watched(works, fills=()):
        seen.append([work.sequence.num_uncached for work in works])
        return forward(works, fills)

    monkeypatch.setattr(target.shallow(1), "forward", watched)
    return seen


def proposed(drafter, states, budget=3, seed=1) -> list[Proposal]:
    return drafter.propose(states, [budget] * len(states), [PhiloxRandomness(seed, i) for i in range(len(states))])


# ----------------------------------------------------------------------------------------------------- contract


@pytest.mark.parametrize(
    ("vocab", "settings"),
    [
        pytest.param(3, {}, marks=pytest.mark.slow),
        pytest.param(3, {"knobs": Knobs(draft_siblings=2, draft_temperature=1.5)}, marks=pytest.mark.slow),
        (3, {"knobs": Knobs(draft_sample_method="greedy")}),
        (50, {}),
        (50, {"coupled": True}),
    ],
    ids=str,
)
def test_it_keeps_the_contract_of_a_drafter(cache, vocab, settings):
    """Over a decoder whose first layers know nothing of the target's table: q is far from p."""
    target = tiny_engine(cache / str(vocab), replace(PLAIN, vocab_size=vocab))
    free = target._pool.num_free
    for check in drafter_checks(lambda: EarlyExitDrafter(models(target), **settings), vocab):
        check()
    assert target._pool.num_free == free
    target.close()


def law_check(make):
    """The first of the suite's that enumerates the law, over three tokens."""
    return next(check for check in drafter_checks(make, 3) if str(check).startswith("exact law, plain"))


def test_it_keeps_the_law_exactly(cache):
    """The first of these checks, over few tokens, where the others take long."""
    target = tiny_engine(cache / "3", replace(PLAIN, vocab_size=3))
    law_check(lambda: EarlyExitDrafter(models(target)))()
    target.close()


def test_the_suite_sees_a_law_that_is_not_the_drafts(cache):
    """The known bug: q is the whole model's, and the token the first layers'."""

    class Liar(EarlyExitDrafter):
        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            return [replace(each, laws=tuple(np.full(3, 1 / 3) for _ in each.laws)) for each in found]

    target = tiny_engine(cache / "3", replace(PLAIN, vocab_size=3))
    check = law_check(lambda: Liar(models(target)))
    with pytest.raises(AssertionError):
        check()
    target.close()


# ----------------------------------------------------------------------------------------------- what is computed


def test_a_draft_computes_its_own_rows_and_no_text(engine, monkeypatch):
    drafter, free, seen = EarlyExitDrafter(models(engine)), engine._pool.num_free, passes(monkeypatch, engine)
    texts = [engine.open(TEXT), engine.open(TEXT[:77])]
    states = [drafter.open(text.tokens, LAW) for text in texts]
    assert [len(each) for each in proposed(drafter, states)] == [0, 0]  # the target reads the prompts first
    engine.forward([Work(text) for text in texts])
    for round_ in range(3):
        held = engine._pool.num_free
        drafts = proposed(drafter, states, seed=round_)
        assert [len(each) for each in drafts] == [3, 3]
        assert engine._pool.num_free == held
        engine.forward([Work(*pair) for pair in zip(texts, drafts, strict=True)])
        for text, state, draft in zip(texts, states, drafts, strict=True):
            kept = [*draft.tokens[:round_].tolist(), 7]
            text.commit(kept)
            state.commit(kept)
    assert seen == [[1, 1]] * 9
    for text in texts:
        text.close()
    assert engine._pool.num_free == free


def test_q_is_the_law_of_the_first_layers(engine):
    drafter, text = EarlyExitDrafter(models(engine), early_exit_layers=2), engine.open(TEXT[:60])
    engine.forward([Work(text)])
    draft = proposed(drafter, [drafter.open(text.tokens, LAW)])[0]
    shallow = engine.shallow(2)
    rows = shallow.forward([Work(shallow.open(TEXT[:60]), draft)])[0].logits
    for node, q in enumerate(draft.laws):
        assert q == pytest.approx(LAW(rows[node]), abs=1e-5)
    text.close()


def test_tokens_certain_to_come_ride_ahead(engine):
    drafter, text = EarlyExitDrafter(models(engine)), engine.open(TEXT[:50])
    engine.forward([Work(text)])
    state = drafter.open(text.tokens, LAW)
    ahead = proposed(drafter, [state.ahead(TEXT[50:53])])[0]
    assert len(ahead) == 3
    shallow = engine.shallow(1)
    rows = shallow.forward([Work(shallow.open(TEXT[:53]))])[0].logits
    assert ahead.laws[0] == pytest.approx(LAW(rows[0]), abs=1e-5)
    text.close()


@pytest.mark.parametrize(("length", "drafted"), [(MOST_UNCACHED, 3), (MOST_UNCACHED + 1, 0)])
def test_a_short_text_need_not_wait_for_the_target(engine, length, drafted):
    drafter = EarlyExitDrafter(models(engine))
    assert len(proposed(drafter, [drafter.open(TEXT[:length], LAW)])[0]) == drafted


def test_a_full_cache_costs_drafts_and_nothing_else(cache):
    target = tiny_engine(cache, cache_bytes=160 << 10, prefix_cache_bytes=0)
    free = target._pool.num_free
    texts = [target.open([i, *TEXT[:20]]) for i in range(free)]  # a page each
    target.forward([Work(text) for text in texts])
    drafter = EarlyExitDrafter(models(target))
    states = [drafter.open(text.tokens, LAW) for text in texts]
    assert [len(each) for each in proposed(drafter, states)] == [0] * free
    texts[-1].close()
    texts[-2].close()
    lengths = [len(each) for each in proposed(drafter, states[:2])]
    assert lengths[0] > 0
    assert target._pool.num_free == 2
    target.close()


def test_the_context_can_be_drafted_to_its_end(engine):
    drafter, text = EarlyExitDrafter(models(engine)), engine.open([*TEXT, *TEXT[:18]])  # 158 of 160
    engine.forward([Work(text)])
    state = drafter.open(text.tokens, LAW)
    assert len(proposed(drafter, [state], budget=8)[0]) == 3
    state.commit([1, 2, 3])
    assert len(proposed(drafter, [state], budget=8)[0]) == 0
    text.close()


# -------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("layers", [0, -3, 1.5, "2", True, 3, 99])
def test_layers_that_cannot_be(engine, layers):
    with pytest.raises(BadParameter, match="early_exit_layers") as caught:
        EarlyExitDrafter(models(engine), early_exit_layers=layers)
    assert caught.value.parameter == "early_exit_layers"


def test_a_model_of_one_layer_has_none_to_spare(cache):
    target = tiny_engine(cache, replace(PLAIN, num_layers=1))
    with pytest.raises(BadParameter, match="has 1 layers"):
        EarlyExitDrafter(models(target))
    target.close()


def test_an_engine_that_cannot_is_one_clear_error(engine, monkeypatch):
    with pytest.raises(BadParameter, match=r"which the engine of tiny cannot .*; take another method"):
        EarlyExitDrafter(models(TabularEngine(random_table(3, 1, 1))))
    monkeypatch.setattr(engine, "_layers", None)  # what a ready-made graph looks like
    with pytest.raises(EngineError, match="IR folder is run whole"):
        engine.shallow(1)
    with pytest.raises(BadParameter, match=r"method: early-exit cannot draft for tiny: .*GGUF file"):
        EarlyExitDrafter(models(engine))
    with load("tabular") as toy, pytest.raises(BadParameter, match="which the engine of tabular cannot"):
        toy.generate("hello", speculative="early-exit")


# --------------------------------------------------------------------------------------------------- whole models


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> Model:
    config = tiny_config(num_layers=3)
    tensors = {k: (v * 0.2).astype(np.float32) for k, v in random_tensors(config, seed=6).items()}
    folder = write_folder(tmp_path_factory.mktemp("target") / "target", config, tensors)
    with load(folder, cache=tmp_path_factory.mktemp("converted"), numerics="reference") as model:
        yield model


@pytest.mark.parametrize("more", [{}, {"early_exit_layers": 2, "draft_siblings": 2, "draft_temperature": 0.8}], ids=str)
def test_a_seed_gives_one_text(target: Model, more):
    settings = {"seed": 4, "n": 3, "max_tokens": 50, "ignore_eos": True, "temperature": 0.5}
    plain = target.generate("hello world 12", speculative=False, **settings)
    spec = {"method": "early-exit", "num_speculative_tokens": 4, "adaptive": False, **more}
    free = target.engine._pool.num_free
    fast = target.generate("hello world 12", speculative=spec, **settings)
    assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
    assert fast.fallback is None
    assert fast.stats.drafted > 20
    assert target.engine._pool.num_free == free


def test_many_requests_share_it(target: Model):
    spec = {"method": "early-exit", "num_speculative_tokens": 3, "adaptive": False}
    settings = {"max_tokens": 20, "ignore_eos": True}
    plain = [target.generate(f"hello {i}", speculative=False, seed=i, **settings).choices[0].tokens for i in range(5)]
    with target.batch(max_running=3) as batch:
        runs = [batch.add(f"hello {i}", speculative=spec, seed=i, **settings) for i in range(5)]
        for _ in batch.completed():
            pass
    results = [run.result() for run in runs]
    assert [result.choices[0].tokens for result in results] == plain
    assert all(result.fallback is None for result in results)
    assert sum(result.stats.drafted for result in results) > 20


@pytest.mark.slow
@pytest.mark.model
def test_on_the_default_model() -> None:
    with load("smollm2-135m") as model:
        settings = {"seed": 3, "n": 2, "max_tokens": 30, "ignore_eos": True, "temperature": 0.0}
        spec = {"method": "early-exit", "num_speculative_tokens": 2, "adaptive": False, "early_exit_layers": 24}
        prompt = "The cat sat on the mat. The dog sat on the mat. The cat ran to the door. The dog ran to the"
        plain = model.generate(prompt, speculative=False, **settings)
        fast = model.generate(prompt, speculative=spec, **settings)
        assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
        assert fast.fallback is None
        assert fast.stats.accepted > 0
