"""truedraw tune: a config file for one's own prompts, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli.bar import passing_bar
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import OUTPUT, CountFlags, ReportFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.no_seed import NoSeed, seed_of
from truedraw.cli.notices import notice
from truedraw.cli.prompt_flags import MAX_TOKENS, PANEL, PromptFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.cli.tune_asked import further_configs
from truedraw.cli.tuned import config_file, paragraphs, refuse, write

if TYPE_CHECKING:
    from truedraw.bench.tune import Tuning
    from truedraw.bench.verdict import Verdict
    from truedraw.generate.model import Model
    from truedraw.sampling.params import SamplingParams

EPILOG = """Examples:

truedraw tune --prompts questions.jsonl --temperature 0.7 --budget 5m

truedraw tune --try '{"method": "model", "model": "./small.gguf"}' --output small.toml

truedraw generate --config truedraw.toml "Once upon a time"
"""


@dataclass(frozen=True, slots=True)
class TuneFlags(PromptFlags):
    """What only this verb has."""

    budget: Annotated[
        str,
        flag(
            "--budget",
            metavar="TIME",
            help="To measure in, as 90s, 2m or 1h; one prompt is measured in any case.",
            rich_help_panel=PANEL,
        ),
    ] = "2m"
    candidate: Annotated[
        list[str] | None,
        flag(
            "--candidate",
            "--try",
            metavar="JSON",
            help="A further speculative config to try, as for --speculative-config; may be given several times.",
            rich_help_panel=PANEL,
        ),
    ] = None
    output: Annotated[
        Path,
        flag(
            "--output",
            "-o",
            metavar="FILE",
            help="The config file to write.",
            writes_over=("--config",),
            rich_help_panel=OUTPUT,
        ),
    ] = Path("truedraw.toml")
    no_seed: NoSeed = False
    overwrite: Annotated[
        bool, flag("--overwrite", "--force", help="Write it even where one is there.", rich_help_panel=OUTPUT)
    ] = False


@with_flags
def tune(
    context: typer.Context,
    own: TuneFlags,
    count: CountFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    output: ReportFlags,
) -> None:
    """Find out how to draft for one's own prompts, and write a config file.

    Plain sampling, auto and each drafter that needs nothing else, or that the model has (the draft it was loaded for,
    its first layers, itself in fewer bits), run on the same prompts with 128 tokens at most if not told otherwise, one
    right after the other and in changing order; what is clearly slower is given up early. Drafts are judged as in
    generate: with --seed by the rule that keeps the text, and all draw the same texts; without it by the rule that
    keeps most drafts, and every run draws anew, so that more prompts are needed to be sure. The file holds what is best
    for the model and these sampling parameters, and says why; plain sampling, where nothing gains. A summary goes to
    stderr (not with --json), one JSON object to stdout. ctrl-C reports what was measured so far, and writes no file.
    """
    from truedraw.bench.prompts import read_prompts
    from truedraw.bench.verdict import NOTHING, ranking, verdict
    from truedraw.cli.found import print_found
    from truedraw.cli.options import opened
    from truedraw.cli.sizes import seconds_of
    from truedraw.sampling.params import sampling_params

    given = {"max_tokens": MAX_TOKENS, **sampling.given(), **count.given(), "seed": seed_of(context, sampling.seed)}
    sampling_params(given)  # what is wrong should be said before the model is loaded
    sampling.refuse_logprobs()
    further, seconds = further_configs(own.candidate or ()), seconds_of("--budget", own.budget)
    prompts = read_prompts(own.prompts, own.limit, own.per_category)
    refuse(own.output, own.overwrite)
    with opened(model, apart=True, configs=further) as loaded:
        params = loaded.params(**given)
        tuning = _begun(loaded, params, prompts, own.raw, (further, seconds))
        notice_too_few(len(prompts), len(tuning.candidates))
        complete = _measured(tuning, seconds)
        has_looked = complete or any(each.pairs for each in tuning.candidates)
        found, where = verdict(tuning.candidates) if has_looked else NOTHING, conditions(loaded, params, model)
    lines = ranking(tuning.candidates)
    if complete:
        text = config_file(found, paragraphs(found, lines, tuning, where), model, context)
        write(own.output, text, own.overwrite)
    written = str(own.output) if complete else None
    report = {**_report(found, tuning), "file": written, "complete": complete, **where}
    print_found(report, _in_words(found, lines, written), output)
    if not complete:
        raise typer.Exit(INTERRUPTED)


def conditions(model: Model, params: SamplingParams, flags: ModelFlags) -> dict[str, Any]:
    """Under which the numbers were measured."""
    from dataclasses import asdict

    from truedraw.bench.provenance import machine
    from truedraw.cli.options import computed_with

    return {"model": model.name, **computed_with(flags, model.engine), "sampling": asdict(params), **machine()}


def _begun(
    model: Model, params: SamplingParams, prompts: Sequence[Any], raw: bool,
    plan: tuple[Sequence[Mapping[str, Any]], float],
) -> Tuning:  # fmt: skip
    from truedraw.bench.pairs import tasks
    from truedraw.bench.tried import tried
    from truedraw.bench.tune import Tuning, candidates

    further, seconds = plan
    return Tuning(params, tasks(model, prompts, raw), candidates(model, [*tried(model), *further]), seconds)


def notice_too_few(prompts: int, tried: int) -> None:
    """One line on stderr before the work."""
    from truedraw.bench.verdict import too_few

    if (few := too_few(prompts, tried)) is not None:
        notice(few)


def _measured(tuning: Tuning, seconds: float) -> bool:
    """Whether it came to its end."""
    with passing_bar() as bar:
        task = bar.add_task("measuring", total=seconds)
        try:
            for _ in tuning.steps():
                bar.update(task, completed=min(tuning.elapsed, seconds))
        except KeyboardInterrupt:
            return False
    return True


def _in_words(found: Verdict, lines: Sequence[str], written: str | None) -> list[str]:
    return [
        f"chosen: {found.name}",
        *found.reasons,
        *(f"  {line}" for line in lines),
        f"written: {written or 'nothing'}",
    ]


def _report(found: Verdict, tuning: Tuning) -> dict[str, Any]:
    return {
        "chosen": found.name if found.config else None,
        "speculative_config": dict(found.config) or None,
        "reasons": list(found.reasons),
        "prompts": tuning.prompts,
        "seconds": tuning.elapsed,
        "candidates": [each.to_dict() for each in tuning.candidates],
    }
