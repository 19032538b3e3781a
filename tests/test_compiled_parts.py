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
    functions = [f for f in whole.library.get_defined_functions() if f.linkage == Linkage.private]
    print([name for name in ("kept_apart", "put_in") if any(name in f.name for f in functions)])
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "whole.py").write_text(WHOLE)
    return tmp_path


def said(folder, program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, timeout=120)
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


LENT = """
import numba
import numpy as np
from truedraw.compiled import compiled

@numba.njit
def lent(x, k):
    total = 0
    for step in range(x):
        for turn in range(step % 7):
            if turn % k == 1:
                total ^= turn * k
            if total % 5 == 2:
                total += turn
            total = total * 3 % 1000003
            for last in range(turn):
                total += (last ^ total) & 7
                if total % 7 == 2:
                    total -= k
        if total % 13 == 3:
            total ^= k
    return total

@compiled()
def whole(x):
    k = np.int64(3)
    return lent(x, k) + lent(x + 1, k) + lent(x + 2, k)

@numba.njit
def another(x, k):
    return lent(x, k) + lent(x + 1, k) + lent(x + 2, k)

def holds(name):
    found = whole(10) if name == "whole" else another(10, 5)
    return found == sum(lent.py_func(10 + more, 3 if name == "whole" else 5) for more in range(3))
"""


@pytest.mark.parametrize("order", [("whole", "another"), ("another", "whole")])
def test_functions_of_others_keep_their_machine_code(tmp_path, order):
    """The linker does not bind their calls to what a whole has made of the same function, for a k that is 3."""
    (tmp_path / "lent.py").write_text(LENT)
    for _ in range(2):
        program = f"import lent\nfor name in {order}: print(lent.holds(name))"
        assert said(tmp_path, program) == ["True", "True"]
