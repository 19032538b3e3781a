"""Which engine runs a model from its files, how these are opened for it, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadParameter, UnknownName
from truedraw.registry import find, names
from truedraw.sampling.values import shown

if TYPE_CHECKING:
    from truedraw.models import Checkpoint

USUAL = {"weights": "auto"}
"""What an engine that has no such setting need not be told."""


def find_engine(name: str) -> Any:
    """The class of an engine that runs models from files; raises UnknownName, BadParameter."""
    kind = find("engines", name)
    if not hasattr(kind, "load"):
        choices = ", ".join(each for each in names("engines") if reads_files(each))
        raise BadParameter("engine", f"{name!r} runs no model from a file; choose one of: {choices}")
    return kind


def reads_files(engine: str) -> bool:
    """Whether an engine can be loaded by its name; False for a plug-in that is broken."""
    with suppress(UnknownName):
        return hasattr(find("engines", engine), "load")
    return False


def find_checkpoint(
    name: str | Path,
    kind: Any,
    *,
    cache: Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Checkpoint:
    """The model as an engine of this class wants it: one that runs more architectures reads folders by itself."""
    from truedraw.models import open_checkpoint

    reading = {"open_folder": kind.open_folder} if hasattr(kind, "open_folder") else {}
    return open_checkpoint(name, cache=cache, progress=progress, **reading)


def told(name: str, kind: Any, given: Mapping[str, Any], cache: Path | None) -> dict[str, Any]:
    """What the engine is to be told: the folder too, where it keeps something there.

    Raises BadParameter for an option that the engine does not have.
    """
    wanted = {option: value for option, value in given.items() if value is not None}
    known = signature(kind.load).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return {**wanted, "cache": cache}
    for option in [option for option in wanted if option not in known]:
        value = wanted.pop(option)
        if value != USUAL.get(option):
            raise BadParameter(option, f"got {shown(value)}, but the engine {name} has no such setting; leave it out")
    return {**wanted, "cache": cache} if "cache" in known else wanted
