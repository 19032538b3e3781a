"""Signals reach a process whatever models it has closed, and its children load their own."""

import os
import subprocess
import sys

import pytest

from truedraw.engine.openvino import core

AFTER_TWO_MODELS = """
import gc, signal
from truedraw import load

first, second = load("smollm2-135m"), load("smollm2-135m")
second.generate("the", speculative="auto", max_tokens=2)
for model in (first, second):
    model.close()
del first, second, model
gc.collect()
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
signal.raise_signal(signal.SIGINT)
print(len(heard))
"""


IN_A_CHILD = """
import gc, os, signal
from truedraw import load

def text():
    with load("smollm2-135m") as model:
        return model.generate("the", seed=1, max_tokens=3).text

found = text()
gc.collect()
if not (child := os.fork()):
    signal.alarm(60)
    os._exit(text() != found)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_child_loads_what_its_parent_had_loaded_and_closed():
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"0\n")


@pytest.mark.parametrize("taken", [True, False])
def test_a_core_whose_stack_stays_is_kept(monkeypatch, taken):
    class Libc:
        def sigaltstack(self, given, _):
            return -1 if given is not None and not taken else 0

    kept = []
    monkeypatch.setattr(core, "KEPT", kept)
    monkeypatch.setattr(core.sys, "platform", "linux")
    monkeypatch.setattr(core.ctypes, "CDLL", lambda *_, **__: Libc())
    made = core.core()
    assert kept == ([] if taken else [made])


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="has no such stacks")
def test_a_signal_is_heard_where_models_ended_in_the_order_they_began():
    done = subprocess.run([sys.executable, "-c", AFTER_TWO_MODELS], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"1\n")
