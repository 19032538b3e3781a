"""Arithmetics as a processor has them."""

from types import SimpleNamespace

import pytest

from engine.decoder import tiny_checkpoint
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.cpu import arithmetic as module
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.numerics import NUMERICS
from truedraw.engine.openvino.core import computes, core
from truedraw.errors import EngineError
from truedraw.protocol import Work


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
