"""From a file to a head that is ready for one target."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from truedraw.draft.head.card import Card
from truedraw.draft.head.cell import Cell
from truedraw.draft.head.file import HeadFile
from truedraw.draft.site import Models
from truedraw.engine.openvino.weights import Matrix
from truedraw.errors import BadParameter


class Head(NamedTuple):
    """A network and what its card says of candidates."""

    cell: Cell
    siblings: tuple[float, ...]


@runtime_checkable
class Readable(Protocol):
    """An engine whose hidden states and embedding can be read."""

    hidden_layers: tuple[int, ...] | None  # residual streams that come with every score; None: no hidden states do
    hidden_size: int

    def embedding(self) -> Matrix:
        """[vocab, width]."""
        ...


def open_head(path: Path, models: Models, threads: int | None = None) -> Head:
    """The head of a file, compiled for the target; threads: None is every core. Raises BadParameter, BadFile."""
    file = HeadFile(path)
    target: Any = models.target
    check(file.card, path, models)
    from truedraw.draft.head.compiled import CompiledCell

    return Head(CompiledCell(file, target.embedding(), threads), file.card.siblings)


def check(card: Card, path: Path, models: Models) -> None:
    """Raises BadParameter where the head is another target's, or the target was not loaded for it."""
    target, name = models.target, "head_path"
    if not isinstance(target, Readable):
        raise BadParameter("method", f"a draft head reads hidden states, and the engine of {models.name} has none")
    if card.tokenizer != models.tokenizer.fingerprint:
        raise BadParameter(name, f"{path} drafts tokens of {card.target}, and those of {models.name} are others")
    if card.width != target.hidden_size or card.vocab_size != target.vocab_size:
        raise BadParameter(
            name,
            f"{path} reads hidden states of {card.width} numbers over {card.vocab_size} tokens (a head for "
            f"{card.target}); {models.name} has {target.hidden_size} and {target.vocab_size}",
        )
    if target.hidden_layers != card.layers:
        raise BadParameter(
            name,
            f"{path} reads the layers {card.layers}, and {models.name} was not loaded for them; give the file as draft "
            "(--draft) when the model is loaded",
        )
