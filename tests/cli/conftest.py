"""Runs the command line inside the test, as the console script would."""

import io
import os
from types import SimpleNamespace

import pytest

from truedraw.cli.main import run


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in [*filter(lambda name: name.startswith("TRUEDRAW_"), os.environ), "NO_COLOR"]:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capsys, monkeypatch):
    """cli("generate", "text", stdin=b"...") -> .code, .out, .err"""

    def invoke(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return invoke
