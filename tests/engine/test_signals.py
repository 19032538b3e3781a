"""Signals reach a process whatever models it has closed: a runtime's core that is let go of frees a stack they need."""

import os
import subprocess
import sys

import pytest

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


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="has no such stacks")
def test_a_signal_is_heard_where_models_ended_in_the_order_they_began():
    done = subprocess.run([sys.executable, "-c", AFTER_TWO_MODELS], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"1\n")
