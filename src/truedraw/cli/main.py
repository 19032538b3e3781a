"""The command line: verbs, errors and exit codes.

0 done, 1 a check that failed, 2 an error (one line on stderr, never a traceback), 130 ended by ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from errno import ELOOP, EMFILE, ENAMETOOLONG, ENFILE, ENOMEM
from typing import Annotated, Any

import typer

from truedraw import TruedrawError, __version__
from truedraw.cli.colour import safe
from truedraw.cli.exit_codes import ERROR, INTERRUPTED
from truedraw.cli.notices import notice
from truedraw.cli.pipe import OutputError, quiet_pipe, stdout_to_nowhere
from truedraw.cli.places import place
from truedraw.cli.verbs import MARKUP, Program
from truedraw.errors import OutOfPages
from truedraw.file_locks import WAITS

NO_FILES = (EMFILE, ENFILE)
NOT_MAPPED = "failed to map segment"  # what Linux says of a library that there is no memory for
NO_NAMES = (ENAMETOOLONG, ELOOP)  # what no file system takes, wherever it was given
PROGRAM = "truedraw"

app = typer.Typer(
    cls=Program,
    help="Samples from a language model, sooner than the model alone, with exactly the model's distribution.",
    add_completion=False,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """What stands before a verb."""
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        from truedraw.cli.unknown_variables import notice_unknown

        notice_unknown(context.command, context.invoked_subcommand)


def command() -> Any:
    """The whole command line as typer's command object."""
    return typer.main.get_command(app)


def run(args: Sequence[str]) -> int:
    """The exit code."""
    WAITS.told = notice_waiting
    try:
        code = command().main(args=list(args), prog_name=PROGRAM, standalone_mode=False)
        with quiet_pipe():
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except (TruedrawError, typer.TyperException) as error:
        return _complain(error)
    except (BrokenPipeError, SystemExit) as error:
        if not _nobody_reads(error):
            raise
        stdout_to_nowhere()
        return 0
    except OutputError as error:
        stdout_to_nowhere()
        typer.echo(f"{PROGRAM}: error: the output cannot be written: {error.strerror or error}", err=True)
        return ERROR
    except (MemoryError, OSError, ImportError) as error:
        if not (said := _refused(error)):
            raise
        typer.echo(safe(f"{PROGRAM}: error: {said}"), err=True)
        return ERROR
    return code if isinstance(code, int) else 0


def notice_waiting(what: str, process: int | None) -> None:
    """One line on stderr, where this process waits for another one."""
    whom = "another process" if process is None else f"process {process}"
    notice(safe(f"waiting for {whom}, which {what}"))


def _refused(error: MemoryError | OSError | ImportError) -> str:
    """What the system does not give, and what to do about it; empty where the program is at fault."""
    number, unmapped = getattr(error, "errno", None), _unmapped(error)
    if isinstance(error, MemoryError) or number == ENOMEM or unmapped:
        why = " ".join(str(unmapped or getattr(error, "strerror", None) or error).split())
        said = f" ({why})" if why else ""
        return f"there is not enough memory{said}; free some, raise the limit on it (ulimit -v), or ask for less"
    if isinstance(error, OSError) and number in NO_FILES:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}; raise the limit on open files (ulimit -n)"
    if isinstance(error, OSError) and number in NO_NAMES:
        return f"{error.filename}: {error.strerror or error}; give another path"
    return ""


def _unmapped(error: BaseException | None) -> BaseException | None:
    """What was told of a library that there is no room for, by this error or one behind it."""
    while error is not None and NOT_MAPPED not in str(error):
        error = error.__cause__ or error.__context__
    return error


def _nobody_reads(error: BaseException) -> bool:
    """Whether stdout broke, also where typer or rich made an exit with code 1 of that."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)


def _complain(error: TruedrawError | typer.TyperException) -> int:
    from truedraw.cli.other_names import meant

    said = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a verb: its help is the message
        typer.echo(said, err=True)
        return ERROR
    if hint := meant(error):
        said = f"{getattr(error, 'message', said)}{hint}"
    flag = " (the flag is --cache-bytes)" if isinstance(error, OutOfPages) else ""
    line = f"{PROGRAM}: error: {' '.join(said.split())}{_given(error)}{_from(error)}{_verbs(error, said)}{flag}"
    typer.echo(safe(line), err=True)
    return ERROR


def _given(error: Exception) -> str:
    """The value that typer could not convert, which its own message leaves out."""
    details = getattr(error.__cause__, "errors", None)
    return f" (got {details()[0]['input']!r})" if callable(details) else ""


def _from(error: Exception) -> str:
    """What was noted on an error, and where a value of a flag stands that nobody typed."""
    context: Any = getattr(error, "ctx", None)
    flag: Any = getattr(error, "param", None)
    noted = getattr(error, "__notes__", []) if context is None or flag is None else [place(context, flag)]
    return "".join(f" ({note})" for note in noted if note)


def _verbs(error: Exception, said: str) -> str:
    """The verbs that there are, behind the message that one is none of them."""
    context = getattr(error, "ctx", None)
    if context is None or not said.startswith("No such command"):
        return ""
    return f" Valid ones are {', '.join(getattr(context.command, 'commands', ()))}."
