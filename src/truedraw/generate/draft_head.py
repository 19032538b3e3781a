"""Which draft head a model is loaded for: its engine must return the hidden states that the head reads."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.draft.eagle.checkpoint import EagleFolder, is_eagle
from truedraw.draft.head.file import shipped
from truedraw.draft.head.opening import layers_of
from truedraw.errors import BadParameter
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.models import Checkpoint

NO_HEAD = "none"
HIDDEN = "hidden_layers"  # the option of an engine that can return hidden states
HIDDEN_TEXT = "hidden_text"  # and of the text that scores follow; an engine may lack it


def head_for(draft: str | Path | None, checkpoint: Checkpoint, tokenizer: Tokenizer, kind: Any) -> Path | None:
    """The file: the one named, or the one that comes with truedraw for this model, if one does.

    Raises BadParameter where one is named and engines of this class give no hidden states.
    """
    check_draft(draft)
    able = checkpoint.weights is not None and HIDDEN in signature(kind.load).parameters and hasattr(kind, "embedding")
    if draft is None:
        return shipped(tokenizer.fingerprint, checkpoint.config) if able else None
    if draft == NO_HEAD:
        return None
    if not able:
        raise BadParameter("draft", f"{checkpoint.name} gives no hidden states, which a draft head reads; leave it out")
    return Path(draft).expanduser()


def check_draft(draft: object) -> None:
    """Raises BadParameter for what names no file."""
    if not isinstance(draft, str | Path | None):
        raise BadParameter("draft", f'got {draft!r:.60}; give a file of `truedraw train draft`, or "{NO_HEAD}"')


def options_for(head: Path | None, num_layers: int, kind: Any) -> dict[str, Any]:
    """What an engine of this class is to be told, for a target of so many layers; raises BadFile, BadParameter."""
    if head is None:
        return {}
    if is_eagle(head):
        text = {HIDDEN_TEXT: True} if HIDDEN_TEXT in signature(kind.load).parameters else {}
        return {HIDDEN: EagleFolder(head).layers(num_layers), **text}
    return {HIDDEN: layers_of(head)}
