"""truedraw models: list, pull, show."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from truedraw.cli.bar import progress_bar
from truedraw.cli.index import Cache, Json, print_facts
from truedraw.cli.notices import notice
from truedraw.errors import BadParameter
from truedraw.models import open_checkpoint
from truedraw.models.catalogue import DEFAULT_MODEL
from truedraw.models.toy import TOY_MODEL

app = typer.Typer(help="List, fetch and describe models.", no_args_is_help=True)

UNITS = ("B", "kB", "MB", "GB", "TB")
THOUSAND = 1000
MILLI = 1000

Name = Annotated[
    str, typer.Argument(metavar="MODEL", help="A catalogue name, a GGUF file, a model folder, or org/name.")
]
Measure = Annotated[
    bool,
    typer.Option(
        "--measure",
        help="Measure how far the computed law is from float32, and what passes take (loads the model five times).",
    ),
]


@app.command("list")
def list_models(cache: Cache = None, as_json: Json = False) -> None:
    """The models that a name stands for, and which are fetched."""
    from truedraw.models.describe import known_models

    models = known_models(cache)
    if as_json:
        typer.echo(json.dumps(models))
        return
    for model in models:
        state = "fetched" if model["path"] else "not fetched"
        typer.echo(f"{model['name']}  {_size(model['size_bytes'])}  {state}  {model['summary']}")


@app.command()
def pull(model: Name = DEFAULT_MODEL, cache: Cache = None, as_json: Json = False) -> None:
    """Fetch a model, unless it is there and whole, and print where it lies."""
    refuse_toy(model)
    with progress_bar() as progress:
        path = open_checkpoint(model, cache=cache, progress=progress, verify=True, notice=notice).path
    typer.echo(json.dumps({"name": model, "path": str(path)}) if as_json else str(path))


@app.command()
def show(model: Name = DEFAULT_MODEL, cache: Cache = None, measure: Measure = False, as_json: Json = False) -> None:
    """What a model is: architecture, size, quantisation, tokenizer, licence."""
    from truedraw.models.describe import describe

    refuse_toy(model)
    with progress_bar() as progress:
        checkpoint = open_checkpoint(model, cache=cache, progress=progress)
    facts = describe(checkpoint)
    if measure:
        from truedraw.bench.distance import distances
        from truedraw.bench.pass_seconds import pass_seconds

        facts["distance_from_reference"] = distances(checkpoint, cache)
        facts["pass_seconds"] = pass_seconds(checkpoint, cache)
    print_facts(facts if as_json else {key: _readable(key, value) for key, value in facts.items()}, as_json, str)


def refuse_toy(model: str) -> None:
    """Raises BadParameter for the model that has no files."""
    if model == TOY_MODEL:
        raise BadParameter("MODEL", f"{TOY_MODEL} is a table and has no files; name a model with a file")


def _readable(key: str, value: Any) -> str:
    if key in ("size_bytes", "parameters") and value is not None:
        return f"{_size(value) if key == 'size_bytes' else format(value, ',')}"
    if key == "pass_seconds" and value is not None:
        return "; ".join(_counts(*each) for each in value.items() if isinstance(each[1], dict) and each[1])
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items()) or "-"
    if key == "distance_from_reference":
        return "; ".join(
            f"weights {row['weights']} ({row['numerics']}): mean TV {row['mean_tv']:.4f}, "
            f"largest {row['largest_tv']:.3f}"
            for row in value
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


def _counts(what: str, seconds: dict[int, float]) -> str:
    """Milliseconds by count; of each further token of a text for a thousand of them."""
    name, each = ("rows, a thousand tokens further", MILLI * THOUSAND) if what == "further" else (what, MILLI)
    return f"{name} " + ", ".join(f"{count}: {each * took:.1f} ms" for count, took in seconds.items())


def _size(num_bytes: float) -> str:
    for unit in UNITS[:-1]:
        if num_bytes < THOUSAND:
            return f"{num_bytes:.0f} {unit}"
        num_bytes /= THOUSAND
    return f"{num_bytes:.1f} {UNITS[-1]}"
