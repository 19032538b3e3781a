"""Processors of a container with a share of the machine's time."""

import os
from types import SimpleNamespace

import pytest

from engine.decoder import tiny_checkpoint
from truedraw.engine.cpu.arithmetic import numerics
from truedraw.engine.cpu.records import record_key
from truedraw.engine.numerics import NUMERICS
from truedraw.threads import processors as module
from truedraw.threads.crew import threads_of


@pytest.fixture
def system(monkeypatch, tmp_path):
    """system(own groups, {file: text}): as the system shows them; eight processors."""

    def shows(own, files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        (tmp_path / "own").write_text(own)

    monkeypatch.setattr(module, "GROUPS", tmp_path)
    monkeypatch.setattr(module, "OWN", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    return shows


OLD = "5:memory:/a\n4:cpuacct,cpu:/docker/abc\n0::/\n"
CASES = {
    "no groups": ("", {}, None),
    "no limit": ("0::/\n", {"cpu.max": "max 100000\n"}, None),
    "two": ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
    "two and a half": ("0::/\n", {"cpu.max": "250000 100000\n"}, 2),
    "a tenth": ("0::/\n", {"cpu.max": "10000 100000\n"}, 1),
    "the group above": ("0::/pod/box\n", {"pod/box/cpu.max": "max 100000\n", "pod/cpu.max": "300000 100000\n"}, 3),
    "the least": ("0::/pod/box\n", {"pod/box/cpu.max": "400000 100000\n", "pod/cpu.max": "300000 100000\n"}, 3),
    "a colon in its name": ("0::/a:b\n", {"a:b/cpu.max": "200000 100000\n"}, 2),
    "older": (OLD, {"cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "150000\n",
                    "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "50000\n"}, 3),
    "older, in a container": (OLD, {"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4),
    "older, no limit": (OLD, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
    "of memory": ("3:memory:/a\n", {"memory/a/cpu.max": "100000 100000"}, None),
    "damaged": ("0::/\nx\n", {"cpu.max": "many 100000\n"}, None),
    "no period": ("0::/\n", {"cpu.max": "100000 0\n"}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_share_is_a_limit(system, case):
    own, files, share = CASES[case]
    system(own, files)
    assert module.share() == module.threads_at_most() == share
    assert module.processors() == threads_of(None) == (share or 8)
    assert threads_of(5) == 5
    assert numerics("runtime").properties(None).get("INFERENCE_NUM_THREADS") == share
    assert numerics("runtime").properties(3)["INFERENCE_NUM_THREADS"] == 3


def test_a_share_beyond_what_is_shown(system):
    system("0::/\n", {"cpu.max": "1600000 100000\n"})
    assert module.processors() == 8
    assert module.threads_at_most() is None


def test_another_share_is_another_record(system):
    options, keys = SimpleNamespace(threads=None, arithmetic=NUMERICS["runtime"]), set()
    for quota in ("max", "200000", "300000"):
        system("0::/\n", {"cpu.max": f"{quota} 100000\n"})
        keys.add(record_key(tiny_checkpoint(), options))
    assert len(keys) == 3
