"""The work of truedraw sweep: from flags to samples, and from samples to reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.cli.flags import AskingFlags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.options import law_of, opened
from truedraw.cli.record_files import FileFlags, notice_drawn_anew, records_to, seed_of
from truedraw.cli.recording import Recording, Work
from truedraw.cli.sizes import values_of
from truedraw.cli.stdin import prompt_text
from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.offline.done import may_pass
from truedraw.generate.offline.grid import AXES, points
from truedraw.generate.offline.sweep import Sweep, drawn, run_sweep
from truedraw.generate.speculation import Speculation
from truedraw.sampling.order import OFF
from truedraw.text.characters import check_characters
from truedraw.text.question import question
from truedraw.whole_files import check_folder, write_text

if TYPE_CHECKING:
    from truedraw.generate.model import Model

__all__ = ["AXES", "Plan", "check_reports", "draw", "prompts_of", "seed_of", "summary", "sweep_of", "write_reports"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep as the command line describes it; its prompts are texts."""

    model: ModelFlags
    files: FileFlags
    asking: AskingFlags
    sweep: Sweep

    def settings(self) -> dict[str, Any]:
        """What must be the same when it goes on."""
        return {
            "kind": "sweep",
            **law_of(self.model),
            **self.asking.settings(),
            "points": [point.params() for point in self.sweep.points],
            "n": self.sweep.n,
            "sampling": self.sweep.params,
            "speculation": self.sweep.speculative.config(),
            "seed": self.sweep.seed,
            "prompts": self.sweep.prompts,
        }


def sweep_of(
    prompts: Sequence[str], axes: Mapping[str, str | None], n: int, params: Mapping[str, Any],
    chance: tuple[int, Speculation],
) -> Sweep:  # fmt: skip
    """What to draw; raises BadParameter for a point that cannot be, before a model is loaded."""
    grid = {axis: values_of(f"--{axis.replace('_', '-')}", axes[axis], axis == "top_k") for axis in AXES}
    if not any(grid.values()):
        raise BadParameter("--temperature", "a sweep needs something to vary; give values, as in --temperature 0.5,1")
    if len(same := [value for value in grid["top_k"] if value in OFF["top_k"]]) > 1:
        raise BadParameter("--top-k", f"{' and '.join(map(str, same))} both keep all tokens; give one of them")
    if scheduled := [axis for axis in AXES if grid[axis] and axis in params.get("schedule", {})]:
        raise BadParameter("--schedule", f"{scheduled[0]} is what the sweep varies; leave out one of the two")
    seed, speculation = chance
    found = Sweep(prompts, points(grid), n, params, seed, speculation)
    found.check()
    return found


def prompts_of(prompt: str | None, path: Path | None) -> list[str]:
    """The texts of PROMPT or --prompts; raises BadInput."""
    from truedraw.bench.prompts import read_prompts

    if (prompt is None) == (path is None):
        raise BadParameter("PROMPT", "give either a text (- for stdin) or --prompts FILE")
    texts = [each.text for each in read_prompts(path)] if prompt is None else [prompt_text(prompt)]
    if not all(texts):
        raise BadPrompt("the prompt is empty; give at least one character")
    for number, text in enumerate(texts, start=1):
        check_characters(text, f"prompt {number}")
    return texts


def draw(plan: Plan, run: Recording) -> bool:
    """Draw what is not there yet; whether that came to its end."""
    with records_to(plan.files, plan.settings()) as out:
        done = drawn(out.records(), plan.files.path, plan.sweep)
        out.drop(may_pass)
        run.tally.before, run.tally.before_failed = len(done), sum(done.values())
        if len(done) >= len(plan.sweep):
            return True
        if done:
            notice_drawn_anew(plan.files.path, plan.sweep.speculative)
        with opened(plan.model, configs=[plan.sweep.speculative]) as loaded:
            sweep = asked(loaded, plan)
            longest = loaded.params(**sweep.params).max_tokens
            work = Work(len(sweep), longest, lambda batch, emit: run_sweep(batch, sweep, done, emit))
            return run.drawn(loaded, out, work)


def asked(model: Model, plan: Plan) -> Sweep:
    """The sweep with its prompts as the model is to get them."""
    if not plan.asking.chat:
        return plan.sweep
    system = plan.asking.system_prompt
    prompts = [model.chat_prompt(question(str(text), system)) for text in plan.sweep.prompts]
    return replace(plan.sweep, prompts=prompts)


def check_reports(files: FileFlags, html: Path | None, parquet: Path | None) -> None:
    """What cannot be written, or would be written over, is said before the work; raises BadParameter and BadFile."""
    from truedraw.generate.offline.parquet import check_ours as check_table
    from truedraw.page.document import check_ours as check_page
    from truedraw.stats.sweep.html import TITLE

    for name, path in (("--html", html), ("--parquet", parquet)):
        if path is not None and files.path is None:
            raise BadParameter(name, "is made from the samples in --output FILE; give that, too")
        if path is not None:
            check_folder(path, f"{name} {path}")
    if html is not None:
        check_page(html, TITLE, "give another --html")
    if parquet is not None:
        check_table(parquet, "give another --parquet")


def write_reports(files: FileFlags, html: Path | None, parquet: Path | None) -> None:
    """From all samples that are there, of this run and those before; raises BadFile."""
    from truedraw.generate.offline.journal import read_records
    from truedraw.generate.offline.parquet import write_parquet

    if files.path is not None and parquet is not None:
        write_parquet(read_records(files.path), parquet)
    if files.path is not None and html is not None:
        write_text(html, _page(files.path), f"--html {html}")


def summary(plan: Plan) -> dict[str, Any]:
    """What --json prints beside the counts: the numbers of each point, from all samples that are there."""
    from truedraw.generate.offline.journal import read_records
    from truedraw.stats.sweep.points import point_reports

    found = [] if plan.files.path is None else point_reports(read_records(plan.files.path), AXES)
    return {
        "model": plan.model.model,
        "seed": plan.sweep.seed,
        "prompts": len(plan.sweep.prompts),
        "points": [point.to_dict() for point in found],
    }


def _page(path: Path) -> str:
    from truedraw.generate.offline.journal import read_records
    from truedraw.generate.offline.settings import read
    from truedraw.stats.sweep.html import to_html
    from truedraw.stats.sweep.points import point_reports

    return to_html(point_reports(read_records(path), AXES), read(path) or {})
