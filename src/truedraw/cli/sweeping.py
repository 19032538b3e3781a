"""The work of truedraw sweep: from flags to samples, and from samples to reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import typer

from truedraw.cli.flags import ModelFlags
from truedraw.cli.options import law_of, opened
from truedraw.cli.progress import Tally, bar
from truedraw.cli.record_files import FileFlags, records_to, seed_of
from truedraw.cli.sizes import values_of
from truedraw.cli.stdin import prompt_text
from truedraw.errors import BadFile, BadParameter, BadPrompt
from truedraw.generate.offline.grid import AXES, Draw, points
from truedraw.generate.offline.sweep import Sweep, drawn, run_sweep
from truedraw.generate.speculation import Speculation

__all__ = ["AXES", "Plan", "check_reports", "prompts_of", "run", "seed_of", "sweep_of", "write_reports"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep as the command line describes it; its prompts are texts."""

    model: ModelFlags
    files: FileFlags
    chat: bool
    sweep: Sweep

    def settings(self) -> dict[str, Any]:
        """What must be the same when it goes on."""
        return {
            "kind": "sweep",
            **law_of(self.model),
            "chat": self.chat,
            "points": [point.params() for point in self.sweep.points],
            "n": self.sweep.n,
            "sampling": self.sweep.params,
            "speculation": asdict(self.sweep.speculative),
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
    return texts


def run(plan: Plan, stats: bool) -> bool:
    """Draw what is not there yet; whether that came to its end."""
    tally = Tally("sample")
    with records_to(plan.files, plan.settings()) as out:
        done = drawn(out.records(), plan.files.path)
        complete = len(done) >= len(plan.sweep) or _drawn(plan, done, out.append, tally)
    if stats or tally.failed:
        typer.echo(tally.line(len(done)), err=True)
    if not complete and plan.files.path is not None:
        typer.echo(f"interrupted; the same command goes on with {plan.files.path}", err=True)
    return complete


def _drawn(plan: Plan, done: set[Draw], append: Callable[[dict[str, Any]], None], tally: Tally) -> bool:
    with opened(plan.model) as loaded, bar(tally, len(plan.sweep), len(done)) as add:

        def emit(record: dict[str, Any]) -> None:
            append(record)
            add(record)

        sweep = plan.sweep
        if plan.chat:
            asked = [loaded.chat_prompt([{"role": "user", "content": text}]) for text in sweep.prompts]
            sweep = replace(sweep, prompts=asked)
        try:
            run_sweep(loaded, sweep, done, emit, plan.files.running)
        except KeyboardInterrupt:
            return False
    return True


def check_reports(files: FileFlags, html: Path | None, parquet: Path | None) -> None:
    """What cannot be written is said before the work; raises BadParameter and BadFile."""
    from truedraw.generate.offline.parquet import require_pyarrow

    for name, path in (("--html", html), ("--parquet", parquet)):
        if path is not None and files.path is None:
            raise BadParameter(name, "is made from the samples in --output FILE; give that, too")
        if path is not None and not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
            raise BadFile(f"{name} {path} cannot be written: give a file in a folder that exists and may be written to")
    if parquet is not None:
        require_pyarrow()


def write_reports(plan: Plan, html: Path | None, parquet: Path | None) -> None:
    """From all samples that are there, of this run and those before; raises BadFile."""
    from truedraw.generate.offline.journal import read_records
    from truedraw.generate.offline.parquet import write_parquet

    if plan.files.path is not None and parquet is not None:
        write_parquet(read_records(plan.files.path), parquet)
    if plan.files.path is not None and html is not None:
        _write_whole(html, _page(plan, plan.files.path))


def _page(plan: Plan, path: Path) -> str:
    from truedraw.generate.offline.journal import read_records
    from truedraw.stats.sweep.html import to_html
    from truedraw.stats.sweep.points import point_reports

    return to_html(point_reports(read_records(path), AXES), plan.settings())


def _write_whole(path: Path, text: str) -> None:
    """Whole or not at all."""
    fresh = path.with_name(path.name + ".part")
    try:
        fresh.write_text(text, encoding="utf-8", errors="replace")
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise BadFile(f"--html {path} cannot be written: {error.strerror}; give another file") from error
