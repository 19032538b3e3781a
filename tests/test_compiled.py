"""Where no machine code can be kept, compiled code runs all the same."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []
from truedraw import load
print(load("tabular").generate("the cat", seed=5, ignore_eos=True, max_tokens=2, speculative=False).text)
"""


@pytest.mark.slow
def test_without_a_folder_for_machine_code():
    expected = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CacheImpl._locator_classes = []", "")],
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout == expected.stdout
