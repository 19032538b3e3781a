"""truedraw bench: what speculation gains on many prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli import bench_kernels, bench_many, bench_memory, bench_reuse
from truedraw.cli.bar import passing_bar
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import CountFlags, Explain, OutputFlags, SpeculationFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.no_seed import NoSeed, seed_of
from truedraw.cli.prompt_flags import MAX_TOKENS, PANEL, SEED, PromptFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.cli.sizes import batch_sizes
from truedraw.errors import BadParameter, TruedrawError

if TYPE_CHECKING:
    from truedraw.bench.pairs import Arms, Pair, Task
    from truedraw.generate.speculation import Speculation

EPILOG = """Examples:

truedraw bench --temperature 0.7

truedraw bench --prompts questions.jsonl --per-category 10 --repeats 2 --json > result.json

truedraw bench --no-seed --ignore-eos --temperature 1

truedraw bench --batch-sizes 1,8,64 --max-tokens 64 --limit 4
"""


@dataclass(frozen=True, slots=True)
class BenchFlags(PromptFlags):
    """What only this verb has."""

    repeats: Annotated[
        int, flag("--repeats", help="Pairs a prompt; of a seed, each has its own.", min=1, rich_help_panel=PANEL)
    ] = 1
    no_seed: NoSeed = False
    explain: Explain = False
    batch_sizes: Annotated[
        str | None,
        flag(
            "--batch-sizes",
            metavar="N,N,...",
            help="Also measure so many samples of the first prompt at once, plainly.",
            rich_help_panel=PANEL,
        ),
    ] = None


app = typer.Typer()
for verb, module in (
    (bench_kernels.kernels, bench_kernels),
    (bench_many.many, bench_many),
    (bench_reuse.reuse, bench_reuse),
    (bench_memory.memory, bench_memory),
):
    app.command(verb.__name__, epilog=module.EPILOG)(verb)


@app.callback(invoke_without_command=True, epilog=EPILOG)
@with_flags
def bench(
    context: typer.Context,
    own: BenchFlags,
    count: CountFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    spec: SpeculationFlags,
    output: OutputFlags,
) -> None:
    """Measure plain against speculative sampling, pair by pair.

    Every prompt is sampled in both ways, one right after the other, with 128 tokens at most if not told otherwise.
    Drafts are judged as in generate: with a seed (0 if not given) by the rule that keeps the text, so that both write
    the same; with --no-seed by the rule that keeps most drafts, and each text ends where it will, unless --ignore-eos
    gives all of them one length. A table goes to stderr (not with --json), one JSON object to stdout. After ctrl-C or
    an error the pairs so far are reported.
    """
    if context.invoked_subcommand is not None:
        _nothing_before(context)
        return
    from truedraw.bench.pairs import Arms, tasks
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.options import opened
    from truedraw.cli.speculating import speculation_of
    from truedraw.sampling.params import sampling_params

    seed = seed_of(context, sampling.seed, SEED)
    given = {"max_tokens": MAX_TOKENS, **sampling.given(), **count.given(), "seed": seed}
    sampling_params(given)  # what is wrong should be said before the model is loaded
    sampling.refuse_logprobs()
    sizes, speculation = batch_sizes(own.batch_sizes, given), speculation_of(spec, model.amateur)
    prompts = read_prompts(own.prompts, own.limit, own.per_category)
    with opened(model, apart=True, configs=[speculation]) as loaded:
        arms = Arms(loaded, loaded.params(**given), speculation)
        todo = tasks(loaded, prompts, own.raw)
        done, ended = _measured(arms, todo, own.repeats)
        batch, ended = _batch(arms, todo[0], sizes, own.repeats) if ended is None else ([], ended)
        conditions, complete = _conditions(arms, model), ended is None
    why = _why(done, speculation) if own.explain else {}
    if done:
        _print(
            {**_report(done), "batch": batch, "complete": complete, "repeats": own.repeats, **why, **conditions}, output
        )
    if ended is not None:
        raise ended


def _nothing_before(context: typer.Context) -> None:
    """Raises BadParameter where flags stand before the verb below, which would not see them."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            flag_name, verb = "--" + name.replace("_", "-"), context.invoked_subcommand
            raise BadParameter(flag_name, f"stands before {verb}, which has flags of its own; give them after it")


def _measured(arms: Arms, todo: Sequence[Task], repeats: int) -> tuple[list[Pair], Exception | None]:
    """The pairs, and what ended them, if they are not all there."""
    from truedraw.bench.pairs import pairs

    done: list[Pair] = []
    with passing_bar() as bar:
        task = bar.add_task("pairs", total=len(todo) * repeats)
        try:
            for pair in pairs(arms, todo, repeats):
                done.append(pair)
                bar.advance(task)
        except (KeyboardInterrupt, TruedrawError) as error:
            return done, _ended_by(error)
    return done, None


def _batch(
    arms: Arms, task: Task, sizes: Sequence[int], repeats: int
) -> tuple[list[dict[str, float]], Exception | None]:
    """What batches of these sizes gain, and what left them no time for that."""
    from truedraw.bench.batch import batch_speeds

    if not sizes:
        return [], None
    try:
        return [asdict(speed) for speed in batch_speeds(arms.model, task.tokens, arms.params, sizes, repeats)], None
    except (KeyboardInterrupt, TruedrawError) as error:
        return [], _ended_by(error)


def _ended_by(error: KeyboardInterrupt | TruedrawError) -> Exception:
    """To be raised behind the report."""
    return error if isinstance(error, TruedrawError) else typer.Exit(INTERRUPTED)


def _report(done: Sequence[Pair]) -> dict[str, Any]:
    from truedraw.bench.report import report

    return report(done)


def _why(done: Sequence[Pair], speculation: Speculation) -> dict[str, Any]:
    """Of all speculative runs together."""
    from truedraw.cli.explaining import explained
    from truedraw.control.explanation import together

    return {"explain": explained(together(pair.explanation for pair in done), speculation)}


def _conditions(arms: Arms, flags: ModelFlags) -> dict[str, Any]:
    from truedraw.bench.provenance import drawn, machine
    from truedraw.cli.options import computed_with

    invariance = getattr(arms.model.engine, "invariance", None)
    return {
        "model": arms.model.name,
        **computed_with(flags, arms.model.engine),
        "invariant": None if invariance is None else invariance.holds,
        **drawn(arms.params, arms.speculation),
        **machine(),
    }


def _print(found: dict[str, Any], output: OutputFlags) -> None:
    from truedraw.cli.explaining import in_words
    from truedraw.cli.table import print_table

    if output.stats and not output.json:
        print_table(found, output.color)
    if "explain" in found and not output.json:
        typer.echo(in_words(found["explain"]), err=True)
    typer.echo(json.dumps(found, allow_nan=False))
