"""From flags to what the library takes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from truedraw.cli.bar import progress_bar
from truedraw.cli.garbage import frozen
from truedraw.cli.model_flags import ModelFlags
from truedraw.cli.notices import notice
from truedraw.cli.sizes import bytes_of
from truedraw.engine import DEFAULT_ENGINE, DEFAULT_NUMERICS
from truedraw.errors import BadParameter, NotInvariant
from truedraw.generate.offline.settings import CONTENTS, TEXT_FILES
from truedraw.models.toy import TOY_MODEL
from truedraw.sampling.working_time import COMPILER

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.models import Checkpoint


NUMERICS = {DEFAULT_ENGINE: DEFAULT_NUMERICS, "pytorch": "reference"}
"""What an engine computes in where nothing else is asked for."""


@contextmanager
def opened(
    flags: ModelFlags, *, apart: bool = False, configs: Iterable[object] | None = None, **more: Any
) -> Iterator[Model]:
    """The model, fetched with a progress bar if need be; says so where this machine cannot keep its bits equal.

    `apart`: one run finds nothing that another has computed, as a comparison of their times needs it. `configs`: all
    speculative configs of the run; None: nobody knows them yet. `more` as for `load`.
    """
    from truedraw.cli.saving import check_saving, saving

    given = {**memory_of(flags, apart), "draft": flags.draft, **more}
    check_saving(flags.save_draft, given["draft"], configs)
    notice_threads(flags.threads)
    if sys.stderr.isatty():
        COMPILER.begins = notice_compiling
    with _loaded(flags, given) as model, frozen(), saving(model, flags.save_draft):
        notice_invariance(model.engine)
        notice_not_kept(model.engine)
        notice_lossy(configs or ())
        yield model


def _loaded(flags: ModelFlags, more: Mapping[str, Any]) -> Model:
    from truedraw.generate.loading import load

    with progress_bar() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotInvariant)  # see notice_invariance
        return load(
            flags.model, numerics=flags.numerics, weights=flags.weights, progress=progress, **said(flags), **more
        )


def said(flags: ModelFlags) -> dict[str, Any]:
    """What `load` takes by the names of the flags, for whatever arithmetic and weights."""
    names = ("engine", "device", "threads", "cache", "amateur", "contrastive_alpha", "contrastive_beta")
    return {name: getattr(flags, name) for name in names}


def memory_of(flags: ModelFlags, apart: bool = False) -> dict[str, Any]:
    """Amounts of memory that the engine is to be told; raises BadParameter."""
    found: dict[str, Any] = {}
    if flags.cache_bytes is not None:
        found["cache_bytes"] = bytes_of("--cache-bytes", flags.cache_bytes)
    if flags.prefix_cache_bytes is not None:
        found["prefix_cache_bytes"] = bytes_of("--prefix-cache-bytes", flags.prefix_cache_bytes, least=0)
    whole, part = found.get("cache_bytes"), found.get("prefix_cache_bytes", 0)
    if whole is not None and part > whole:
        raise BadParameter(
            "--prefix-cache-bytes",
            f"got {flags.prefix_cache_bytes}, but it is a part of --cache-bytes {flags.cache_bytes}; give at most that",
        )
    if flags.fixed_after is not None:
        found["fixed_after"] = flags.fixed_after
    if apart and found.get("prefix_cache_bytes"):
        raise BadParameter(
            "--prefix-cache-bytes", "times are compared here, and no run may find what another one left; leave it out"
        )
    if apart and flags.model != TOY_MODEL:
        found["prefix_cache_bytes"] = 0
    return found


def computed_with(flags: ModelFlags, engine: object) -> dict[str, Any]:
    """How an opened model computes, for a report; None where it has no such setting."""
    is_table = flags.model == TOY_MODEL
    names = ("engine", "device", "weights", "threads")
    found = {"numerics": getattr(engine, "numerics", None), **{name: getattr(flags, name) for name in names}}
    return dict.fromkeys(found) if is_table else found


def numerics_of(flags: ModelFlags) -> str | None:
    """As asked for, or what the engine does; None where that is a plug-in's own affair."""
    return flags.numerics or NUMERICS.get(flags.engine)


def law_of(flags: ModelFlags) -> dict[str, Any]:
    """What of the model's flags decides which texts come out; a model is what its files hold, wherever they lie.

    Raises what opening a model raises.
    """
    names = ("model", "engine", "weights", "amateur", "contrastive_alpha", "contrastive_beta")
    files = {name: files_of(getattr(flags, name), flags) for name in ("model", "amateur")}
    contents = {name: contents_of(found) for name, found in files.items()}
    texts = {name: text_contents_of(found) for name, found in files.items()}
    given = {name: getattr(flags, name) for name in names}
    device = {} if flags.device is None else {"device": flags.device}  # earlier files without one go on
    return {**given, **device, "numerics": computed_in(flags, files["model"]), CONTENTS: contents, TEXT_FILES: texts}


def files_of(model: str | None, flags: ModelFlags) -> Checkpoint | None:
    """A model's files, fetched with a progress bar if need be; None for no model and for the toy."""
    from truedraw.generate.engine_choice import find_checkpoint

    if model is None or model == TOY_MODEL:
        return None
    with progress_bar() as progress:
        return find_checkpoint(model, flags.engine, cache=flags.cache, progress=progress)


def contents_of(found: Checkpoint | None) -> str | None:
    """The fingerprint of a model's files; a model in one file may be called anything."""
    from truedraw.models.fingerprint import fingerprint

    if found is None:
        return None
    return fingerprint([found.path], named=False) if found.path.is_file() else found.fingerprint


def text_contents_of(found: Checkpoint | None) -> str | None:
    """The same of what a folder has for texts; None where all is in one file."""
    from truedraw.models.fingerprint import fingerprint
    from truedraw.models.folder_text import text_files

    files = [] if found is None else text_files(found.path)
    return fingerprint(files) if files else None


def computed_in(flags: ModelFlags, found: Checkpoint | None) -> str | None:
    """The arithmetic that the engine will choose on this machine, as another one writes other texts."""
    from truedraw.engine.cpu.opening import arithmetic_of

    asked = numerics_of(flags)
    if found is None or asked is None or flags.engine != DEFAULT_ENGINE:
        return asked
    return arithmetic_of(asked, found, flags.weights).name


def notice_threads(threads: int | None) -> None:
    """One line on stderr for more than can run: a start measures what they take, and in each pass some wait."""
    from truedraw.threads.processors import processors

    if threads is not None and threads > processors():
        notice(
            f"{threads} threads on {processors()} processors wait for one another, for minutes where they are many; "
            "leave --threads out"
        )


def notice_invariance(engine: Any) -> None:
    """One line on stderr where the engine found that a row's numbers depend on what else is in its pass."""
    found = getattr(engine, "invariance", None)
    if found is not None and not found.holds:
        notice(f"{found.says}; --numerics reference is slower and far closer")


def notice_lossy(configs: Iterable[object]) -> None:
    """One line on stderr for each rule that does not keep the model's distribution, whatever else is printed."""
    from truedraw.generate.speculation import Speculation

    rules = [each for each in configs if isinstance(each, Speculation) and not each.verifier(None).exact]
    for rule in dict.fromkeys(each.rejection_sample_method for each in rules):
        notice(f"LOSSY, texts will not have the model's distribution: the rule {rule}")


def notice_compiling() -> None:
    """One line on a terminal that would show nothing for a while."""
    notice("sampling is compiled for this machine, once: about a minute")


def notice_not_kept(engine: Any) -> None:
    """One line on stderr where the weights will have to be converted again the next time."""
    why = getattr(engine, "not_kept", None)
    if why is not None:
        notice(
            f"the converted weights cannot be kept in {why}; each start converts them again; "
            "--cache names another folder"
        )
