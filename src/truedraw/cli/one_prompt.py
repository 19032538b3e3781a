"""truedraw generate PROMPT: the samples of one prompt as they come, and what they cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.colour import legend, painter, wants_colour, write
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import CountFlags, OutputFlags, SpeculationFlags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.errors import BadParameter, error_of

if TYPE_CHECKING:
    from truedraw.cli.generate import GenerateFlags
    from truedraw.generate.generation import Generation
    from truedraw.generate.model import Model
    from truedraw.generate.result import Result
    from truedraw.generate.speculation import Speculation
    from truedraw.sampling.params import SamplingParams


def run_one(
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
    from truedraw.text.question import question

    count, model, sampling, spec = flags
    given, system = _given(own, count, sampling, output), own.system_prompt
    text, speculation = prompt_text(prompt), speculation_of(spec, model.amateur)
    with opened(model, apart=own.compare, configs=[speculation]) as loaded:
        start_seconds = process_seconds()
        ids = loaded.chat_prompt(question(text, system)) if own.chat and text else text
        params = _seeded(loaded.params(**given), own.compare)
        run = loaded.start(ids, params, speculative=speculation)
        result = _shown(run, own, output)
        compare = own.compare and not was_interrupted(result)
        gain = _gain(loaded, ids, params, speculation) if compare else None
    why = explained(result.explanation, speculation) if own.explain else None
    error = None if run.error is None else error_of(run.error)
    _print_rest(result, {"comparison": gain, "explain": why, "error": error}, output, start_seconds)
    if run.error is not None:
        raise run.error
    if was_interrupted(result) or (compare and gain is None):
        raise typer.Exit(INTERRUPTED)


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
    result: Result, beside: Mapping[str, Mapping[str, Any] | None], output: OutputFlags, start_seconds: float | None
) -> None:
    """Statistics, and what else belongs to the result: a comparison, an explanation, an error that ended it."""
    from truedraw.cli.explaining import in_words
    from truedraw.cli.resources import used
    from truedraw.cli.statistics import block, gained

    there = {name: each for name, each in beside.items() if each is not None}
    if output.json:
        typer.echo(json.dumps({**result.to_dict(), **there}, allow_nan=False))
    if output.stats:
        typer.echo("\n".join(filter(None, [block(result), used(start_seconds)])), err=True)
    if "explain" in there and not output.json:
        typer.echo(in_words(there["explain"]), err=True)
    if "comparison" in there:
        typer.echo(gained(there["comparison"]), err=True)
