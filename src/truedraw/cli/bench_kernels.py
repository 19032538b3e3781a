"""truedraw bench kernels: the fused kernels against numpy and torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.sizes import sizes_of

if TYPE_CHECKING:
    from truedraw.bench.kernels import Case, Plan

EPILOG = """Examples:

truedraw bench kernels

truedraw bench kernels --vocab-sizes 32000 --rows 1,16 --json > kernels.json
"""


@dataclass(frozen=True, slots=True)
class KernelFlags:
    """What this verb has."""

    vocab_sizes: Annotated[
        str, flag("--vocab-sizes", metavar="N,N,...", help="Vocabulary sizes; two common ones if not given.")
    ] = ""
    rows: Annotated[str, flag("--rows", metavar="N,N,...", help="Rows at once; 1, 8 and 64 if not given.")] = ""
    repeats: Annotated[int, flag("--repeats", help="Calls of everyone that count.", min=1)] = 15
    json: Annotated[bool, flag("--json", help="Only the JSON object, no table.")] = False
    color: Annotated[Literal["auto", "always", "never"], flag("--color", help="Colours of the table.")] = "auto"


@with_flags
def kernels(own: KernelFlags) -> None:
    """Measure the sampling kernels against numpy step by step and, where it is installed, torch.

    Made-up rows of logits are drawn from in several ways, and draft tokens are judged; everyone in turn, on rows that
    come from memory. Kernels and torch have as many threads as generation; the time of both on one stands beside that
    in the JSON, and the table shows torch as it is faster. A table goes to stderr (not with --json), one JSON object to
    stdout. No model is needed. ctrl-C reports the cases so far.
    """
    from truedraw.bench.kernels import kernel_report
    from truedraw.bench.provenance import machine

    plan = plan_of(own)
    done, complete = _measured(plan)
    if done:
        _print({**kernel_report(done, plan), "complete": complete, **machine()}, own)
    if not complete:
        raise typer.Exit(INTERRUPTED)


def plan_of(own: KernelFlags) -> Plan:
    """Raises BadParameter where the sizes are no numbers."""
    from truedraw.bench.kernel_rows import LEAST_VOCAB
    from truedraw.bench.kernels import ROW_COUNTS, VOCAB_SIZES, Plan

    vocab_sizes = sizes_of("--vocab-sizes", own.vocab_sizes, LEAST_VOCAB, "32000,49152") or VOCAB_SIZES
    rows = sizes_of("--rows", own.rows) or ROW_COUNTS
    return Plan(vocab_sizes, rows, own.repeats)


def _measured(plan: Plan) -> tuple[list[Case], bool]:
    """The cases, and whether they are all there."""
    from truedraw.bench.kernels import cases

    done: list[Case] = []
    try:
        done.extend(cases(plan))
    except KeyboardInterrupt:
        return done, False
    return done, True


def _print(found: dict[str, Any], own: KernelFlags) -> None:
    from truedraw.cli.kernel_table import print_kernels

    if not own.json:
        print_kernels(found, own.color)
    typer.echo(json.dumps(found, allow_nan=False))
