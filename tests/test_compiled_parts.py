"""Parts are compiled into wholes, and have no machine code of their own."""

import subprocess
import sys

import pytest

WHOLE = """
from truedraw.compiled import apart, compiled, inlined, inner

@inlined()
def put_in(x):
    return x + 1

@inner()
def refused(x):
    if x < 0:
        raise ValueError("below 0 by", -x)
    return x

@apart()
def kept_apart(x):
    total = 0
    for k in range(x):
        total += put_in(k) * k
    return total

@compiled()
def first(x):
    return kept_apart(refused(x))

@compiled()
def second(x):
    return kept_apart(x) - 1
"""
ASKED = """
from whole import first, second
print(first(4), second(4), first.stats.cache_hits)
try:
    first(-3)
except ValueError as error:
    print(*error.args)
"""
LOOKED_AT = """
from llvmlite.binding import Linkage
from whole import first, kept_apart, put_in, second
first(4), second(4)
for each in (kept_apart, put_in):
    print([whole.library.get_pointer_to_function(whole.fndesc.llvm_func_name) for whole in each.overloads.values()])
for each in (first, second):
    (whole,) = each.overloads.values()
    functions = [f for f in whole.library.get_defined_functions() if f.linkage == Linkage.internal]
    print([name for name in ("kept_apart", "put_in") if any(name in f.name for f in functions)])
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "whole.py").write_text(WHOLE)
    return tmp_path


def said(folder, program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=folder)
    return done.stdout.splitlines()


def test_parts_do_the_same_in_the_process_that_compiles_and_in_those_that_load(folder):
    """What one raises is put together by its own environment, which its whole has to know."""
    first, *raised = said(folder, ASKED)
    assert first == "20 19 Counter()"
    assert raised == ["below 0 by 3"]
    again, *raised = said(folder, ASKED)
    assert again.startswith("20 19 Counter({")
    assert raised == ["below 0 by 3"]


def test_each_whole_has_its_own(folder):
    """A part kept apart is a function that nobody else can see; one that is put in is none any more."""
    assert said(folder, LOOKED_AT) == ["[0]", "[0]", "['kept_apart']", "['kept_apart']"]
