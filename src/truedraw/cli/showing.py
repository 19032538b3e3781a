"""Runs to stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from truedraw.cli.colour import Paint, write
from truedraw.cli.interrupt import interruptible
from truedraw.cli.statistics import counted
from truedraw.errors import TruedrawError

if TYPE_CHECKING:
    from truedraw.generate.generation import Generation
    from truedraw.generate.result import Choice, Result


def finished(run: Generation) -> Result:
    """Run it in silence, to its end or the first ctrl-C."""
    with interruptible(run), kept(run):
        for _ in run:
            pass
    return run.result()


@contextmanager
def kept(run: Generation) -> Iterator[None]:
    """Inside, an error that ends the run behind its first round is put off: what was drawn is shown before it.

    `Generation.error` has it, and whoever has shown the result raises it.
    """
    try:
        yield
    except TruedrawError as error:
        if error is not run.error or not run.result().stats.rounds:
            raise


def streamed(run: Generation, paint: Paint) -> Result:
    """Write the first sample's text as it comes; what was written is the result's text, interrupted or not."""
    shown = 0
    with interruptible(run), kept(run):
        for piece in run.pieces():
            write(paint(piece.text, piece.origin))
            shown += len(piece.text)
    result = run.result()
    write(paint(result.text[shown:], "plain"))
    return result


def listed(run: Generation, paint: Paint, end: str) -> Result:
    """Write each sample when it and all before it are complete, so that the order does not depend on speed.

    Where the best of more are wanted, nobody knows them before the end; the best comes first then.
    """
    done: set[int] = set()
    shown, all_wanted = 0, run.params.best_of in (None, run.params.n)
    with interruptible(run), kept(run):
        for step in run:
            done |= {each.sample for each in step if each.finish_reason}
            while all_wanted and shown in done:
                _write_sample(run.choice(shown), paint, end)
                shown += 1
    result = run.result()
    for choice in result.choices[shown:]:
        _write_sample(choice, paint, end)
    return result


def was_interrupted(result: Result) -> bool:
    """Whether ctrl-C, or an error, ended one of its samples."""
    from truedraw.generate.generation import INTERRUPTED

    return any(choice.finish_reason == INTERRUPTED for choice in result.choices)


def _write_sample(choice: Choice, paint: Paint, end: str) -> None:
    length = counted(len(choice.tokens), "token")
    typer.echo(f"==> sample {choice.index}, {length}, {choice.finish_reason} <==", err=True)
    sys.stderr.flush()
    origins = [*choice.origins, *choice.origins[-1:]]  # what was held back comes with the last token
    write("".join(paint(text, origin) for text, origin in zip(choice.pieces, origins, strict=False)) + end)
