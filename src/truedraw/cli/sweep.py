"""truedraw sweep: samples over a grid of temperature and truncation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from truedraw.cli.flags import AskingFlags, OutputFlags, Prompt, SpeculationFlags
from truedraw.cli.grouping import flag, report, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.record_files import FileFlags
from truedraw.cli.sampling_flags import SAMPLING, SamplingFlags

GRID, REPORT = "Grid", "Report"
SAMPLES = 8  # of each prompt at each point: enough for self-BLEU to mean something
EPILOG = """Examples:

truedraw sweep "Once upon a time" --temperature 0.3,0.7,1 --top-p 0.9,1 -n 16 --output sweep.jsonl --html sweep.html

truedraw sweep --prompts questions.jsonl --chat --temperature 0.5,1 --min-p 0,0.05 --output sweep.jsonl
"""


@dataclass(frozen=True, slots=True)
class SweepFlags(AskingFlags):
    """What only this verb has; the grid's flags stand in for those of one value."""

    temperature: Annotated[
        str | None,
        flag("--temperature", "-t", metavar="X,X,...", help="0 takes the likeliest token.", rich_help_panel=GRID),
    ] = None
    top_p: Annotated[
        str | None, flag("--top-p", metavar="X,X,...", help="Mass kept, in (0, 1].", rich_help_panel=GRID)
    ] = None
    min_p: Annotated[
        str | None,
        flag("--min-p", metavar="X,X,...", help="Share of the likeliest token's mass, 0 to 1.", rich_help_panel=GRID),
    ] = None
    top_k: Annotated[
        str | None,
        flag("--top-k", metavar="N,N,...", help="Tokens kept; 0 and -1 both keep all.", rich_help_panel=GRID),
    ] = None
    n: Annotated[int, flag("--n", "-n", help="Samples of each prompt at each point.", min=1, rich_help_panel=GRID)] = (
        SAMPLES
    )
    prompts: Annotated[
        Path | None,
        flag("--prompts", metavar="FILE", help="JSON lines with prompt or turns, instead of PROMPT."),
    ] = None
    seed: Annotated[
        int | None,
        flag("--seed", help="Every sample's own seed follows from it; drawn if not given.", rich_help_panel=SAMPLING),
    ] = None
    html: Annotated[Path | None, report("--html", "Write a report with plots.", REPORT)] = None
    parquet: Annotated[Path | None, report("--parquet", "Write a table, too.", REPORT)] = None


@with_flags
def sweep(
    own: SweepFlags,
    files: FileFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    spec: SpeculationFlags,
    output: OutputFlags,
    prompt: Prompt = None,
) -> None:
    """Sample prompts at every point of a grid, all in one batch.

    The samples of a prompt share what is computed for it, unless it has 8 tokens or fewer: that costs next to nothing,
    and each of them computes it for itself.

    One JSON line a sample goes to --output (or stdout) when it is done: its prompt's number, its point, its text,
    tokens and log probabilities, and a seed of its own, with which `truedraw generate` writes the same text. Killed and
    run again with the same settings, a sweep goes on where it was: nothing is done twice and nothing is missing.
    Samples that failed for want of room in the cache, or by the engine, are drawn again, and take their errors' places.
    The exit code is 2 where all samples failed. With --output, --json prints one object at the end: what was done, and
    the numbers of every point.
    """
    from truedraw.cli import sweeping
    from truedraw.cli.progress import Tally
    from truedraw.cli.record_files import STDIN_FILE, check_apart, regular
    from truedraw.cli.recording import Recording
    from truedraw.cli.speculating import speculation_of

    run = Recording(files, output, Tally("sample"))
    run.check()
    stdin = regular(STDIN_FILE) if prompt == "-" else None
    check_apart(files, {"stdin": stdin, "--prompts": own.prompts, "--html": own.html, "--parquet": own.parquet})
    sweeping.check_reports(files, own.html, own.parquet)
    grid = sweeping.sweep_of(
        sweeping.prompts_of(prompt, own.prompts),
        {name: getattr(own, name) for name in sweeping.AXES},
        own.n,
        sampling.given(),
        (sweeping.seed_of(files, own.seed), speculation_of(spec, model.amateur)),
    )
    plan = sweeping.Plan(model, files, own, grid)
    complete = sweeping.draw(plan, run)
    if run.tally.before or run.tally.done:  # else what is there is of no sample of this sweep
        sweeping.write_reports(files, own.html, own.parquet)
    run.close(complete, sweeping.summary(plan) if output.json else {})
