"""Memory of one generation by parts: they add up, on a real file in a real process; and what can go wrong."""

import sys
from pathlib import Path

import pytest

from models.tiny_models import GGUFOptions, random_tensors, tiny_config, write_gguf
from truedraw.bench import memory
from truedraw.bench.memory import Job, MemoryUse, Stage, memory_use
from truedraw.bench.residence import is_cache, peak_bytes, residence
from truedraw.engine.mappings import Mapping
from truedraw.errors import BadParameter, EngineError, UnknownModel

linux = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")


@pytest.fixture
def model(tmp_path):
    config = tiny_config()
    options = GGUFOptions(kind="Q8_0")
    return write_gguf(tmp_path / "m.gguf", config, random_tensors(config), options)


@linux
@pytest.mark.slow
def test_the_parts_of_a_run_add_up(model, tmp_path):
    use = memory_use(model, Job(max_tokens=5, n=2), cache=tmp_path / "cache")
    assert use.file_bytes == model.stat().st_size
    stored = next((tmp_path / "cache").rglob("constants.bin")).stat().st_size
    assert stored / 2 < use.weights_bytes < stored  # there the rows of tokens lie once more
    assert use.tokens == 10
    assert use.pages_bytes > 0
    assert [stage.name for stage in use.stages] == ["started", "loaded", "first token", "finished"]
    peaks = [stage.peak_bytes for stage in use.stages]
    assert peaks == sorted(peaks)
    assert peaks[-1] == use.peak_bytes >= use.resident_bytes == use.stages[-1].resident_bytes
    # An engine, an interpreter: below this the measured process cannot have done its work.
    assert min(use.runtime_bytes, use.reclaimable_bytes) > 20e6


@linux
def test_a_run_that_fails_says_why(model, tmp_path):
    with pytest.raises(EngineError, match="numerics"):
        memory_use(model, Job(numerics="vague"), cache=tmp_path / "cache")


@linux
def test_a_file_of_the_users_that_is_called_as_one_of_pythons_is_not_run(model, tmp_path, monkeypatch):
    (tmp_path / "dataclasses.py").write_text("raise RuntimeError('a file in the working folder was run')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])  # which Python passes over, as it is no text
    with pytest.raises(EngineError, match="numerics"):
        memory_use(model, Job(numerics="vague"), cache=tmp_path / "cache")


@linux
@pytest.mark.parametrize("job", [Job(max_tokens=0), Job(n=-1)])
def test_a_job_without_tokens_is_refused(job):
    with pytest.raises(BadParameter, match="give 1 or more"):
        memory_use(job=job)


@linux
def test_an_unknown_model_is_refused_as_everywhere(tmp_path):
    with pytest.raises(UnknownModel):
        memory_use("no-such-model", cache=tmp_path)


def test_other_systems_are_told(monkeypatch):
    monkeypatch.setattr(memory, "can_measure", lambda: False)
    with pytest.raises(EngineError, match="only Linux"):
        memory_use()


def test_the_ratio_leaves_pages_out():
    use = MemoryUse(100, 120, 30, 40, 10, 230, 1, (Stage("finished", 200, 230),))
    assert use.ratio == 2.0
    assert use.to_json()["resident_bytes"] == 200
    assert use.to_json()["stages"][0]["name"] == "finished"


def test_only_memory_that_nobody_else_asks_for_in_this_way_is_cache():
    def mapping(path, flags):
        return Mapping(0, 1 << 30, "rw-p", path, 4096, 4096, flags)

    assert is_cache(mapping("", ("rd", "dd", "nh")))
    assert is_cache(mapping("", ("rd", "dd", "hg")))
    assert not is_cache(mapping("", ("rd", "dd")))
    assert not is_cache(mapping("", ("rd", "hg")))
    assert not is_cache(mapping("/m/constants.bin", ("dd", "nh")))


def test_the_peak_is_read_in_bytes():
    assert peak_bytes("Name:\tpython\nVmHWM:\t    1234 kB\nVmRSS:\t 99 kB\n") == 1234 * 1024
    assert peak_bytes("Name:\tpython\n") == 0


@linux
def test_a_look_at_this_process():
    seen = residence("now")
    assert 0 < seen.anonymous_bytes < seen.resident_bytes <= seen.peak_bytes
