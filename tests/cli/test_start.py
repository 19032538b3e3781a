"""ctrl-C before there is anything to keep: no traceback, exit code 130."""

import gc
import os
import subprocess
import sys

import pytest

from truedraw.cli.garbage import FEW, USUAL, seldom_looked_for
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import opened
from truedraw.cli.start import came_of_interrupt
from truedraw.sampling.working_time import COMPILER

AT_IMPORT = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.argv = ["truedraw", "generate", "the", "-m", "tabular", "--max-tokens", "4"]
sys.meta_path.insert(0, Interrupting())
from truedraw.cli.start import main
main()
"""


def start(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)


@pytest.mark.parametrize("name", ["typer", "truedraw.cli.main", "numpy", "tokenizers", "numba", "truedraw.generate"])
def test_during_the_imports(name):
    done = start(AT_IMPORT.format(name=name))
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_wherever_no_signal_comes_it_runs():
    assert start(AT_IMPORT.format(name="no.such.module")).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="a background job of a shell")
def test_a_background_job_that_ignores_it_goes_on_ignoring_it():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)" + AT_IMPORT.format(name="numpy")
    assert start(code).returncode == 0


def test_inside_a_callback_of_compiled_code():
    code = """
import sys
import truedraw.cli.main as line

class Gone:
    def __del__(self):
        raise KeyboardInterrupt

def run(args):
    Gone()
    return 0

line.run = run
from truedraw.cli.start import main
main()
"""
    done = start(code)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize("place", ["line.run", "pipe.mark_output", "start._choose_encoding"])
def test_beside_the_command_itself(place):
    code = f"""
import signal
from truedraw.cli import main as line, pipe, start

{place} = lambda *_: signal.raise_signal(signal.SIGINT)
start.main()
"""
    done = start(code)
    assert (done.returncode, done.stderr) == (130, b"")


HALF_MADE = """
import signal, sys
import truedraw.cli.main as line

class Half:
    def __init__(self, interrupted):
        if interrupted:
            signal.raise_signal(signal.SIGINT)

    def __del__(self):
        self.whole

def run(args):
    try:
        Half({interrupted})
    except KeyboardInterrupt:
        pass
    return 0

line.run = run
from truedraw.cli.start import main
main()
"""


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_an_interrupted_constructor_leaves_goes_without_a_word(interrupted):
    done = start(HALF_MADE.format(interrupted=interrupted))
    assert done.returncode == 0
    assert (b"has no attribute 'whole'" in done.stderr, bool(done.stderr)) == (not interrupted, not interrupted)


def test_other_errors_are_shown_as_ever():
    code = """
import truedraw.cli.main as line
def run(args):
    1 / 0
line.run = run
from truedraw.cli.start import main
main()
"""
    done = start(code)
    assert done.returncode == 1
    assert b"ZeroDivisionError" in done.stderr


def test_an_import_that_made_another_error_of_it():
    def wrapped(cause):
        try:
            try:
                raise cause
            except BaseException as error:
                raise ImportError("numpy says hello") from error
        except ImportError as error:
            return error

    assert came_of_interrupt(wrapped(KeyboardInterrupt()))
    assert not came_of_interrupt(wrapped(OSError()))
    loop = ValueError()
    loop.__context__ = OSError()
    loop.__context__.__context__ = loop
    assert not came_of_interrupt(loop)


@pytest.mark.skipif(os.name == "nt", reason="a shell's way to close a stream")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 2)])
@pytest.mark.parametrize("more", ["", "--json", "-n 2 --output -"])
def test_streams_that_are_closed(closed, code, more, tmp_path):
    """A text that nobody gets is an error."""
    (tmp_path / "p.jsonl").write_text('{"prompt": "the"}\n')
    what = f"--input {tmp_path / 'p.jsonl'}" if "--output" in more else "the"
    program = "from truedraw.cli.start import main; main()"
    command = f'exec "$0" -c "$1" generate {what} -m tabular --max-tokens 4 {more} {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable, program], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
    assert (b"the output cannot be written" in done.stderr) is (closed == ">&-")


@pytest.mark.skipif(os.name == "nt", reason="a shell's way to close a stream")
def test_who_writes_a_file_needs_no_output(tmp_path):
    program = "from truedraw.cli.start import main; main()"
    command = f'exec "$0" -c "$1" sweep the -m tabular -t 0 -n 1 --max-tokens 2 --output {tmp_path / "s.jsonl"} >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable, program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s.jsonl").read_text().count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="a shell's way to close a stream")
def test_a_prompt_from_a_closed_stream_is_empty():
    code = "from truedraw.cli.start import main; main()"
    command = 'exec "$0" -c "$1" generate - -m tabular <&-'
    done = subprocess.run(["sh", "-c", command, sys.executable, code], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"prompt is empty" in done.stderr


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_once_why_nothing_happens_yet(monkeypatch, capsys, terminal):
    monkeypatch.setattr(COMPILER, "begins", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with opened(ModelFlags(model="tabular")):
        for _ in range(2):
            COMPILER.begin()
            COMPILER.end()
    assert capsys.readouterr().err.count("compiled for this machine, once: about a minute") == terminal


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, "é"), ({"PYTHONIOENCODING": "ascii"}, "?")],
)
def test_what_goes_into_a_pipe_is_utf_8_unless_the_user_says_else(environment, expected):
    """Lines of results are, whatever is said."""
    code = """
import truedraw.cli.main as line
from truedraw.cli.pipe import write_line

def run(args):
    print(chr(233), end="")
    write_line(chr(233).encode())
    return 0

line.run = run
from truedraw.cli.start import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, **environment}
    )
    assert done.stdout == f"{expected}é".encode()


def test_nothing_is_looked_through_at_the_end():
    code = """
import atexit, gc, sys
atexit.register(lambda: sys.stderr.write(f"{gc.get_freeze_count()} {len(gc.get_objects())}"))
sys.argv = ["truedraw", "--version"]
from truedraw.cli.start import main
main()
"""
    frozen, left = map(int, start(code).stderr.split())
    assert frozen > 10_000 > left


def test_garbage_is_looked_for_as_ever_once_a_model_is_there():
    seldom_looked_for()
    try:
        assert gc.get_threshold()[0] == FEW
        with opened(ModelFlags(model="tabular")):
            assert gc.get_threshold() == USUAL
    finally:
        gc.set_threshold(*USUAL)
