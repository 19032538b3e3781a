"""truedraw train show: the card of a draft."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from truedraw.cli.colour import shown_safely
from truedraw.errors import BadFile

EPILOG = """Examples:

truedraw train show

truedraw train show own.safetensors --json
"""

Argument = Annotated[
    Path | None,
    typer.Argument(
        metavar="HEAD",
        help="A draft of `truedraw train draft`; the head that comes with the default model if not given.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.", envvar="TRUEDRAW_JSON")]


def show(head: Argument = None, as_json: Json = False) -> None:
    """Print what a draft says of itself: data, the curve of its training, what is kept of its drafts by position; of a
    head also what is kept by category and where it fails."""
    from truedraw.cli.train_show_lines import lines

    path = head if head is not None else shipped_head()
    found = facts(path)
    if as_json:
        typer.echo(strict(found, path))
        return
    try:
        said = lines(found)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise BadFile(
            f"{path} has a card that says nonsense ({type(error).__name__}: {error}); see it by --json"
        ) from error
    typer.echo(shown_safely("\n".join(said), sys.stdout))


def strict(found: dict[str, Any], path: Path) -> str:
    """As JSON; raises BadFile for a number that this has no word for."""
    try:
        return json.dumps(found, allow_nan=False)
    except ValueError as error:
        raise BadFile(f"{path} has a card that says nonsense ({error}); train it anew") from error


def facts(path: Path) -> dict[str, Any]:
    """The card, and the file that it is in; raises BadFile, also where its numbers cannot be read."""
    from truedraw.draft.head.file import HeadFile

    if (found := of_folder(path)) is not None:
        return found
    card = HeadFile(path).card
    return {"file": str(path), "bytes": path.stat().st_size, **asdict(card)}


def of_folder(path: Path) -> dict[str, Any] | None:
    """The card of a draft that is a folder, and its size; None for anything else. Raises BadFile."""
    from truedraw.distill.folders import is_ours
    from truedraw.distill.independent.export import KIND as TRANSFORMER
    from truedraw.draft.eagle.card import CARD
    from truedraw.draft.eagle.card import KIND as EAGLE
    from truedraw.sampling.values import parsed

    if not any(is_ours(path, kind) for kind in (EAGLE, TRANSFORMER)):
        return None
    size = sum(each.stat().st_size for each in path.iterdir() if each.is_file())
    return {"file": str(path), "bytes": size, **parsed((path / CARD).read_bytes())}


def shipped_head() -> Path:
    """Raises BadFile where there is none."""
    from truedraw.draft.head.file import SHIPPED, SUFFIX
    from truedraw.models.catalogue import DEFAULT_MODEL

    path = SHIPPED / f"{DEFAULT_MODEL}{SUFFIX}"
    if not path.exists():
        raise BadFile(f"no head comes with {DEFAULT_MODEL} here; give the file of one")
    return path
