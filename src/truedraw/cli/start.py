"""The console script. Only what is needed to end quietly on ctrl-C is imported before the command line itself."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Any

from truedraw.cli.cursor import show_cursor, show_cursor_when_ended
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.garbage import never_looked_for_again, seldom_looked_for


def main() -> None:
    """Run the command line and exit with its code; from here on ctrl-C never shows a traceback."""
    wanted = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # a background job of a script keeps ignoring it
    if wanted:
        signal.signal(signal.SIGINT, _leave)
    sys.unraisablehook = _unraisable
    seldom_looked_for()
    _open_streams()
    show_cursor_when_ended()
    from truedraw.cli.main import run
    from truedraw.cli.pipe import mark_output

    mark_output()
    _choose_encoding()
    code = _interruptible(run) if wanted else _quietly(run)
    never_looked_for_again()
    sys.exit(code)


def _interruptible(run: Any) -> int:
    """The exit code, that of ctrl-C wherever in here one comes, a second one behind the last words included."""
    code = INTERRUPTED
    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, _interrupt)
        code = _quietly(run)
    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said: from here on there is nothing to keep
    return code


def _open_streams() -> None:
    """What a daemon or a shell has closed is opened to nowhere; of stdout whoever writes to it is told, see pipe.py."""
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - as long as the program
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # which nobody replaces, so that it stays open


def _choose_encoding() -> None:
    """A terminal that is not UTF-8 shows ? instead of failing; files and pipes are UTF-8 unless the user says else."""
    if not hasattr(sys.stdout, "reconfigure"):
        return
    if sys.stdout.isatty() or os.environ.get("PYTHONIOENCODING", "").partition(":")[0]:
        sys.stdout.reconfigure(errors="replace")
    else:
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _quietly(run: Any) -> int:
    """The exit code; an import that turned ctrl-C into an error of its own is still ctrl-C."""
    try:
        code: int = run(sys.argv[1:])
    except Exception as error:
        if not came_of_interrupt(error):
            raise
        return INTERRUPTED
    return code


def came_of_interrupt(error: BaseException) -> bool:
    """Whether an error was raised because of, or while handling, a KeyboardInterrupt."""
    seen: set[int] = set()
    while not isinstance(error, KeyboardInterrupt):
        seen.add(id(error))
        below = error.__cause__ or error.__context__
        if below is None or id(below) in seen:
            return False
        error = below
    return True


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Nothing has been done yet, so nothing is lost."""
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """As Python does by itself; what it leaves half made from here on may go without a word."""
    sys.unraisablehook = _after_interrupt
    signal.default_int_handler(number, frame)


def _after_interrupt(problem: Any) -> None:
    """The end of an object whose constructor was interrupted, so that it lacks what it would close."""
    if not (isinstance(problem.exc_value, AttributeError) and getattr(problem.object, "__name__", "") == "__del__"):
        _unraisable(problem)


def _unraisable(problem: Any) -> None:
    """ctrl-C inside a callback of compiled code, where Python can raise nothing and would print a traceback."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        show_cursor()
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(problem)
