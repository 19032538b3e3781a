"""A copy of the target with fewer bits as drafter: the contract, the exact law, and what cannot be copied."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.draft.knobs import Knobs
from truedraw.draft.quantised_self import QuantisedSelfDrafter
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter
from truedraw.testing import drafter_checks
from truedraw.testing.tables import random_table

SPEC = {"method": "quantised-self", "num_speculative_tokens": 4, "adaptive": False}


def drafter(vocab: int, **settings) -> QuantisedSelfDrafter:
    models = SimpleNamespace(target=None, copy=lambda weights: TabularEngine(random_table(vocab, 1, 9)))
    return QuantisedSelfDrafter(models, **settings)


@pytest.mark.parametrize(
    ("vocab", "settings"),
    [
        (3, {}),
        (3, {"knobs": Knobs(draft_siblings=2)}),
        pytest.param(3, {"knobs": Knobs(draft_temperature=0.6)}, marks=pytest.mark.slow),
        (50, {}),
        (50, {"coupled": True}),
    ],
    ids=str,
)
def test_it_keeps_the_contract_of_a_drafter(vocab, settings):
    for check in drafter_checks(lambda: drafter(vocab, **settings), vocab):
        check()


@pytest.mark.parametrize("weights", ["int2", "stored", "", 4])
def test_weights_that_cannot_draft(weights):
    with pytest.raises(BadParameter, match=r"quantised_self_weights: got .*; give one of: int4, int8"):
        drafter(3, quantised_self_weights=weights)


@pytest.mark.parametrize(
    ("numerics", "given", "expected"),
    [("reference", None, "int8"), ("runtime", None, "int4"), ("reference", "int4", "int4"), (None, None, "int4")],
)
def test_the_weights_that_it_takes_by_default(numerics, given, expected):
    asked = []

    def copy(weights):
        asked.append(weights)
        return TabularEngine(random_table(3, 1, 9))

    models = SimpleNamespace(target=SimpleNamespace(numerics=numerics), copy=copy)
    QuantisedSelfDrafter(models, quantised_self_weights=given)
    assert asked == [expected]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    config = tiny_config(num_layers=3)
    tensors = {k: (v * 0.2).astype(np.float32) for k, v in random_tensors(config, seed=6).items()}
    return str(write_folder(tmp_path_factory.mktemp("target") / "target", config, tensors))


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    return tmp_path_factory.mktemp("converted")


@pytest.fixture(scope="module")
def target(folder, converted) -> Model:
    with load(folder, cache=converted, numerics="reference") as model:
        yield model


@pytest.mark.parametrize("more", [{}, {"quantised_self_weights": "int4", "draft_siblings": 2}], ids=str)
def test_a_seed_gives_one_text_and_drafts_are_kept(target: Model, more):
    settings = {"seed": 4, "n": 2, "max_tokens": 40, "ignore_eos": True, "temperature": 0.5}
    plain = target.generate("hello world 12", speculative=False, **settings)
    fast = target.generate("hello world 12", speculative={**SPEC, **more}, **settings)
    assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
    assert fast.fallback is None
    assert fast.stats.accepted > 0.4 * fast.stats.drafted


def test_a_copy_is_in_the_fast_arithmetic_opened_once_and_closed_with_the_target(folder, converted):
    with load(folder, cache=converted, numerics="reference") as model:
        copies = [model.drafts.copy("int4") for _ in range(2)]
        assert copies[0] is copies[1] is not model.engine
        assert copies[0].numerics == "runtime"
        assert model.drafts.copy("int8") is not copies[0]
        assert model.drafts.engine(folder) not in copies
        free = copies[0]._pool.num_free
        model.generate("hello", speculative=SPEC, max_tokens=10)
        assert copies[0]._pool.num_free == free
    assert copies[0]._passes is None


def test_what_cannot_be_copied_is_one_clear_error(folder, converted):
    with load("tabular") as toy, pytest.raises(BadParameter, match=r"method: tabular cannot draft for itself.*table"):
        toy.generate("hello", speculative="quantised-self")
    with load(folder, cache=converted, weights="int4") as model:
        with pytest.raises(BadParameter, match=r"method: .* has int4 weights already"):
            model.generate("hello", speculative="quantised-self")
        spec = {"method": "quantised-self", "quantised_self_weights": "int8"}
        assert model.generate("hello", speculative=spec, max_tokens=4).fallback is None


def test_in_a_batch_requests_share_the_copy(target: Model):
    settings = {"max_tokens": 20, "ignore_eos": True}
    plain = [target.generate(f"hello {i}", speculative=False, seed=i, **settings).choices[0].tokens for i in range(4)]
    with target.batch(max_running=3) as batch:
        runs = [batch.add(f"hello {i}", speculative=SPEC, seed=i, **settings) for i in range(4)]
        for _ in batch.completed():
            pass
    assert [run.result().choices[0].tokens for run in runs] == plain
    assert sum(run.result().stats.accepted for run in runs) > 0


@pytest.mark.slow
@pytest.mark.model
def test_on_the_default_model() -> None:
    with load("smollm2-135m") as model:
        settings = {"seed": 3, "n": 2, "max_tokens": 30, "ignore_eos": True, "temperature": 0.8}
        plain = model.generate("Write a short story about a lighthouse.", speculative=False, **settings)
        fast = model.generate("Write a short story about a lighthouse.", speculative=SPEC, **settings)
        assert [c.tokens for c in fast.choices] == [c.tokens for c in plain.choices]
        assert fast.fallback is None
        assert fast.stats.accepted > 0.3 * fast.stats.drafted
