"""truedraw train draft: a head that drafts for a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from truedraw.cli.flags import OUTPUT, ModelFlags, ReportFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.interrupt import EXIT_CODE
from truedraw.cli.train_transformer import TransformerFlags, sizes_of
from truedraw.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from truedraw.distill.outcome import Outcome
    from truedraw.distill.plan import Limits, Plan, Sizes, Tell, TextPlan

TEXT, HEAD, LIMITS = "Text", "Head", "Limits"
BUDGET = "60m"  # where nothing else says when to end
HEAD_FILE = "head.safetensors"
OUTPUTS = {"transformer": "draft-model"}  # of other kinds
EPILOG = """Examples:

truedraw train draft --budget 60m --output own.safetensors

truedraw train draft -m ./model.gguf --prompts questions.jsonl --temperatures 0.7

truedraw train draft --kind parallel --heads 4 --budget 30m

truedraw train draft --kind transformer -m ./model.gguf --output small

truedraw train draft --tokens 2000000 --steps 40000 --seed 1
"""


@dataclass(frozen=True, slots=True)
class TextFlags:
    """What is trained on."""

    temperatures: Annotated[
        str,
        flag("--temperatures", metavar="T,T,...", help="Of the model's own texts, in turn.", rich_help_panel=TEXT),
    ] = "1,0.7,1"
    prompts: Annotated[
        Path | None,
        flag(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns, which the model answers; if not given, it writes prompts, too.",
            rich_help_panel=TEXT,
        ),
    ] = None
    documents: Annotated[
        list[Path] | None,
        flag(
            "--documents",
            metavar="FILE",
            help="Train on this text, or JSON lines of texts, instead of the model's own; may be given several times.",
            rich_help_panel=TEXT,
        ),
    ] = None
    answer_tokens: Annotated[
        int, flag("--answer-tokens", help="Tokens of one of the model's texts at most.", min=8, rich_help_panel=TEXT)
    ] = 300
    tokens: Annotated[
        int | None, flag("--tokens", help="Tokens of text in all; else by time.", min=1, rich_help_panel=TEXT)
    ] = None
    seed: Annotated[int, flag("--seed", help="Of texts and training.", min=0, rich_help_panel=TEXT)] = 0


@dataclass(frozen=True, slots=True)
class HeadFlags:
    """The network, and how it is trained."""

    kind: Annotated[
        Literal["recurrent", "medusa", "hydra", "parallel", "transformer"],
        flag(
            "--kind",
            help="One step for all positions, or a head a position: over the last state alone (medusa), over the "
            "tokens drafted before it as well (hydra), or over one trunk, all in one call (parallel). transformer: no "
            "head but a small llama model of its own, a folder for --spec-model.",
            rich_help_panel=HEAD,
        ),
    ] = "recurrent"
    heads: Annotated[
        int | None,
        flag("--heads", help="Positions that a kind with a head a position drafts; 4 if not given.", min=1,
             rich_help_panel=HEAD),
    ] = None  # fmt: skip
    layers: Annotated[
        str | None,
        flag(
            "--layers",
            metavar="N,N,...",
            help="Residual streams of the model that the head reads, from 0; if not given, four spread over its depth. "
            "A medusa head reads none; a transformer reads none either, but with those of a head it can share --work.",
            rich_help_panel=HEAD,
        ),
    ] = None
    hidden: Annotated[
        int | None,
        flag("--hidden", help="Inner width of the head; 1536 if not given, of a transformer four times --width. A "
             "medusa head has none.", min=1, rich_help_panel=HEAD),
    ] = None  # fmt: skip
    vocabulary: Annotated[
        int, flag("--vocabulary", help="Tokens that it can draft, at most.", min=2, rich_help_panel=HEAD)
    ] = 8192
    loss: Annotated[
        Literal["kl", "rkl", "js", "tv", "tvd++", "lk"],
        flag("--loss", help="What is minimised, after a while of forward KL.", rich_help_panel=HEAD),
    ] = "lk"
    learning_rate: Annotated[
        float, flag("--learning-rate", help="At its highest.", min=1e-6, max=1.0, rich_help_panel=HEAD)
    ] = 2e-3


@dataclass(frozen=True, slots=True)
class LimitFlags:
    """How long it goes on, and where it works."""

    budget: Annotated[
        str | None,
        flag(
            "--budget",
            metavar="TIME",
            help="Of all stages, as 30m or 2h, runs before an interruption included; 60m unless --tokens and --steps "
            "say when to end.",
            rich_help_panel=LIMITS,
        ),
    ] = None
    steps: Annotated[int | None, flag("--steps", help="Steps of training at most.", min=1, rich_help_panel=LIMITS)] = (
        None
    )
    patience: Annotated[
        int,
        flag("--patience", help="End after so many looks at held-out text without progress.", min=1,
             rich_help_panel=LIMITS),
    ] = 6  # fmt: skip
    feature_bytes: Annotated[
        str,
        flag(
            "--feature-bytes",
            metavar="SIZE",
            help="Disk for what the model knows at each token, as 512M or 4G.",
            rich_help_panel=LIMITS,
        ),
    ] = "4G"
    output: Annotated[
        Path | None,
        flag(
            "--output",
            "-o",
            metavar="FILE",
            help="The head, or a transformer's folder, with a report beside it; head.safetensors or draft-model if not "
            "given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    work: Annotated[
        Path | None,
        flag(
            "--work",
            metavar="DIR",
            help="Where texts, features and checkpoints lie, from which the same command goes on; beside --output if "
            "not given.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Annotated[
        bool, flag("--overwrite", help="Begin --work anew, whatever is there.", rich_help_panel=OUTPUT)
    ] = False


@with_flags
def draft(
    own: LimitFlags, text: TextFlags, head: HeadFlags, sizes: TransformerFlags, model: ModelFlags, output: ReportFlags
) -> None:
    """Train a head that drafts for a model, which --draft then takes, or a small model, which --spec-model takes.

    The model writes texts, its hidden states at every token are kept, and a small network learns from them what the
    model says next. Each stage goes on where it was after an interruption, even a kill. A report is written beside
    --output, one JSON object goes to stdout. Needs the extra "torch".
    """
    from truedraw.cli.found import print_found

    plan = plan_of(own, text, head, model, sizes_of(sizes, head.kind))
    layers = layers_of(head)
    try:
        found = trained(plan, layers, model)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command goes on with {plan.work}", err=True)
        raise typer.Exit(EXIT_CODE) from None
    print_found(found.to_json(), found.lines(), output)


def plan_of(own: LimitFlags, text: TextFlags, head: HeadFlags, model: ModelFlags, sizes: Sizes | None = None) -> Plan:
    """Raises BadParameter, BadFile for what is wrong before the model is loaded, and where torch is missing.

    Without `sizes` for heads alone.
    """
    from truedraw.cli.options import law_of
    from truedraw.distill.plan import TRANSFORMER, HeadPlan, Plan, Sizes, shape_of
    from truedraw.generate.draft_head import NO_HEAD

    require_torch()
    if model.amateur is not None:
        raise BadParameter("--amateur", "a head learns one model; leave it out")
    if model.draft not in (None, NO_HEAD):
        raise BadParameter(
            "--draft", f"{model.draft} would be trained anew, not further; leave it out, and name --output"
        )
    if head.kind == TRANSFORMER and sizes is None:
        raise BadParameter("--kind", f"a {TRANSFORMER} is no head; choose another kind")
    hidden, heads = shape_of(head.kind, head.hidden, head.heads)
    trains = HeadPlan(hidden, head.vocabulary, head.loss, text.seed, head.learning_rate, head.kind, heads)
    output = own.output or Path(OUTPUTS.get(head.kind, HEAD_FILE))
    work, limits = own.work or output.with_suffix(".work"), _limits(own, text, model.threads)
    plan = Plan(output, work, _texts(text), trains, limits, law_of(model), own.overwrite, sizes or Sizes())
    plan.check()
    if not output.parent.is_dir():
        raise BadFile(f"--output {output} cannot be written; give a file in a folder that exists")
    return plan


def require_torch() -> None:
    """Raises BadParameter with what to install."""
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise BadParameter("train", "training needs torch, which is not installed; run: pip install 'truedraw[torch]'")


def layers_of(head: HeadFlags) -> tuple[int, ...] | None:
    """Whole numbers from 0; None: those that the model's depth suggests. Raises BadParameter."""
    from truedraw.cli.sizes import values_of
    from truedraw.distill.plan import TRANSFORMER
    from truedraw.draft.head.card import MEDUSA
    from truedraw.draft.head.opening import ANY_LAYER

    if head.kind == MEDUSA:
        if head.layers is not None:
            raise BadParameter("--layers", f"a {MEDUSA} head reads the last hidden state alone; leave it out")
        return ANY_LAYER
    if head.layers is None:
        return ANY_LAYER if head.kind == TRANSFORMER else None
    return tuple(int(value) for value in values_of("--layers", head.layers, whole=True))


def trained(plan: Plan, layers: tuple[int, ...] | None, flags: ModelFlags) -> Outcome:
    """All stages, with bars on a terminal."""
    from truedraw.cli.options import opened
    from truedraw.distill.pipeline import train_draft
    from truedraw.generate.draft_head import NO_HEAD

    chosen = chosen_layers(layers, flags)
    with opened(flags, draft=NO_HEAD, hidden_layers=chosen) as model, bars() as tell:
        return train_draft(model, plan, tell)


def chosen_layers(layers: tuple[int, ...] | None, flags: ModelFlags) -> tuple[int, ...]:
    """As asked for, or spread over the model's depth; raises BadParameter."""
    from truedraw.distill.plan import checked_layers, default_layers
    from truedraw.generate.loading import find_checkpoint, find_engine
    from truedraw.models.toy import TOY_MODEL

    if flags.model == TOY_MODEL:
        raise BadParameter("--model", f"{TOY_MODEL} is a table without hidden states; give a model of files")
    count = find_checkpoint(flags.model, find_engine(flags.engine), cache=flags.cache).config.num_layers
    return default_layers(count) if layers is None else checked_layers(layers, count)


@contextmanager
def bars() -> Iterator[Tell]:
    """A bar a stage on stderr, on a terminal only; elsewhere a line at the end of each."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as shown:

        def tell(stage: str, done: float, words: str) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage, total=1.0, words="")
            shown.update(tasks[stage], completed=min(done, 1.0), words=words)

        yield tell


def _texts(flags: TextFlags) -> TextPlan:
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.sizes import values_of
    from truedraw.distill.plan import TextPlan

    prompts = None if flags.prompts is None else tuple(each.text for each in read_prompts(flags.prompts))
    temperatures = tuple(float(values_of("--temperatures", part)[0]) for part in flags.temperatures.split(","))
    return TextPlan(flags.seed, temperatures, flags.answer_tokens, flags.tokens, prompts, tuple(flags.documents or ()))


def _limits(own: LimitFlags, text: TextFlags, threads: int | None) -> Limits:
    from truedraw.cli.sizes import bytes_of, seconds_of
    from truedraw.distill.plan import Limits

    ends = text.tokens is not None and own.steps is not None
    budget = own.budget or (None if ends else BUDGET)
    seconds = None if budget is None else seconds_of("--budget", budget)
    return Limits(seconds, own.steps, bytes_of("--feature-bytes", own.feature_bytes), own.patience, threads)
