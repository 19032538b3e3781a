"""truedraw generate: samples of one prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli.colour import legend, painter, wants_colour, write
from truedraw.cli.flags import OUTPUT, CountFlags, Explain, OutputFlags, SpeculationFlags
from truedraw.cli.grouping import flag, with_flags
from truedraw.cli.interrupt import EXIT_CODE
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.offline import job_of, refuse_without_input, run_job
from truedraw.cli.record_files import FileFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.generate.generation import Generation
    from truedraw.generate.model import Model
    from truedraw.generate.result import Result
    from truedraw.generate.speculation import Speculation
    from truedraw.sampling.params import SamplingParams

EPILOG = """Examples:

truedraw generate "Once upon a time" --temperature 0.8 --seed 7

truedraw generate --chat "Name three rivers." --json

truedraw generate -m ./model.gguf -n 8 --null - < prompt.txt

truedraw generate --input prompts.jsonl --output samples.jsonl --seed 1

Every flag has a twin in the environment: --max-tokens is TRUEDRAW_MAX_TOKENS. (That of a flag that may be given several
times holds one value a line: TRUEDRAW_STOP.)
"""

Prompt = Annotated[
    str | None,
    typer.Argument(metavar="PROMPT", help="The text to continue; - reads it from stdin.", show_default=False),
]


@dataclass(frozen=True, slots=True)
class GenerateFlags:
    """What only this verb has."""

    chat: Annotated[
        bool, flag("--chat", help="Put the prompt into the model's chat template, as a user's question.")
    ] = False
    compare: Annotated[
        bool, flag("--compare", help="Afterwards measure the same plainly, and print what speculation gained.")
    ] = False
    explain: Explain = False
    input: Annotated[
        str | None,
        flag("--input", "-i", metavar="FILE", help="Many prompts instead, a JSON object a line; - reads stdin."),
    ] = None
    null: Annotated[
        bool, flag("--null", "-0", help="End each text with a NUL instead of a line break.", rich_help_panel=OUTPUT)
    ] = False


@with_flags
def generate(
    own: GenerateFlags,
    files: FileFlags,
    count: CountFlags,
    model: ModelFlags,
    sampling: SamplingFlags,
    spec: SpeculationFlags,
    output: OutputFlags,
    prompt: Prompt = None,
) -> None:
    """Continue a prompt, with exactly the model's distribution.

    The prompt is continued as it is; --chat asks it as a question. The text goes to stdout as it comes, statistics
    to stderr. With --n, each text is printed when complete. ctrl-C keeps the text so far. Of stdin, a byte order mark
    and the last line break are dropped; other line breaks stay as they are.

    --input FILE takes many prompts, one a line: {"prompt": text or token ids} or {"messages": [...]}, with "id" (or
    "custom_id"), "speculative" and any sampling parameter where wanted. Results go to --output FILE, a line each, in
    order of completion, with the number of their line and its seed; an error stays beside its line. A line without a
    seed has one made of --seed and its number: the first 8 bytes of the SHA-256 of "SEED:LINE"; with it,
    `truedraw generate --seed` writes the same text. Killed and run again, it goes on where it was; lines that failed
    for want of room in the cache, or by the engine, are tried again, and their results take the places of the errors.
    The exit code is 0 when every line was tried, even where some failed. With --output, --json prints one object about
    the run at its end.
    """
    if own.input is not None:
        _check_offline(own, prompt)
        run_job(job_of(own.input, files, own.chat, (count, model, sampling, spec)), output)
        return
    refuse_without_input(files)
    if prompt is None:
        raise BadParameter("PROMPT", "give a text to continue, - for stdin, or --input FILE with many prompts")
    _one(prompt, own, (count, model, sampling, spec), output)


def _check_offline(own: GenerateFlags, prompt: str | None) -> None:
    """Raises BadParameter for what has no meaning with many prompts."""
    alone = {"--null": own.null, "--compare": own.compare, "--explain": own.explain}
    for name, given in {"PROMPT": prompt is not None, **alone}.items():
        if given:
            raise BadParameter(name, "goes with one prompt, and --input reads many from a file; give one of them")


def _one(
    prompt: str, own: GenerateFlags, flags: tuple[CountFlags, ModelFlags, SamplingFlags, SpeculationFlags],
    output: OutputFlags,
) -> None:  # fmt: skip
    """One prompt's samples."""
    from truedraw.cli.explaining import explained
    from truedraw.cli.options import opened
    from truedraw.cli.resources import process_seconds
    from truedraw.cli.showing import was_interrupted
    from truedraw.cli.speculating import speculation_of
    from truedraw.cli.stdin import prompt_text

    count, model, sampling, spec = flags
    given = _given(own, count, sampling, output)
    text, speculation = prompt_text(prompt), speculation_of(spec, model.amateur)
    with opened(model, apart=own.compare, configs=[speculation]) as loaded:
        start_seconds = process_seconds()
        ids = loaded.chat_prompt([{"role": "user", "content": text}]) if own.chat and text else text
        params = _seeded(loaded.params(**given), own.compare)
        result = _shown(loaded.start(ids, params, speculative=speculation), own, output)
        compare = own.compare and not was_interrupted(result)
        gain = _gain(loaded, ids, params, speculation) if compare else None
    why = explained(result.explanation, speculation) if own.explain else None
    _print_rest(result, {"comparison": gain, "explain": why}, output, start_seconds)
    if was_interrupted(result) or (compare and gain is None):
        raise typer.Exit(EXIT_CODE)


def _given(own: GenerateFlags, count: CountFlags, sampling: SamplingFlags, output: OutputFlags) -> dict[str, Any]:
    """The sampling parameters; what is wrong is said before the model is loaded. Raises BadParameter."""
    from truedraw.sampling.params import sampling_params

    if own.null and output.json:
        raise BadParameter("--null", "with --json there are no texts to end; give one of them")
    given = sampling.given() | count.given()
    sampling_params(given)
    if not output.json:
        sampling.refuse_logprobs("are told with --json only; give that, too")
    return given


def _seeded(params: SamplingParams, compare: bool) -> SamplingParams:
    """A comparison needs a seed, so that both ways draw the same text."""
    from truedraw.sampling.randomness import fresh_seed

    return replace(params, seed=fresh_seed()) if compare and params.seed is None else params


def _shown(run: Generation, own: GenerateFlags, output: OutputFlags) -> Result:
    from truedraw.cli.showing import finished, listed, streamed

    if output.json:
        return finished(run)
    if wants_colour(output.color, sys.stdout) and output.stats:
        typer.echo(legend(), err=True, color=True)
    paint, end = painter(output.color, sys.stdout), "\0" if own.null else "\n"
    if run.params.n > 1:
        return listed(run, paint, end)
    result = streamed(run, paint)
    write(end)
    return result


def _gain(
    model: Model, prompt: str | Sequence[int], params: SamplingParams, spec: Speculation
) -> dict[str, Any] | None:
    """What speculation gained, measured; None where ctrl-C ended the measurement."""
    from truedraw.bench.gain import measure

    try:
        return measure(model, prompt, params, spec)
    except KeyboardInterrupt:
        return None


def _print_rest(
    result: Result, asked: dict[str, dict[str, Any] | None], output: OutputFlags, start_seconds: float | None
) -> None:
    """Statistics, and what else was `asked` for: a comparison, an explanation."""
    from truedraw.cli.explaining import in_words
    from truedraw.cli.resources import used
    from truedraw.cli.statistics import block, gained

    there = {name: each for name, each in asked.items() if each is not None}
    if output.json:
        typer.echo(json.dumps({**result.to_dict(), **there}, allow_nan=False))
    if output.stats:
        typer.echo("\n".join(filter(None, [block(result), used(start_seconds)])), err=True)
    if "explain" in there and not output.json:
        typer.echo(in_words(there["explain"]), err=True)
    if "comparison" in there:
        typer.echo(gained(there["comparison"]), err=True)
