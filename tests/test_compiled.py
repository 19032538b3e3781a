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


OUTER = """
from truedraw.compiled import compiled
from beside import value

@compiled()
def asked(x):
    return value(x)

print(asked(1), sum(asked.stats.cache_hits.values()))
"""
BESIDE = """
from truedraw.compiled import inner

@inner()
def value(x):
    return x + {}
"""


def test_machine_code_is_made_anew_where_what_is_compiled_into_it_has_changed(tmp_path):
    """The function's own file has not."""
    (tmp_path / "outer.py").write_text(OUTER)

    def said(more: int) -> str:
        (tmp_path / "beside.py").write_text(BESIDE.format(more))
        command = [sys.executable, "-c", "import outer"]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()

    assert [said(1), said(1), said(2)] == ["2 0", "2 1", "3 0"]


@pytest.mark.slow
def test_without_a_folder_for_machine_code():
    expected = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CacheImpl._locator_classes = []", "")],
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout == expected.stdout
