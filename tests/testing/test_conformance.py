"""Every registered engine, drafter and verifier keeps its contract."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from engine.decoder import PLAIN, tiny_checkpoint, tiny_engine
from engine.pages import exact_engine, recorded
from truedraw import load
from truedraw.engine.pytorch import PyTorchEngine
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.errors import BadParameter, EngineError
from truedraw.registry import find, names
from truedraw.testing import drafter_checks, engine_checks, random_table, verifier_checks

PLACE: dict = {}  # filled when the tests start; the checks are listed before
SHOWN = {"hidden_layers": (0, 1), "hidden_text": True}
ENGINES = {
    "tabular": lambda: TabularEngine(random_table(4, 2, 1), context_length=64),
    "openvino": lambda: tiny_engine(PLACE["cache"], cache_bytes=512 << 10, **SHOWN),
    "pytorch": lambda: PyTorchEngine.load(tiny_checkpoint(), cache_bytes=512 << 10, **SHOWN),
}
TOLERANCE = {"tabular": 0.0, "openvino": 1e-4, "pytorch": 1e-4}  # float32 throughout, which promises no equal bits
MARKS = {
    "pytorch": [pytest.mark.parity, pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")]
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    PLACE["cache"] = tmp_path_factory.mktemp("converted")


class NothingKept(TabularSequence):
    num_uncached = 1


class WithoutACache(TabularEngine):
    """Computes each text anew and takes no fill, as docs/plugins.md has it."""

    def open(self, tokens):
        return NothingKept(super().open(tokens).tokens)

    def fork(self, sequence, n):
        return [NothingKept(sequence.tokens) for _ in range(n)]

    def forward(self, works, fills=()):
        if fills:
            raise EngineError("there is nothing to fill")
        return super().forward(works)


def drafters(name):
    """The checks of a drafter that needs nothing but the text; one with a model is tested beside it."""
    try:
        find("drafters", name)()
    except TypeError:
        return []
    return drafter_checks(find("drafters", name))


def every(kind, checks):
    return [
        pytest.param(check, id=f"{name}: {check}", marks=MARKS.get(name, ()))
        for name in names(kind)
        for check in checks(name)
    ]


@pytest.mark.parametrize("check", every("verifiers", lambda name: verifier_checks(find("verifiers", name))))
def test_verifiers(check) -> None:
    check()


@pytest.mark.parametrize("check", every("drafters", drafters))
def test_drafters(check) -> None:
    check()


@pytest.mark.parametrize("check", drafter_checks(find("drafters", "ngram"), vocab_size=1000), ids=str)
def test_a_drafter_over_a_large_vocabulary(check) -> None:
    check()


@pytest.mark.parametrize("check", every("engines", lambda name: engine_checks(ENGINES[name], TOLERANCE[name])))
def test_engines(check) -> None:
    check()


@pytest.mark.parametrize(
    "check", engine_checks(lambda: WithoutACache(random_table(4, 2, 1), context_length=64)), ids=str
)
def test_an_engine_without_a_cache(check) -> None:
    check()


@pytest.mark.parametrize("idle", [0, 3], ids=["nothing is found", "little is found"])
@pytest.mark.parametrize("name", [check.name for check in engine_checks(ENGINES["tabular"])])
def test_the_paged_engine_bit_for_bit(name, idle, cache) -> None:
    checks = engine_checks(lambda: exact_engine(recorded(PLACE["cache"]), pages=16, idle=idle))
    next(check for check in checks if check.name == name)()


def test_the_small_cache_notices_lost_pages() -> None:
    """512 KiB hold fewer pages than the cycles of the suite would lose."""
    engine = ENGINES["openvino"]()
    pages_of_a_cycle = 3 * (37 // 32 + 1)
    assert engine._pool.num_free < 40 * pages_of_a_cycle
    assert PLAIN.context_length <= 4096
    engine.close()


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("check", engine_checks(lambda: load("smollm2-135m").engine), ids=str)
def test_the_default_model_bit_for_bit(check) -> None:
    check()


@pytest.mark.parametrize("vocab_size", [0, 1, -1, 2.5, "3", True])
def test_a_vocabulary_over_which_nothing_is_drawn_is_refused(vocab_size) -> None:
    with pytest.raises(BadParameter, match=r"vocab_size: got .*; give a whole number, 2 or more"):
        drafter_checks(find("drafters", "ngram"), vocab_size=vocab_size)
