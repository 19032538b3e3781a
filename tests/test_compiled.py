"""Kept machine code is used where it is whole, and compiled again where it is not, or nothing can be kept."""

import os
import subprocess
import sys

import pytest

from truedraw.compiled_cache import SafeFiles

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


def run_outer(folder, name: str = "outer") -> str:
    command = [sys.executable, "-c", f"import {name}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_machine_code_is_made_anew_where_what_is_compiled_into_it_has_changed(tmp_path):
    """The function's own file has not."""
    (tmp_path / "outer.py").write_text(OUTER)

    def said(more: int) -> str:
        (tmp_path / "beside.py").write_text(BESIDE.format(more))
        return run_outer(tmp_path)

    assert [said(1), said(1), said(20)] == ["2 0", "2 1", "21 0"]  # longer: Python knows a file by seconds and length
    assert len([*(tmp_path / "__pycache__").glob("outer.asked*.nbc")]) == 1


def test_code_is_told_apart_by_what_the_compiler_does_not_know_of_a_processor(tmp_path):
    """It takes both for the same one; code for the one may not run on the other."""
    (tmp_path / "beside.py").write_text(BESIDE.format(1))
    (tmp_path / "outer.py").write_text(OUTER)
    other = "import truedraw.compiled_cache as each\neach.UNTOLD = ('dotprod',)\n"
    (tmp_path / "other.py").write_text(f"{other}import outer\n")
    assert [run_outer(tmp_path), run_outer(tmp_path)] == ["2 0", "2 1"]
    assert run_outer(tmp_path, "other") == "2 0"
    assert [run_outer(tmp_path), run_outer(tmp_path, "other")] == ["2 1", "2 1"]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_damaged_machine_code_is_made_anew(tmp_path, ending, damage):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "beside.py").write_text(BESIDE.format(1))
    assert [run_outer(tmp_path), run_outer(tmp_path)] == ["2 0", "2 1"]
    (file,) = (tmp_path / "__pycache__").glob(f"outer.asked*{ending}")
    data = file.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
    file.write_bytes({"empty": b"", "cut": data[:middle], "flipped": flipped}[damage])
    assert [run_outer(tmp_path), run_outer(tmp_path)] == ["2 0", "2 1"]


def test_an_index_with_one_bit_changed_is_not_read(tmp_path, capfd):
    """Python's pickle takes gigabytes for some, and writes of faults of its own for others."""
    files = SafeFiles(str(tmp_path), "f.py311", ("stamp", 1.5))
    files._save_index({("(float64,)", "cpu"): "f.nbc"})
    assert files._load_index() == {("(float64,)", "cpu"): "f.nbc"}
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        assert files._load_index() == {}
    assert capfd.readouterr().err == ""


LINKED = """
import sys
from outer import asked
assert sum(asked.stats.cache_hits.values()) == {hits}
loaded = "numba.np.linalg" in sys.modules
import numba, pathlib
for file in pathlib.Path("__pycache__").glob("outer.asked*"):
    file.unlink()  # as another process does that finds other sources
print(loaded, numba.njit(lambda x: asked(x) + 1)(1))
"""


def test_kept_code_comes_without_what_compiling_needs_and_can_still_be_compiled_into_other_code(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "beside.py").write_text(BESIDE.format(1))

    def said(hits: int) -> list[str]:
        command = [sys.executable, "-c", LINKED.format(hits=hits)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        return done.stdout.split("\n")[1].split()

    run_outer(tmp_path)
    assert said(1) == ["False", "3"]
    assert said(0) == ["True", "3"]


FULL = """
import errno
from truedraw.compiled_cache import SafeFiles

def full(self, name, data):
    raise OSError(errno.ENOSPC, "No space left on device")

SafeFiles._save_data = full
import outer
"""


def test_a_full_disk_only_costs_time(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "beside.py").write_text(BESIDE.format(1))
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "2 0"
    assert not [*tmp_path.rglob("*.nbc")]


def test_what_a_killed_process_left_half_written_goes_when_it_is_old(tmp_path):
    old, fresh = tmp_path / "f.py311.0a.nbc.tmp.12ab", tmp_path / "f.py311.nbi.tmp.34cd"
    other = tmp_path / "f.py3112.nbi.tmp.56ef"
    for part in (old, fresh, other):
        part.write_bytes(b"half")
    for part in (old, other):
        os.utime(part, (0, 0))
    SafeFiles(str(tmp_path), "f.py311", None).save("key", 1)
    assert not old.exists()
    assert fresh.exists()
    assert other.exists()


def test_two_signatures_have_two_names_whoever_compiles_first():
    """numba counts: two processes that start with nothing would give both codes the first name."""
    first, second = SafeFiles("", "f.py311", None), SafeFiles("", "f.py311", None)
    assert first._name_of(("(float64,)", "cpu")) == second._name_of(("(float64,)", "cpu"))
    assert first._name_of(("(float64,)", "cpu")) != first._name_of(("(int64,)", "cpu"))


@pytest.mark.slow
def test_without_a_folder_for_machine_code():
    expected = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CacheImpl._locator_classes = []", "")],
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout == expected.stdout
