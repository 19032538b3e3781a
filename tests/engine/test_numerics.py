"""Arithmetics as a processor has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.decoder import tiny_checkpoint
from truedraw.engine.constants.matrix import dense
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.cpu import arithmetic as module
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.numerics import NUMERICS
from truedraw.engine.openvino.core import computes, core
from truedraw.engine.openvino.nodes import parameter, times
from truedraw.errors import EngineError
from truedraw.protocol import Work
from truedraw.silent_openvino import openvino


def test_what_a_processor_has_no_instructions_for_is_float32(monkeypatch):
    monkeypatch.setattr(module, "computes", lambda precision: False)
    monkeypatch.setattr(module, "IS_ARM", False)
    assert {numerics(name).inference for name in NUMERICS} == {"f32"}
    assert numerics("runtime").cache == "f16"


def test_the_runtimes_cache_is_float32_on_arm(monkeypatch):
    monkeypatch.setattr(module, "IS_ARM", True)
    assert {name: numerics(name).cache for name in NUMERICS} == {
        "native": "f16", "runtime": "f32", "rowwise": "f32", "reference": "f32"
    }  # fmt: skip


def test_what_it_has_is_used(monkeypatch):
    monkeypatch.setattr(module, "computes", lambda precision: precision == "bf16")
    assert numerics("runtime").inference == numerics("rowwise").inference == "bf16"
    assert numerics("reference").inference == "f32"


def test_the_runtime_says_what_it_has():
    assert computes("int8")
    assert not computes("a precision of nobody")
    assert computes("bf16") == ("BF16" in core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))


def without_attention(*given):
    """What the runtime does on an ARM processor without SVE."""
    raise RuntimeError("core.cpp:117:\npaged_attn.cpp:317:\nAttentionExecutor creation fails with precision f32\n")


@pytest.mark.parametrize("name", ["runtime", "reference"])
def test_a_processor_for_which_the_runtime_has_no_attention_is_named(monkeypatch, tmp_path, name):
    monkeypatch.setattr(
        "truedraw.engine.openvino.compiling.core", lambda: SimpleNamespace(compile_model=without_attention)
    )
    with pytest.raises(EngineError, match="OpenVINO has no attention for this processor"):
        CPUEngine.load(tiny_checkpoint(), cache=tmp_path, cache_bytes=8 << 20, numerics=name)


@pytest.mark.parametrize("name", ["runtime", "rowwise"])
def test_a_model_runs_on_a_processor_without_bfloat16(monkeypatch, tmp_path, name):
    monkeypatch.setattr(module, "computes", lambda precision: False)
    engine = CPUEngine.load(tiny_checkpoint(), cache=tmp_path, cache_bytes=8 << 20, numerics=name)
    assert engine.forward([Work(engine.open([1, 2, 3]))])[0].logits.shape[0] == 1
    engine.close()


@pytest.mark.parametrize("width", [1, 15, 16, 17, 18, 19, 21, 23, 25, 27, 29, 30, 31, 32, 33])
def test_products_of_any_width_are_right(width):
    """Of many rows: those of a few are right without any doing."""
    rng = np.random.default_rng(width)
    matrix, rows = quantise(rng.normal(size=(24, width)).astype(np.float32)), rng.normal(size=(13, width))
    x = parameter("x", [-1, width], np.float32)
    model = openvino().Model([times(x, matrix)], [x], "product")
    found = core().compile_model(model, "CPU", NUMERICS["runtime"].properties(1))([rows.astype(np.float32)])[0]
    expected, size = rows @ dense(matrix).T, np.abs(rows) @ np.abs(dense(matrix)).T
    assert np.abs(found - expected).max() < 0.01 * size.max()
