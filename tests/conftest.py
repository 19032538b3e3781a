"""Shared fixtures; the oracle and the known laws are plain modules beside this file."""

import os
import signal
import sys
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import pytest

from truedraw.engine.cpu import timing

sys.path.insert(0, str(Path(__file__).parent))

ALL = 5000  # tests; a run of one file has all of its cases
MANY, PART = 2, 12  # cases; of which `make test` runs one in so many, one at least
WHOLE = "bug", "caught", "broken", "seen", "wrong"  # what must be found out is planted in every run
APART = "slow", "parity", "interrupts"
REAL = 10_000  # tokens of a vocabulary: a model that people use, whose measured passes may be kept for them


def pytest_configure(config):
    """Of several workers each keeps to its share of the cores: no pool of threads is larger."""
    worker = getattr(config, "workerinput", None)
    if worker is None or not hasattr(os, "sched_setaffinity"):
        return
    cores, number = sorted(os.sched_getaffinity(0)), int(worker["workerid"].removeprefix("gw"))
    os.sched_setaffinity(0, cores[number :: worker["workercount"]] or cores)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Where all tests are asked for, most cases of a test that has many are slow ones: which, stays the same."""
    if len(items) < ALL:
        return
    cases = defaultdict(list)
    for item in items:
        name = item.nodeid.partition("[")[0]
        if not any(word in name.rpartition("::")[2] for word in WHOLE) and not any(map(item.get_closest_marker, APART)):
            cases[name].append(item)
    for found in cases.values():
        if len(found) >= MANY:
            found.sort(key=lambda item: crc32(item.nodeid.encode()))
            for item in found[-(-len(found) // PART) :]:
                item.add_marker("slow")


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Also in a background job, whose processes ignore it, and behind a test whose command let it end the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def few_rules(monkeypatch):
    """Of a certificate that is about something else the usual rule is enumerated, and the one that is planted."""
    from truedraw.registry import BUILT_IN
    from truedraw.stats.check import enumerated

    def rules():
        return ["traversal", *({"planted"} & {*BUILT_IN["verifiers"]})]

    monkeypatch.setattr(enumerated, "exact_verifiers", rules)


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch):
    """What passes of a tiny model take is measured at each first load, here by two passes of each shape."""
    usual = timing._seconds

    def seconds(engine, works, clock):
        shorter = (0.0, 0.0) if engine.vocab_size < REAL else ()
        return usual(engine, works, clock, *shorter)

    monkeypatch.setattr(timing, "_seconds", seconds)
