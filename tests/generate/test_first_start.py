"""Who compiles what at a first start."""

from __future__ import annotations

import json
import subprocess
import sys

import numba
import pytest

from truedraw.compiled import compiled, is_kept
from truedraw.errors import TruedrawError
from truedraw.generate import first_start
from truedraw.sampling.working_time import COMPILER


@pytest.fixture
def loaded(monkeypatch) -> list[str]:
    """What happens, in order; a first start on a machine of two processors."""
    found: list[str] = []
    monkeypatch.setattr(first_start, "warm_up", lambda: found.append("loaded"))
    monkeypatch.setattr(first_start, "is_kept", lambda _function: False)
    monkeypatch.setattr(first_start, "processors", lambda: 2)
    return found


def started(monkeypatch, command: str) -> None:
    monkeypatch.setattr(first_start, "COMMAND", command)


def test_what_the_command_says_can_be_run(tmp_path) -> None:
    """By this process's own paths, not by what lies in the folder where it is run."""
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)")
    paths = json.dumps(sys.path)
    subprocess.run([sys.executable, "-P", "-c", first_start.COMMAND, paths], check=True, cwd=tmp_path)


def test_a_start_that_only_waits_tells_of_compiling(monkeypatch, loaded) -> None:
    monkeypatch.setattr(COMPILER, "begins", lambda: loaded.append("told"))
    started(monkeypatch, "")
    with first_start.kernels():
        assert loaded == ["told"]
    assert COMPILER.begins is None


def test_another_process_compiles_beside_the_engine(monkeypatch, tmp_path, loaded) -> None:
    file = tmp_path / "done"
    started(monkeypatch, f"open({str(file)!r}, 'w').close()")
    with first_start.kernels() as compiling:
        assert compiling
        assert not loaded
    assert file.exists()
    assert loaded == ["loaded"]


@pytest.mark.parametrize("command", ["raise SystemExit(3)", "import time; time.sleep(600)"])
def test_one_that_fails_or_hangs_is_done_without(monkeypatch, loaded, command: str) -> None:
    started(monkeypatch, command)
    monkeypatch.setattr(first_start, "PATIENCE", 0.5)
    with first_start.kernels():
        pass
    assert loaded == ["loaded"]


def test_it_ends_with_an_engine_that_cannot_be_loaded(monkeypatch, loaded) -> None:
    helpers = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: helpers.append(start(*a, **k)) or helpers[0])
    started(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(TruedrawError, match="no such model"), first_start.kernels():
        raise TruedrawError("no such model")
    assert helpers[0].poll() is not None
    assert not loaded


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("is_kept", lambda _function: True),
        ("is_kept", lambda _function: None),
        ("processors", lambda: 1),
        ("sys.executable", ""),
        ("sys.frozen", True),
        ("sys.executable", "/no/such/python"),
    ],
)
def test_nobody_helps_where_nothing_is_to_do_or_nobody_can(monkeypatch, loaded, name: str, value) -> None:
    monkeypatch.setattr(f"truedraw.generate.first_start.{name}", value, raising=name != "sys.frozen")
    with first_start.kernels() as compiling:
        assert not compiling
        assert loaded == ["loaded"]
    assert loaded == ["loaded"]


def test_what_is_kept(tmp_path, monkeypatch) -> None:
    assert is_kept(numba.njit(lambda x: x)) is None
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @compiled()
    def doubled(x):
        return 2 * x

    assert is_kept(doubled) is False
    assert doubled(2) == 4
    assert is_kept(doubled) is True
    files, other = doubled._cache._cache_file, ("triple", "haswell", "+avx2")
    monkeypatch.setattr(files, "_load_index", lambda: {("signature", other, ("hash", "hash")): "file"})
    assert is_kept(doubled) is False


def test_a_helper_needs_no_help(monkeypatch, loaded, tmp_path) -> None:
    file = tmp_path / "told"
    started(monkeypatch, f"import os; open({str(file)!r}, 'w').write(os.environ[{first_start.HELPS!r}])")
    with first_start.kernels():
        pass
    monkeypatch.setenv(first_start.HELPS, file.read_text())
    with first_start.kernels() as compiling:
        assert not compiling
