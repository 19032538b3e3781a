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
def before_each_pass(monkeypatch):
    """before_each_pass(act): act(1) before the toy's next pass, act(2) before the one behind it, ..."""

    def begin(act):
        forward, count = TabularEngine.forward, [0]

        def counted(self, *works):
            count[0] += 1
            act(count[0])
            return forward(self, *works)

        monkeypatch.setattr(TabularEngine, "forward", counted)

    return begin


@pytest.fixture
def interrupted_in_pass(before_each_pass):
    """interrupted_in_pass(6): ctrl-C comes in the sixth pass of the toy from now on, once."""

    def begin(number):
        before_each_pass(lambda count: count == number and signal.raise_signal(signal.SIGINT))

    return begin


@pytest.fixture
def has_torch(monkeypatch):
    """What is wrong is said before torch is needed, so that these need none."""
    monkeypatch.setattr("truedraw.cli.train_plan.require_torch", lambda: None)
