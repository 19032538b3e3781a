"""From a folder to a draft that is ready for one target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.draft.eagle.card import tokenizer_of
from truedraw.draft.eagle.checkpoint import EagleFolder
from truedraw.draft.head.card import FALLING
from truedraw.draft.head.opening import check_readable
from truedraw.draft.site import Models
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.draft.eagle.network import Network


class Eagle(NamedTuple):
    """A network, and what is thought of candidates before any is seen."""

    network: Network
    siblings: tuple[float, ...] = FALLING


def open_eagle(path: Path, models: Models, threads: int | None = None) -> Eagle:
    """The draft of a folder, compiled for the target; threads: None is every core. Raises BadParameter, BadFile."""
    target: Any = models.target
    check_readable(models)
    folder = EagleFolder(path)
    check(folder, models)
    from truedraw.draft.eagle.network import CompiledNetwork

    streams = streams_of(folder, target.num_layers, target.hidden_layers)
    return Eagle(CompiledNetwork(folder, (target.embedding(), target.unembedding()), streams, threads))


def streams_of(folder: EagleFolder, num_layers: int, shown: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of the hidden states to be read, in what an engine shows: of these layers, then of the final norm."""
    if folder.is_third or folder.is_mtp:
        return tuple(shown.index(layer) for layer in folder.layers(num_layers))
    return (len(shown),)


def check(folder: EagleFolder, models: Models) -> None:
    """Raises BadParameter where the draft is another target's, or the target was not loaded for it."""
    target: Any = models.target
    name, config = "draft" if folder.is_mtp else "eagle_path", folder.config
    if (folder.target_width, config.vocab_size) != (target.hidden_size, target.vocab_size):
        raise BadParameter(
            name,
            f"{folder.path} reads hidden states of {folder.target_width} numbers over {config.vocab_size} tokens; "
            f"{models.name} has {target.hidden_size} and {target.vocab_size}",
        )
    if tokenizer_of(folder.path) not in (None, models.tokenizer.fingerprint):
        raise BadParameter(name, f"{folder.path} was trained for another tokenizer than that of {models.name}")
    layers = folder.layers(target.num_layers)
    if target.hidden_layers is None or not {*layers} <= {*target.hidden_layers}:
        raise BadParameter(
            name,
            f"{folder.path} reads the layers {layers}, and {models.name} was not loaded for them; give the folder as "
            "draft (--draft) when the model is loaded",
        )
