"""--save-draft: what a draft head learns in a run, into a file. What cannot be is said before the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.notices import notice
from truedraw.errors import BadParameter
from truedraw.generate.draft_head import NO_HEAD
from truedraw.home_folder import expanded
from truedraw.whole_files import check_folder

if TYPE_CHECKING:
    from truedraw.generate.model import Model

FLAG = "--save-draft"
HEAD, HEAD_PATH = "head", "head_path"  # the plain method over a head, and the setting that names another one
REFIT = "refit"  # the setting with which it goes on learning


def check_saving(path: Path | None, draft: object, configs: Iterable[object] | None) -> None:
    """What is known before the model is loaded; raises BadParameter and BadFile.

    draft: what the model is loaded for. configs: all that the run may draft by; None: nobody knows yet.
    """
    from truedraw.draft.head.file import check_ours

    if path is None:
        return
    check_folder(expanded(path), f"{FLAG} {path}")
    check_ours(expanded(path), FLAG)
    if draft == NO_HEAD:
        raise BadParameter(FLAG, f"no head is loaded here (as with --draft {NO_HEAD}), so none learns; leave it out")
    if configs is None:
        return
    given = [*configs]
    if not any(map(learns, given)):
        raise BadParameter(
            FLAG,
            f'no head learns here; give "{REFIT}": true in --speculative-config, where there is one, or leave it out',
        )
    check_heads([config.get(HEAD_PATH) or draft for each in given for config in learners(each)])


def check_heads(heads: Sequence[object]) -> None:
    """Raises BadParameter where all that learn are folders."""
    folders = [each for each in heads if isinstance(each, str | Path) and expanded(each).is_dir()]
    if folders and len(folders) == len(heads):
        raise BadParameter(
            FLAG,
            f"{folders[0]} is a folder, into which nothing learnt is written; give a head in a file, or leave it out",
        )


def learns(config: object) -> bool:
    """Whether a drafter of a speculative config, or of one inside it, goes on learning."""
    return any(True for _ in learners(config))


def learners(config: object) -> Iterator[Mapping[str, Any]]:
    """The settings of those that do."""
    if isinstance(config, Mapping):
        if config.get(REFIT):
            yield config
        for each in config.values():
            yield from learners(each)
    elif isinstance(config, list | tuple):
        for each in config:
            yield from learners(each)
    else:
        yield from learners(getattr(config, "settings", ()))


@contextmanager
def saving(model: Model, path: Path | None) -> Iterator[None]:
    """At the end, also at that by ctrl-C, what was learnt is written; raises BadParameter where no head can learn."""
    if path is None:
        yield
        return
    if HEAD not in model.drafts.own_methods:
        raise BadParameter(
            FLAG, f"{model.name} was not loaded for a draft head; name one with --draft, or leave it out"
        )
    try:
        yield
    except (typer.Exit, KeyboardInterrupt):
        save_draft(model, path)
        raise
    save_draft(model, path)


def save_draft(model: Model, path: Path) -> None:
    """Write what the head learnt, and say what that was; a run that taught it nothing is no failure."""
    try:
        learnt = model.save_draft(path)
    except BadParameter as error:
        notice(f"{FLAG}: nothing is written: {error}")
        return
    before, after = learnt.acceptance
    said = f"kept {after:.3f} of what it drafted at {learnt.places} places, {before:.3f} without what it learnt"
    typer.echo(f"{FLAG}: {path}: the head {said}", err=True)
