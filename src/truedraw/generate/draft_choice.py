"""Which draft a method draws from: the one that is named, or the one that the target was loaded for.

`loaded` is that one's file or folder, None where there is none. All raise BadParameter, also where the engine of the
target shows no hidden states, which all drafts of files read.
"""

from __future__ import annotations

from pathlib import Path

from truedraw.draft.eagle.checkpoint import holds_eagle, is_eagle
from truedraw.draft.eagle.settings import is_mtp
from truedraw.draft.head.card import ATTENTIVE
from truedraw.draft.head.file import read_card
from truedraw.draft.head.medusa.folder import is_medusa
from truedraw.draft.head.opening import check_readable
from truedraw.draft.several import ALWAYS_GOOD, WITH_ATTENTION, WITH_EAGLE, WITH_HEAD
from truedraw.draft.site import Models
from truedraw.errors import BadParameter
from truedraw.home_folder import expanded, from_root
from truedraw.sampling.values import shown

WITH_MTP = (*ALWAYS_GOOD, "mtp")


def auto_sources(loaded: Path | None) -> tuple[str, ...]:
    """What the method auto drafts with unless it is told."""
    if loaded is None:
        return ALWAYS_GOOD
    if is_mtp(loaded):
        return WITH_MTP
    if is_eagle(loaded):
        return WITH_EAGLE
    return WITH_ATTENTION if looks_back(loaded) else WITH_HEAD


def looks_back(head: Path) -> bool:
    """Whether a head's network has attention; raises BadFile."""
    return not is_medusa(head) and read_card(head).kind == ATTENTIVE


def own_methods(loaded: Path | None) -> tuple[str, ...]:
    """The methods that draw from it and need nothing else."""
    if loaded is None:
        return ()
    if is_mtp(loaded):
        return ("mtp",)
    return ("eagle",) if is_eagle(loaded) else ("head", "head-ngram")


def head_file(path: str | Path | None, loaded: Path | None, models: Models) -> Path:
    """For the methods over a head."""
    if not isinstance(path, str | Path | None) or path == "":
        raise BadParameter("head_path", f"got {shown(path)}; give a file of `truedraw train draft`")
    check_readable(models)
    chosen = path or loaded
    if chosen is None:
        raise BadParameter(
            "method",
            f"{models.name} was not loaded for a draft head; `truedraw train draft` makes one, to be named in draft",
        )
    file = from_root(expanded(chosen))
    if is_mtp(file):
        raise _holds_mtp(file)
    if holds_eagle(file):
        raise BadParameter(
            "method", f'{chosen} holds an EAGLE draft, which the method "eagle" draws from (--spec-method eagle)'
        )
    if is_eagle(file):
        raise BadParameter(
            "head_path",
            f"{chosen} is a folder that holds no draft; give a file of `truedraw train draft` or the folder of a "
            "Medusa checkpoint",
        )
    return file


def eagle_folder(path: str | Path | None, loaded: Path | None, models: Models) -> Path:
    """For the method eagle."""
    if not isinstance(path, str | Path | None) or path == "":
        raise BadParameter("eagle_path", f"got {shown(path)}; give the folder of an EAGLE draft")
    check_readable(models)
    chosen = path or loaded
    if chosen is None or (path is None and not is_eagle(Path(chosen))):
        raise BadParameter(
            "method", f"{models.name} was not loaded for an EAGLE draft; name its folder in draft (--draft)"
        )
    folder = from_root(expanded(chosen))
    if is_mtp(folder):
        raise _holds_mtp(folder)
    if folder.is_file():
        raise BadParameter(
            "eagle_path",
            f'{chosen} is a file; give the folder of an EAGLE draft (a head is a file: the method "head" takes it as '
            "head_path)",
        )
    return folder


def mtp_folder(loaded: Path | None, models: Models) -> Path:
    """For the method mtp."""
    check_readable(models)
    if loaded is None or not is_mtp(loaded):
        raise BadParameter(
            "method",
            f"{models.name} was not loaded for MTP layers: its checkpoint carries none, or another draft was asked "
            'for; where it carries some (see docs/drafts.md), give "mtp" as draft (--draft) or leave that out',
        )
    return loaded


def _holds_mtp(folder: Path) -> BadParameter:
    return BadParameter(
        "method", f'{folder} is a model with MTP layers, which the method "mtp" draws from (--spec-method mtp)'
    )
