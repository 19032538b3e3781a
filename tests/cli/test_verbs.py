"""Verbs by name: one is imported when it is asked for, and what the environment holds is read as ever."""

import subprocess
import sys

import pytest

from truedraw.cli.main import command
from truedraw.cli.verbs import NAMES, Verbs

LOADED = """
import sys
from truedraw.cli.main import run
code = run(sys.argv[1:])
print(code, *sorted(name for name in sys.modules if name.startswith("truedraw.cli.")), file=sys.stderr)
"""


def _modules(*arguments):
    """Those of the command line that a command has loaded."""
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    code, *names = done.stderr.splitlines()[-1].split()
    assert code == "0"
    return {name.rpartition(".")[2] for name in names}


def test_the_version_takes_no_verb():
    assert not _modules("--version") & {*NAMES}


def test_one_verb_does_without_the_others():
    loaded = _modules("generate", "the", "-m", "tabular", "--max-tokens", "2")
    assert loaded & {*NAMES} == {"generate"}


def test_every_verb_is_there_under_its_name():
    verbs = Verbs()
    assert {name: verb.name for name, verb in verbs.items()} == {name: name for name in NAMES}
    with pytest.raises(KeyError):
        verbs["__len__"]


@pytest.mark.parametrize("words", [("generate",), ("sweep",), ("bench",), ("bench", "many")])
def test_a_list_of_texts_in_the_environment_has_one_a_line(monkeypatch, words):
    monkeypatch.setenv("TRUEDRAW_STOP", "a b\nc d")
    verb = command()
    for word in words:
        verb = verb.commands[word]
    (stop,) = (option for option in verb.params if option.name == "stop")
    with verb.make_context(words[-1], [], resilient_parsing=True) as context:
        assert stop.value_from_envvar(context) == ["a b", "c d"]
