"""truedraw train draft: a head that drafts for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import ReportFlags
from truedraw.cli.grouping import with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.train_bars import bars
from truedraw.cli.train_flags import HeadFlags, LimitFlags, TextFlags
from truedraw.cli.train_network import chosen
from truedraw.cli.train_plan import chosen_layers, plan_of
from truedraw.cli.train_transformer import TransformerFlags, sizes_of

if TYPE_CHECKING:
    from truedraw.distill.outcome import Outcome
    from truedraw.distill.plan import Plan

EPILOG = """Examples:

truedraw train draft --budget 60m --output own.safetensors

truedraw train draft -m ./model.gguf --prompts questions.jsonl --temperatures 0.7

truedraw train draft --init-from shipped --prompts questions.jsonl --budget 20m

truedraw train draft --kind parallel --heads 4 --budget 30m

truedraw train draft --kind transformer -m ./model.gguf --output small

truedraw train draft --kind eagle3 --budget 2h --output eagle

truedraw train draft --tokens 2000000 --steps 40000 --seed 1
"""


@with_flags
def draft(
    own: LimitFlags, text: TextFlags, head: HeadFlags, sizes: TransformerFlags, model: ModelFlags, output: ReportFlags
) -> None:
    """Train a head or an EAGLE draft for a model, which --draft then takes, or a small model, which --spec-model takes.

    The model writes texts, its hidden states at every token are kept, and a small network learns from them what the
    model says next. Each stage goes on where it was after an interruption, even a kill. A report is written beside
    --output, one JSON object goes to stdout. Needs the extra "torch".
    """
    from truedraw.cli.found import print_found
    from truedraw.distill.outputs import check_outputs

    network = chosen(head, text.seed)
    plan = plan_of(own, text, network.head, model, sizes_of(sizes, network.head.kind))
    check_outputs(plan)
    try:
        found = trained(plan, network.layers, model)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on with {plan.work}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    print_found(found.to_json(), found.lines(), output)


def trained(plan: Plan, layers: tuple[int, ...] | None, flags: ModelFlags) -> Outcome:
    """All stages, with bars on a terminal and lines elsewhere."""
    from truedraw.cli.options import opened
    from truedraw.distill.pipeline import train_draft
    from truedraw.generate.draft_head import NO_HEAD

    streams = chosen_layers(layers, flags, plan.head)
    with opened(flags, draft=NO_HEAD, hidden_layers=streams) as model, bars() as tell:
        return train_draft(model, plan, tell)
