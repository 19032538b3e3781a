import importlib.util
import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

import truedraw
from truedraw import __version__, load
from truedraw.cli.main import command
from truedraw.cli.options import notice_invariance, notice_threads
from truedraw.cli.verbs import STRIPPED
from truedraw.engine.constants.weights import WEIGHTS
from truedraw.engine.cpu import InvarianceReport
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import NotInvariant
from truedraw.generate.model import Model

ROOT = Path(__file__).parent.parent.parent


def cli_page():
    spec = importlib.util.spec_from_file_location("cli_page", ROOT / "tools" / "cli_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_command_line_is_current():
    page = cli_page()
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run: python tools/cli_page.py"


@pytest.mark.parametrize(
    ("flag", "default"), [("`--alpha`", "0.01"), ("tune, `--output`", "truedraw.toml"), ("`--least`", "1")]
)
def test_the_page_says_defaults_of_any_type(flag, default):
    verb, _, name = flag.rpartition(", ")
    _, _, section = cli_page().page().partition(f"## truedraw {verb}")
    (row, *_) = [line for line in section.splitlines() if line.startswith(f"| {name}")]
    assert row.endswith(f" Default: {default}. |")


def test_help_says_by_which_weights_the_default_numerics_are_native():
    options = {each.name: each for each in command().commands["generate"].params}
    assert "AVX2 or is ARM's and weights are auto or int8, else runtime" in options["numerics"].help
    for name in WEIGHTS:
        assert f"{name}: " in options["weights"].help


@pytest.mark.parametrize("verb", ["generate", "chat", "sweep", "bench", "tune"])
def test_every_flag_has_an_environment_twin_and_a_help(verb):
    options = [each for each in command().commands[verb].params if each.param_type_name == "option"]
    assert len(options) > 15
    for option in options:
        longest = max(option.opts, key=len)
        assert option.envvar == "TRUEDRAW_" + longest.lstrip("-").replace("-", "_").upper()
        assert option.help


def test_help_and_version(cli):
    assert cli("--version").out == f"{__version__}\n"
    whole = cli().out
    for verb in ("generate", "chat", "sweep", "bench", "tune", "models"):
        assert verb in whole
        help_page = cli(verb, "--help")
        assert (help_page.code, help_page.err) == (0, "")
        assert "Usage: truedraw" in help_page.out
    assert cli("models").code == 2


@pytest.mark.parametrize("verb", ["", "models", "generate", "train show"])
def test_a_python_that_leaves_docstrings_out_is_told_of(verb):
    def said(*how):
        words = [sys.executable, *how, "-m", "truedraw", *verb.split(), "--help"]
        surroundings = {**os.environ, "PYTHONPATH": str(Path(truedraw.__file__).parents[1])}
        return subprocess.run(words, capture_output=True, text=True, check=True, env=surroundings).stdout

    assert STRIPPED.partition(":")[0] in said("-OO")
    assert STRIPPED.partition(":")[0] not in said()


def test_more_threads_than_processors_are_told_what_that_means(capsys, monkeypatch):
    monkeypatch.setattr("truedraw.threads.processors.processors", lambda: 4)
    for threads in (None, 1, 4):
        notice_threads(threads)
    assert capsys.readouterr().err == ""
    notice_threads(5)
    assert "5 threads on 4 processors wait for one another" in capsys.readouterr().err


def test_a_machine_that_cannot_keep_its_bits_equal_is_told_so(capsys):
    engine = TabularEngine({(): [0.5, 0.5]})
    notice_invariance(engine)
    engine.invariance = InvarianceReport(True, 0.0, 0.0, 9, ())
    notice_invariance(engine)
    assert capsys.readouterr().err == ""
    engine.invariance = InvarianceReport(False, 0.3, 0.0123, 9, ("tree", "chain of 3"))
    notice_invariance(engine)
    (line,) = capsys.readouterr().err.splitlines()
    assert "total variation up to 0.01; tree, chain of 3" in line


def test_a_machine_that_cannot_keep_its_bits_equal_is_warned_of(cli, monkeypatch):
    """Once: in Python by a warning, on the command line by the notice."""
    report = InvarianceReport(False, 0.3, 0.0123, 9, ("tree", "chain of 3"))
    monkeypatch.setattr(TabularEngine, "invariance", report, raising=False)
    with pytest.warns(NotInvariant, match=r"tree, chain of 3\): the same seed .*; numerics='reference' is slower"):
        load("tabular")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ran = cli("generate", "ab", "-m", "tabular", "--max-tokens", "2", "--json")
    assert (ran.code, told) == (0, [])
    assert ran.err.count("the same seed can give another text") == 1


@pytest.mark.parametrize("holds", [False, True])
def test_where_warnings_are_errors_no_model_is_left_open(monkeypatch, holds):
    closed, close = [], Model.close
    monkeypatch.setattr(Model, "close", lambda model: closed.append(model) or close(model))
    monkeypatch.setattr(TabularEngine, "invariance", InvarianceReport(holds, 0.0, 0.0, 9, ()), raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nullcontext() if holds else pytest.raises(NotInvariant):
            load("tabular")
    assert len(closed) == (0 if holds else 1)
