"""truedraw train compare: losses beside one another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import ReportFlags
from truedraw.cli.grouping import with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.train_bars import bars
from truedraw.cli.train_compare_flags import CompareFlags
from truedraw.cli.train_flags import HeadFlags, LimitFlags, TextFlags
from truedraw.cli.train_network import chosen
from truedraw.cli.train_plan import chosen_layers, plan_of
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.distill.before import Before
    from truedraw.distill.comparison.running import Compared
    from truedraw.distill.comparison.wanted import Wanted
    from truedraw.distill.plan import HeadPlan

EPILOG = """Examples:

truedraw train compare --losses kl,tv,lk --steps 4000 --tokens 400000

truedraw train compare --budget 3h --test-prompts questions.jsonl --per-category 5 --json > losses.json

truedraw train compare --work head.work --losses lk,js --steps 8000
"""


@with_flags
def compare(own: CompareFlags, text: TextFlags, head: HeadFlags, model: ModelFlags, output: ReportFlags) -> None:
    """Train a draft head with each of several losses and say how much the model keeps of its drafts.

    Texts and features are made once, as by `truedraw train draft`; then each loss has the same number of steps, or the
    same share of the time, by turns. A table for each temperature goes to stderr (not with --json), one JSON object to
    stdout, curves into --output. After an interruption, even a kill, the same command goes on, and losses that are done
    stay done. Needs the extra "torch".
    """
    from truedraw.cli.train_compare_table import print_tables

    network = chosen(head, text.seed)
    wanted = wanted_of(own, text, network.head, model)
    try:
        name, found = compared(wanted, network.layers, model)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on with {wanted.plan.work}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    told = numbers(name, found, own, network.head.before)
    write_page(own.output, told, found)
    if output.stats and not output.json:
        print_tables(told)
    typer.echo(json.dumps(told, allow_nan=False))


def wanted_of(own: CompareFlags, text: TextFlags, head: HeadPlan, model: ModelFlags) -> Wanted:
    """Raises BadParameter, BadFile for what is wrong before the model is loaded, and where torch is missing."""
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.tuned import refuse
    from truedraw.distill.comparison.page import TITLE
    from truedraw.distill.comparison.wanted import Wanted, losses_of
    from truedraw.distill.plan import HEAD_ENDING, PAGE, WORK, beside
    from truedraw.page.document import check_ours

    losses = losses_of(own.loss)
    refuse(own.output, overwrite=True)
    if not own.overwrite:
        check_ours(own.output, TITLE)
    tests = None
    if own.test_prompts is not None:
        tests = tuple(each.text for each in read_prompts(own.test_prompts, own.limit, own.per_category))
    limits = LimitFlags(
        budget=own.budget,
        steps=own.steps,
        feature_bytes=own.feature_bytes,
        output=beside(own.output, HEAD_ENDING, PAGE),  # which nobody writes
        work=own.work or beside(own.output, WORK, PAGE),
        overwrite=own.overwrite,
    )
    first = replace(head, loss=losses[0])  # a plan has one; which does not matter here
    plan = plan_of(limits, text, first, model)
    check_apart(tests or (), plan.texts.prompts or ())
    return Wanted(plan, losses, tests)


def check_apart(tests: Sequence[str], prompts: Sequence[str]) -> None:
    """Raises BadParameter where answers to a test prompt would be trained on."""
    if both := set(tests) & set(prompts):
        raise BadParameter(
            "--test-prompts", f"{len(both)} of them stand in --prompts, too, and would be trained on; give others"
        )


def compared(wanted: Wanted, layers: tuple[int, ...] | None, flags: ModelFlags) -> tuple[str, Compared]:
    """The model's name and all results, with bars on a terminal and lines elsewhere."""
    from truedraw.cli.options import opened
    from truedraw.distill.comparison.running import compare as run
    from truedraw.generate.draft_head import NO_HEAD

    streams = chosen_layers(layers, flags, wanted.plan.head)
    with opened(flags, draft=NO_HEAD, hidden_layers=streams) as model, bars() as tell:
        return model.name, run(model, wanted, tell)


def numbers(name: str, found: Compared, own: CompareFlags, before: Before | None = None) -> dict[str, Any]:
    """For JSON."""
    from truedraw.bench.provenance import machine
    from truedraw.distill.comparison.told import sections, trainings
    from truedraw.distill.further import begun_from

    return {
        "model": name,
        "texts": found.texts,
        "tokens": found.begun.tokens,
        "held_out_tokens": found.held_out_tokens,
        "each": {"steps": own.steps, "seconds": found.begun.seconds},
        "trainings": trainings(found.records),
        "sections": sections(found.records, found.path),
        "report": str(own.output),
        **begun_from(before),
        **machine(),
    }


def write_page(path: Path, told: Mapping[str, Any], found: Compared) -> None:
    """The report; raises BadFile."""
    from truedraw.cli.tuned import write
    from truedraw.distill.comparison.page import to_html

    write(path, to_html(told, {each["loss"]: each["looks"] for each in found.records}), overwrite=True)
