"""Which engine runs a model from its files, how these are opened for it, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from inspect import signature
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadParameter, UnknownName, did_you_mean
from truedraw.generate.foreign import asked
from truedraw.models.cache import cache_root
from truedraw.registry import BUILT_IN, find, names
from truedraw.sampling.values import differs, shown

if TYPE_CHECKING:
    from truedraw.models import Checkpoint

USUAL = {"weights": "auto"}
"""What nobody need give, and no engine is told."""
ALWAYS_ASKED = ("vocab_size", "context_length", "open", "forward")
"""What no text can do without, of protocol.Engine."""


def find_engine(name: str) -> Any:
    """The class of an engine that runs models from files; raises UnknownName, BadParameter (a missing extra, too)."""
    kind = find("engines", name)
    if not hasattr(kind, "load"):
        choices = ", ".join(each for each in names("engines") if reads_files(each))
        raise BadParameter("engine", f"{name!r} runs no model from a file; choose one of: {choices}")
    if name in BUILT_IN["engines"] and hasattr(kind, "check_installed"):
        kind.check_installed()
    return kind


def reads_files(engine: str) -> bool:
    """Whether an engine can be loaded by its name; False for a plug-in that is broken."""
    with suppress(UnknownName):
        return hasattr(find("engines", engine), "load")
    return False


def find_checkpoint(
    name: str | Path,
    engine: str,
    *,
    cache: Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Checkpoint:
    """The model as the engine of this name wants it: one that runs more architectures reads folders by itself."""
    from truedraw.models import open_checkpoint

    own = getattr(find_engine(engine), "open_folder", None)
    if own is None:
        return open_checkpoint(name, cache=cache, progress=progress)
    reader = own if engine in BUILT_IN["engines"] else partial(_read, engine, own)
    return open_checkpoint(name, cache=cache, progress=progress, open_folder=reader)


def _read(engine: str, open_folder: Callable[[str, Path], Any], name: str, path: Path) -> Checkpoint:
    """What a plug-in's engine makes of a folder; raises BadParameter where that fails, or is no checkpoint."""
    from truedraw.models import Checkpoint

    found = asked("engine", f"the plug-in {engine!r} cannot open {name}", lambda: open_folder(name, path))
    if not isinstance(found, Checkpoint):
        said = f"the plug-in {engine!r} opened {name} and gave {shown(found)}; open_folder has to give a Checkpoint"
        raise BadParameter("engine", said)
    if not isinstance(length := getattr(found.config, "context_length", None), Integral):
        said = f"the plug-in {engine!r} opened {name} with a context_length of {shown(length)}; give a whole number"
        raise BadParameter("engine", said)
    return found


def loaded_by(engine: str, kind: Any, checkpoint: Checkpoint, options: Mapping[str, Any]) -> Any:
    """The engine, with the model in it; raises BadParameter where a plug-in fails at that, or gives none."""
    if engine in BUILT_IN["engines"]:
        return kind.load(checkpoint, **options)
    what = f"the plug-in {engine!r} cannot load {checkpoint.name}"
    found = asked("engine", what, lambda: kind.load(checkpoint, **options))
    if missing := [each for each in ALWAYS_ASKED if not hasattr(found, each)]:
        said = f"the plug-in {engine!r} loaded {checkpoint.name} and gave {shown(found)}, which has no "
        raise BadParameter("engine", f"{said}{', '.join(missing)}; load has to give an engine, see protocol.Engine")
    return found


def told(name: str, kind: Any, given: Mapping[str, Any], cache: Path | None) -> dict[str, Any]:
    """What the engine is to be told: the folder too, where it keeps something there.

    Raises BadParameter for an option that the engine does not have.
    """
    usual = {option for option, value in given.items() if value is None or not differs(value, USUAL.get(option))}
    wanted = {option: value for option, value in given.items() if option not in usual}
    what = f"the plug-in {name!r} does not say which options its load has"
    known = asked("engine", what, lambda: signature(kind.load)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return {**wanted, "cache": cache_root(cache)}
    for option, value in wanted.items():
        if option not in known:
            meant = did_you_mean(option, known.keys() - {"checkpoint"})
            said = f"got {shown(value)}, but the engine {name} has no such setting{meant}; leave it out"
            raise BadParameter(option, said)
    return {**wanted, "cache": cache_root(cache)} if "cache" in known else wanted
