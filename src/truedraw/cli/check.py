"""truedraw check: the certificate of exactness."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truedraw.cli.bar import has_bars
from truedraw.cli.exit_codes import FAILED
from truedraw.cli.flags import OutputFlags, SpeculationFlags
from truedraw.cli.grouping import flag, report, with_flags
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.sampling_flags import SamplingFlags
from truedraw.engine import DEFAULT_ENGINE
from truedraw.errors import BadParameter
from truedraw.models.toy import TOY_MODEL

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.stats.check import Certificate, Settings, Subject

PANEL = "Check"
ALPHA, SAMPLES = 0.01, 16
EPILOG = """Examples:

truedraw check --temperature 0.7 --html report.html

truedraw check --quick --spec-tokens 8 --json

truedraw check --spec-model ./small.gguf --speculative-config '{"draft_temperature": 0.8}'

truedraw check -m ./model.gguf --prompts questions.jsonl --samples 64
"""


@dataclass(frozen=True, slots=True)
class CheckFlags:
    """What only this verb has."""

    prompts: Annotated[
        Path | None,
        flag(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt or turns, of which 16 (4 with --quick) are used; a small set of our own if "
            "not given.",
            rich_help_panel=PANEL,
        ),
    ] = None
    samples: Annotated[
        int, flag("--samples", help="Texts of each prompt; four times as many halve the bias that is seen.",
                  min=2, rich_help_panel=PANEL)
    ] = SAMPLES  # fmt: skip
    alpha: Annotated[
        float,
        flag("--alpha", help="Chance of a false alarm, all statistics together.", rich_help_panel=PANEL),
    ] = ALPHA
    quick: Annotated[
        bool, flag("--quick", help="About a quarter of the work; sees larger biases only.", rich_help_panel=PANEL)
    ] = False
    html: Annotated[Path | None, report("--html", "Write a report with plots.", PANEL)] = None
    raw: Annotated[
        bool, flag("--raw", help="Continue prompts as they are, without a chat template.", rich_help_panel=PANEL)
    ] = False


@with_flags
def check(
    own: CheckFlags, model: ModelFlags, sampling: SamplingFlags, spec: SpeculationFlags, output: OutputFlags
) -> None:
    """Check that sampling is exact: this code, this model, this drafter, these parameters, on this machine.

    The rules are enumerated, seeds compared, texts tested against a forward pass of their own, and the same tests
    tried on planted bugs. Texts have a fixed length, --max-tokens or 32: neither end tokens nor --stop end them, for
    texts selected by how they end would not follow the model; behind the end of a grammar they go on freely. A draft
    model and its settings are part of what is checked. Everything follows from --seed (0 if not given) and can
    be repeated. A table goes to stderr (not with --json), one JSON object to stdout. Exit code 1 when anything fails,
    and when too little was looked at to see a large bias: then nothing was proven.
    """
    from truedraw.bench.prompts import read_prompts
    from truedraw.cli.certificate import check_report, write_report
    from truedraw.cli.options import opened
    from truedraw.cli.speculating import speculation_of
    from truedraw.sampling.params import sampling_params
    from truedraw.stats.check import UNCERTAIN, spread

    settings, speculation = settings_of(own, sampling), speculation_of(spec, model.amateur)
    speculation.check_exact(UNCERTAIN)
    sampling_params(sampling.given())  # what is wrong should be said before the model is loaded
    sampling.refuse_logprobs("no law depends on them, so there is nothing to check; leave it out")
    prompts = spread(read_prompts(own.prompts), settings.prompts)
    if own.html is not None:
        check_report(own.html)
    with opened(model, configs=[speculation], **_from_the_start(model)) as loaded:
        from truedraw.bench.pairs import tasks
        from truedraw.stats.check import Subject

        texts = [task.tokens for task in tasks(loaded, prompts, own.raw)]
        subject = Subject(loaded, loaded.params(**sampling.given()), speculation, texts)
        certificate = _with_conditions(_checked(subject, settings, model), subject, settings, model)
    if own.html is not None:
        write_report(certificate, own.html)
    _print(certificate, output)
    if not certificate.passed:
        raise typer.Exit(FAILED)


def _from_the_start(flags: ModelFlags) -> dict[str, Any]:
    """The graphs that take over in long runs compute from the first pass on, so that they are checked, too."""
    asked = flags.fixed_after is not None or flags.engine != DEFAULT_ENGINE or flags.model == TOY_MODEL
    return {} if asked else {"fixed_after": 0}


def settings_of(own: CheckFlags, sampling: SamplingFlags) -> Settings:
    """Raises BadParameter for a parameter out of range or without a meaning here."""
    from truedraw.stats.check import Settings, quick

    if sampling.max_tokens is not None and sampling.max_tokens < 2:
        raise BadParameter("max_tokens", f"got {sampling.max_tokens!r}; a check needs texts of at least 2 tokens")
    wanted = Settings(alpha=own.alpha, samples=own.samples, seed=sampling.seed or 0)
    wanted = replace(wanted, control_samples=max(own.samples, wanted.control_samples))  # what sees more must show it
    if sampling.max_tokens is not None:
        wanted = replace(wanted, length=sampling.max_tokens)
    return quick(wanted) if own.quick else wanted


def _checked(subject: Subject, settings: Settings, flags: ModelFlags) -> Certificate:
    from rich.console import Console

    from truedraw.stats.check import check as look

    console = Console(stderr=True)
    with console.status("checking") if has_bars(console) else nullcontext() as status:
        tell = (lambda title: status.update(f"checking: {title}")) if status else str
        return look(subject, settings, lambda: _reference(flags), tell)


def _reference(flags: ModelFlags) -> Model:
    """The same model, of which nothing but laws is asked."""
    from truedraw.cli.options import said
    from truedraw.generate.draft_head import NO_HEAD
    from truedraw.generate.loading import load

    return load(flags.model, numerics="reference", draft=NO_HEAD, **said(flags))


def _with_conditions(found: Certificate, subject: Subject, settings: Settings, flags: ModelFlags) -> Certificate:
    from dataclasses import asdict

    from truedraw.bench.provenance import machine
    from truedraw.bench.provenance import settings as sampled_with
    from truedraw.cli.options import computed_with

    conditions = {
        **found.conditions,
        **asdict(settings),
        "prompts": len(subject.prompts),
        **computed_with(flags, subject.model.engine),
        **sampled_with(subject.params, subject.speculation),
        **machine(),
    }
    return replace(found, conditions=conditions)


def _print(certificate: Certificate, output: OutputFlags) -> None:
    from truedraw.cli.certificate import print_certificate

    if output.stats and not output.json:
        print_certificate(certificate, output.color)
    typer.echo(json.dumps(certificate.to_dict(), allow_nan=False, default=str))
    sys.stdout.flush()
