"""Which draft a model is loaded for: its engine must return the hidden states that the draft reads."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.draft.eagle.checkpoint import EagleFolder, is_eagle
from truedraw.draft.eagle.settings import is_mtp
from truedraw.draft.head.file import shipped
from truedraw.draft.head.opening import layers_of
from truedraw.errors import BadModelFile, BadParameter
from truedraw.home_folder import expanded, from_root
from truedraw.models.mtp import CLASSES, PREFIX
from truedraw.sampling.values import shown
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.models import Checkpoint

NO_HEAD = "none"
OWN_LAYERS = "mtp"
READY_MADE = "openvino"  # a kind of checkpoint whose graph shows nothing but logits
HIDDEN = "hidden_layers"  # the option of an engine that can return hidden states
HIDDEN_TEXT = "hidden_text"  # and of the text that scores follow; an engine may lack it


def head_for(draft: str | Path | None, checkpoint: Checkpoint, tokenizer: Tokenizer, kind: Any) -> Path | None:
    """The file: the one named, or what comes with truedraw for this model or with the model itself, if anything does.

    Raises BadParameter where one is named and engines of this class give no hidden states, or the model has no layers
    of its own to draft with.
    """
    check_draft(draft)
    able = checkpoint.kind != READY_MADE and HIDDEN in signature(kind.load).parameters and hasattr(kind, "embedding")
    if draft is None:
        own = checkpoint.path if checkpoint.mtp_layers else None
        return shipped(tokenizer.fingerprint, checkpoint.config) or own if able else None
    if draft == NO_HEAD:
        return None
    if draft == OWN_LAYERS and not checkpoint.mtp_layers:
        raise BadParameter(
            "draft",
            f"{checkpoint.name} carries no MTP layers ({PREFIX}* in a folder of {', '.join(CLASSES)}); "
            "leave it out, or name a draft that was trained for this model",
        )
    if not able:
        raise BadParameter("draft", f"{checkpoint.name} gives no hidden states, which a draft head reads; leave it out")
    return checkpoint.path if draft == OWN_LAYERS else from_root(expanded(draft))


def check_draft(draft: object) -> None:
    """Raises BadParameter for what names no file."""
    if not isinstance(draft, str | Path | None):
        raise BadParameter(
            "draft", f'got {shown(draft)}; give a file of `truedraw train draft`, "{OWN_LAYERS}" or "{NO_HEAD}"'
        )


def options_for(head: Path | None, num_layers: int, kind: Any) -> dict[str, Any]:
    """What an engine of this class is to be told, for a target of so many layers; raises BadFile, BadParameter."""
    if head is None:
        return {}
    if is_eagle(head):
        text = {HIDDEN_TEXT: True} if HIDDEN_TEXT in signature(kind.load).parameters else {}
        return {HIDDEN: _folder(head).layers(num_layers), **text}
    return {HIDDEN: layers_of(head)}


def _folder(path: Path) -> EagleFolder:
    try:
        return EagleFolder(path)
    except BadModelFile as error:
        if not is_mtp(path):
            raise
        raise BadModelFile(
            f'{error}; with "{NO_HEAD}" as draft (--draft) a model runs without its MTP layers'
        ) from error
