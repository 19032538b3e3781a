"""truedraw train eval: what a draft is worth on prompts of your own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli.flags import ModelFlags, ReportFlags, SamplingFlags, SpeculationFlags
from truedraw.cli.found import print_found
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.interrupt import EXIT_CODE
from truedraw.cli.sampling_flags import SAMPLING
from truedraw.cli.sizes import values_of
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.bench.draft_eval.report import Done, Plan
    from truedraw.generate.speculation import Speculation

PANEL = "Measurement"
MAX_TOKENS, SEED = 128, 0  # as truedraw bench
TEMPERATURES = "1,0.7,0"
HEAD_PATH = "head_path"  # the setting of all drafters over a head
EPILOG = """Examples:

truedraw train eval

truedraw train eval own.safetensors -m ./model.gguf --prompts questions.jsonl --per-category 5 --json > eval.json

truedraw train eval --spec-method ngram-lm --temperature 1 --repeats 0
"""

Argument = Annotated[
    Path | None,
    typer.Argument(
        metavar="HEAD",
        help="A draft head, as `truedraw train draft` writes it; the one that comes with the model if not given.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class EvalFlags:
    """What only this verb has; one flag stands in for that of one temperature."""

    prompts: Annotated[
        Path | None,
        flag(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns, and category; a small set of our own if not given.",
            rich_help_panel=PANEL,
        ),
    ] = None
    limit: Annotated[int | None, flag("--limit", help="Prompts at most.", min=1, rich_help_panel=PANEL)] = None
    per_category: Annotated[
        int | None, flag("--per-category", help="Prompts of each category at most.", min=1, rich_help_panel=PANEL)
    ] = None
    repeats: Annotated[
        int,
        flag(
            "--repeats",
            help="Pairs a prompt that are timed end to end; 0 times none, and only acceptance is measured.",
            min=0,
            rich_help_panel=PANEL,
        ),
    ] = 1
    write_card: Annotated[
        Path | None,
        flag(
            "--write-card",
            metavar="FILE",
            help="Write the head again, to this file or over itself, with what was found in its card; `truedraw train "
            "show` prints it. Give prompts that it was not trained on.",
            rich_help_panel=PANEL,
        ),
    ] = None
    raw: Annotated[
        bool, flag("--raw", help="Continue prompts as they are, without a chat template.", rich_help_panel=PANEL)
    ] = False
    temperature: Annotated[
        str,
        flag("--temperature", "-t", metavar="X,X,...", help="0 takes the likeliest token.", rich_help_panel=SAMPLING),
    ] = TEMPERATURES


@with_flags
def evaluate(
    own: EvalFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    spec: SpeculationFlags,
    output: ReportFlags,
    head: Argument = None,
) -> None:
    """Measure what a draft is worth: acceptance by position, tokens a round, predicted and measured speed-up.

    The model writes a plain text to each prompt at each temperature (128 tokens at most and seed 0 if not given). The
    drafter's laws are compared with the model's at all places of these texts, then both are timed end to end, the
    drafter alone and under auto. Tables go to stderr (not with --json), one JSON object to stdout. ctrl-C reports the
    temperatures so far. --spec-method takes other drafters that have laws: ngram-lm, model.
    """
    from truedraw.bench.draft_eval.figures import BUILT_IN
    from truedraw.bench.draft_eval.report import Plan
    from truedraw.bench.pairs import tasks
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.options import computed_with, opened
    from truedraw.cli.train_eval_card import card_of, check_card, write_card
    from truedraw.cli.train_eval_lines import lines
    from truedraw.sampling.params import sampling_params

    given = {"max_tokens": MAX_TOKENS, "seed": SEED, **replace(sampling, temperature=None).given()}
    points = [{**given, "temperature": value} for value in values_of("--temperature", own.temperature)]
    for point in points:  # what is wrong should be said before the model is loaded
        sampling_params(point)
    sampling.refuse_logprobs("no token is shown here; leave it out")
    if head is not None and model.draft is not None:
        raise BadParameter("HEAD", f"{head} is a head, and so is --draft {model.draft}; give one of them")
    speculation = drafting(spec, head)
    if own.write_card is not None:
        check_card(own.write_card, head, speculation)
    prompts = read_prompts(own.prompts, own.limit, own.per_category)
    with opened(model, apart=True, **({} if head is None else {"draft": head})) as loaded:
        plan = Plan(loaded, speculation, tasks(loaded, prompts, own.raw), own.repeats)
        sections, complete = measured(plan, points)
        found = {
            "model": loaded.name,
            "head": card_of(plan),
            "prompts": len(prompts),
            "prompts_from": BUILT_IN if own.prompts is None else own.prompts.name,
            "temperatures": sections,
            "complete": complete,
            "repeats": own.repeats,
            **computed_with(model, loaded.engine),
            **conditions(plan, points),
        }
    if own.write_card is not None and complete:
        write_card(own.write_card, found)
    if sections:
        print_found(found, lines(found), output)
    if not complete:
        raise typer.Exit(EXIT_CODE)


def drafting(spec: SpeculationFlags, head: Path | None) -> Speculation:
    """The drafter that is asked for, the head if none is; raises BadParameter."""
    from truedraw.bench.draft_eval.report import HEAD
    from truedraw.cli.speculating import speculation_of
    from truedraw.generate.keys import keys
    from truedraw.generate.speculation import AUTO

    found = speculation_of(spec)
    if found.method == AUTO:
        if spec.spec_method == AUTO:
            raise BadParameter("--spec-method", f"{AUTO} is several drafters, and is timed beside each; name one")
        found = found.but(method=HEAD)
    if head is not None and HEAD_PATH not in keys(found.method):
        raise BadParameter("HEAD", f"{found.method} drafts without a head; leave out one of the two")
    return found


def measured(plan: Plan, points: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """A section a temperature, and whether they are all there."""
    from truedraw.bench.draft_eval.report import evaluated

    found: list[dict[str, Any]] = []
    with bars(plan, len(points)) as done:
        try:
            for point in points:
                found.append(evaluated(plan, plan.model.params(**point), done))
        except KeyboardInterrupt:
            return found, False
    return found, True


@contextmanager
def bars(plan: Plan, temperatures: int) -> Iterator[Done]:
    """One for each kind of work, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = {name: bar.add_task(name, total=units * temperatures) for name, units in plan.units().items() if units}
        yield lambda name: bar.advance(shown[name])


def conditions(plan: Plan, points: list[dict[str, Any]]) -> dict[str, Any]:
    """How it was sampled, and on which machine."""
    from truedraw.bench.provenance import machine, settings

    told = settings(plan.model.params(**points[0]), plan.speculation)
    told["sampling"] = {name: value for name, value in told["sampling"].items() if name != "temperature"}
    return {**told, **machine()}
