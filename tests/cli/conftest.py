"""Runs the command line inside the test, as the console script would."""

import io
import os
import signal
from types import SimpleNamespace

import pytest

from truedraw.cli.main import run
from truedraw.engine.tabular import TabularEngine


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in [*filter(lambda name: name.startswith("TRUEDRAW_"), os.environ), "NO_COLOR"]:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capsys, monkeypatch):
    """cli("generate", "text", stdin=b"..." or a file of bytes) -> .code, .out, .err"""

    def invoke(*arguments, stdin=b""):
        file = io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return invoke


@pytest.fixture
def interrupted_in_pass(monkeypatch):
    """interrupted_in_pass(6): ctrl-C comes in the sixth pass of the toy from now on, once."""

    def begin(number):
        forward, count = TabularEngine.forward, [0]

        def counted(self, *works):
            count[0] += 1
            if count[0] == number:
                signal.raise_signal(signal.SIGINT)
            return forward(self, *works)

        monkeypatch.setattr(TabularEngine, "forward", counted)

    return begin


@pytest.fixture
def has_torch(monkeypatch):
    """What is wrong is said before torch is needed, so that these need none."""
    monkeypatch.setattr("truedraw.cli.train_plan.require_torch", lambda: None)
