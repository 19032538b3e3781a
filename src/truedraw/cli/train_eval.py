"""truedraw train eval: what a draft is worth on prompts of your own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.bar import passing_bar
from truedraw.cli.exit_codes import INTERRUPTED
from truedraw.cli.flags import ReportFlags, SpeculationFlags
from truedraw.cli.found import print_found
from truedraw.cli.grouping import with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.prompt_flags import MAX_TOKENS, SEED
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.cli.sizes import values_of
from truedraw.cli.train_eval_flags import Argument, EvalFlags
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.bench.draft_eval.plan import Done, Plan
    from truedraw.generate.speculation import Speculation

HEAD_PATH = "head_path"  # the setting of all drafters over a head
EPILOG = """Examples:

truedraw train eval

truedraw train eval own.safetensors -m ./model.gguf --prompts questions.jsonl --per-category 5 --json > eval.json

truedraw train eval --spec-method ngram-lm --temperature 1 --repeats 0
"""


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
    from truedraw.bench.draft_eval.plan import Plan
    from truedraw.bench.pairs import tasks
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.options import opened
    from truedraw.cli.train_eval_card import check_card, write_card
    from truedraw.cli.train_eval_lines import lines

    points = points_of(sampling, own.temperature)
    speculation = drafting(spec, head, model.amateur)
    draft = loaded_for(head, model.draft)
    if own.write_card is not None:
        check_card(own.write_card, draft, speculation)
    prompts = read_prompts(own.prompts, own.limit, own.per_category)
    drafts = {} if head is None else {"draft": head}
    with opened(model, apart=True, configs=[speculation], **drafts) as loaded:
        plan = Plan(loaded, speculation, tasks(loaded, prompts, own.raw), own.repeats)
        sections, complete = measured(plan, points)
        found = {**told(plan, own, sections, complete), **conditions(plan, points, model)}
    if sections:
        print_found(found, lines(found), output)
    if own.write_card is not None and complete:
        write_card(own.write_card, found)
    if not complete:
        raise typer.Exit(INTERRUPTED)


def points_of(sampling: SamplingFlags, temperatures: str) -> list[dict[str, Any]]:
    """Sampling parameters by name, at each temperature; raises BadParameter, before a model is loaded."""
    from truedraw.sampling.params import sampling_params

    given = {"max_tokens": MAX_TOKENS, "seed": SEED, **replace(sampling, temperature=None).given()}
    points = [{**given, "temperature": value} for value in values_of("--temperature", temperatures)]
    for point in points:
        sampling_params(point)
    sampling.refuse_logprobs()
    return points


def drafting(spec: SpeculationFlags, head: Path | None, amateur: str | None) -> Speculation:
    """The drafter that is asked for, the head if none is; raises BadParameter."""
    from truedraw.bench.draft_eval.plan import HEAD
    from truedraw.cli.speculating import speculation_of
    from truedraw.generate.keys import keys
    from truedraw.generate.speculation import AUTO

    found = speculation_of(spec, amateur)
    if found.method == AUTO:
        if spec.spec_method == AUTO:
            raise BadParameter("--spec-method", f"{AUTO} is several drafters, and is timed beside each; name one")
        found = found.but(method=HEAD)
    if head is not None and HEAD_PATH not in keys(found.method):
        raise BadParameter("HEAD", f"{found.method} drafts without a head; leave out one of the two")
    if head is not None and (other := found.settings.get(HEAD_PATH)) is not None:
        raise BadParameter("HEAD", f"{head} is a head, and so is {HEAD_PATH} {other}; give one of them")
    return found


def loaded_for(head: Path | None, draft: str | None) -> str | Path | None:
    """The draft that the model is loaded for, as it was named; HEAD goes beside a --draft that names none."""
    from truedraw.generate.draft_head import NO_HEAD

    if head is not None and draft not in (None, NO_HEAD):
        raise BadParameter("HEAD", f"{head} is a draft, and so is --draft {draft}; give one of them")
    return draft if head is None else head


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
    with passing_bar() as bar:
        shown = {name: bar.add_task(name, total=units * temperatures) for name, units in plan.units().items() if units}
        yield lambda name: bar.advance(shown[name])


def told(plan: Plan, own: EvalFlags, sections: list[dict[str, Any]], complete: bool) -> dict[str, Any]:
    """What was found, and of what."""
    from truedraw.bench.draft_eval.conditions import digest_of
    from truedraw.bench.draft_eval.figures import BUILT_IN
    from truedraw.cli.train_eval_card import card_of

    return {
        "model": plan.model.name,
        "head": card_of(plan),
        "prompts": len(plan.todo),
        "prompts_from": BUILT_IN if own.prompts is None else own.prompts.name,
        "prompts_digest": digest_of(plan.todo),
        "temperatures": sections,
        "complete": complete,
        "repeats": own.repeats,
    }


def conditions(plan: Plan, points: list[dict[str, Any]], model: ModelFlags) -> dict[str, Any]:
    """How it was computed and sampled, and on which machine."""
    from truedraw.bench.provenance import machine, settings
    from truedraw.cli.options import computed_with

    sampled = settings(plan.model.params(**points[0]), plan.speculation)
    sampled["sampling"] = {name: value for name, value in sampled["sampling"].items() if name != "temperature"}
    return {**computed_with(model, plan.model.engine), **sampled, **machine()}
