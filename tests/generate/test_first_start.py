"""Who compiles what at a first start."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numba
import pytest

from truedraw.compiled import compiled, is_kept
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import TruedrawError
from truedraw.generate import first_start, loading
from truedraw.generate.model import Model
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.sampling.working_time import COMPILER
from truedraw.text import Tokenizer


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


def helping(folder) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-c", first_start.COMMAND, json.dumps(sys.path)]
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE)


def test_what_the_command_says_can_be_run(tmp_path) -> None:
    """By this process's own paths, not by what lies in the folder where it is run."""
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)")
    with helping(tmp_path) as helper:
        assert helper.wait(300) == 0


def test_it_ends_with_whoever_asked_for_it(tmp_path) -> None:
    helper = helping(tmp_path)
    helper.stdin.close()
    assert helper.wait(60) == 1


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


def test_an_interruption_while_it_is_waited_for_leaves_no_model_open(monkeypatch, loaded) -> None:
    closed = []
    monkeypatch.setattr(Model, "close", lambda _model: closed.append(True))

    @contextmanager
    def interrupted():
        yield True
        raise KeyboardInterrupt

    toy = SimpleNamespace(load=lambda _checkpoint, **_: TabularEngine(TOY_TABLE))
    checkpoint = SimpleNamespace(path=None, name="any", config=SimpleNamespace(num_layers=1), sampling_defaults=None)
    tokenizer = Tokenizer(toy_text().load_tokenizer(), eos_ids=toy_text().eos_ids)
    given = {
        "kernels": interrupted,
        "find_engine": lambda _name: toy,
        "find_checkpoint": lambda *_, **__: checkpoint,
        "head_for": lambda *_: None,
        "options_for": lambda *_: {},
        "Tokenizer": SimpleNamespace(of=lambda _checkpoint: tokenizer),
    }
    for name, value in given.items():
        monkeypatch.setattr(loading, name, value)
    with pytest.raises(KeyboardInterrupt):
        loading.open_model("any")
    assert closed == [True]


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
    (key,) = files._load_index()
    for changed in ((1, other), (2, ("hash", "hash"))):
        monkeypatch.setattr(files, "_load_index", lambda changed=changed: {swapped(key, *changed): "file"})
        assert is_kept(doubled) is False


def swapped(key: tuple, place: int, value) -> tuple:
    return (*key[:place], value, *key[place + 1 :])


@pytest.mark.parametrize(("optimize", "ignored"), [(0, 0), (1, 1), (2, 0)])
def test_it_compiles_what_this_process_would(monkeypatch, loaded, tmp_path, optimize: int, ignored: int) -> None:
    """-OO leaves out docstrings, and what is left is other code to numba."""
    file, flags = tmp_path / "told", SimpleNamespace(optimize=optimize, ignore_environment=ignored)
    here = SimpleNamespace(executable=sys.executable, path=sys.path, flags=flags)
    monkeypatch.setattr(first_start, "sys", here)
    monkeypatch.setenv("PYTHONOPTIMIZE", "2" if ignored else "")
    told = "sys.flags.optimize, sys.flags.ignore_environment"
    started(monkeypatch, f"import sys; open({str(file)!r}, 'w').write(str([{told}]))")
    with first_start.kernels():
        pass
    assert file.read_text() == str([optimize, ignored])


def test_a_helper_needs_no_help(monkeypatch, loaded, tmp_path) -> None:
    file = tmp_path / "told"
    started(monkeypatch, f"import os; open({str(file)!r}, 'w').write(os.environ[{first_start.HELPS!r}])")
    with first_start.kernels():
        pass
    monkeypatch.setenv(first_start.HELPS, file.read_text())
    with first_start.kernels() as compiling:
        assert not compiling
