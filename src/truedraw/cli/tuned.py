"""The config file that a tuning writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.model_flags import ModelFlags
from truedraw.errors import BadFile
from truedraw.models.toy import TOY_MODEL
from truedraw.whole_files import check_folder, write_text

if TYPE_CHECKING:
    from truedraw.bench.tune import Tuning
    from truedraw.bench.verdict import Verdict

HEAD = (
    "Written by truedraw tune, to be read with --config FILE. A flag or its twin in the environment counts before it; "
    "one that names another drafter leaves out the settings of the one that is named here."
)
ALL = (
    "All that was measured, as multiples of plain sampling's speed: the median of the prompts and the interval that "
    "holds it in about 95 of 100 cases, in fewer with fewer than eight prompts."
)


def refuse(path: Path, overwrite: bool) -> None:
    """Raises BadFile where the file could not be written at the end, before anything is measured."""
    if path.exists() and (path.is_dir() or not overwrite):
        raise BadFile(f"--output {path} is there already; give another file, or --overwrite")
    check_folder(path, f"--output {path}")


def write(path: Path, text: str, overwrite: bool) -> None:
    """Whole or not at all; raises BadFile, also where something has come there meanwhile."""
    refuse(path, overwrite)
    write_text(path, text, f"--output {path}")


def paragraphs(found: Verdict, lines: Sequence[str], tuning: Tuning, where: Mapping[str, Any]) -> list[list[str]]:
    """The comments of the file."""
    from truedraw.sampling.params import SamplingParams

    usual = {field: getattr(SamplingParams(), field) for field in where["sampling"]}
    sampled = ", ".join(f"{name} {each}" for name, each in where["sampling"].items() if each != usual[name])
    seeded = ", no seed" if where["sampling"]["seed"] is None else ""
    measured = (
        f"Measured on {date.today().isoformat()} in {tuning.elapsed:.0f} s: {where['model']}, {where['cpu']}, "
        f"{where['cores']} cores, truedraw {where['versions']['truedraw']}; sampling: {sampled or 'default'}{seeded}."
    )
    return [[HEAD], [measured], [f"Chosen: {found.name}.", *found.reasons], [ALL, *lines]]


MODELS = ("model", "amateur")
PATHS = (*MODELS, "draft")
PATH_ENDS = ("_path", "_index")
"""Settings that may name a file, and how the names of others end."""


def config_file(found: Verdict, told: Sequence[Sequence[str]], flags: ModelFlags, context: typer.Context) -> str:
    """The file: what was told as comments, and a table of flags for each verb that drafts."""
    from truedraw.bench.tuned_file import tuned_file

    settings = everywhere({"model": flags.model, **model_flags(flags)})
    return tuned_file(everywhere(found.config), told, settings, drafting_verbs(context))


def model_flags(flags: ModelFlags) -> dict[str, Any]:
    """What else of them decides how fast passes are, where it is not the default."""
    names = ("engine", "device", "numerics", "weights", "threads", "fixed_after", "draft",
             "amateur", "contrastive_alpha", "contrastive_beta")  # fmt: skip
    usual = ModelFlags()
    return {name.replace("_", "-"): getattr(flags, name) for name in names
            if getattr(flags, name) != getattr(usual, name)}  # fmt: skip


def everywhere(given: Any, key: str = "") -> Any:
    """Settings with the paths in them as they are found from anywhere, also those of drafters inside one another."""
    if isinstance(given, Mapping):
        return {name: everywhere(value, name) for name, value in given.items()}
    if isinstance(given, list | tuple):
        return [everywhere(value) for value in given]
    return settled(given, key) if names_file(key) and isinstance(given, str) and given else given


def names_file(key: str) -> bool:
    """Whether a setting of this name may be a file or folder."""
    return key in PATHS or key.endswith(PATH_ENDS)


def settled(given: str, key: str) -> str:
    """A file or folder as it is found from anywhere; a name as it is, also where a file is called so."""
    return given if is_name(given, key) or not Path(given).exists() else str(Path(given).resolve())


def is_name(given: str, key: str) -> bool:
    """Whether it counts as a name before any file, as a draft or as a model."""
    from truedraw.generate.draft_head import NO_HEAD, OWN_LAYERS
    from truedraw.models.opening import is_entry

    if key == "draft":
        return given in (NO_HEAD, OWN_LAYERS)
    return key in MODELS and (given == TOY_MODEL or is_entry(given))


def drafting_verbs(context: typer.Context) -> list[str]:
    """Those that take a speculative config."""
    verbs = getattr(context.parent.command if context.parent else None, "commands", {})
    return [name for name, verb in verbs.items() if any(each.name == "speculative_config" for each in verb.params)]
