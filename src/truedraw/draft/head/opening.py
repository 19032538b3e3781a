"""From a file to a head that is ready for one target."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from truedraw.draft.head.card import UNKNOWN, Card
from truedraw.draft.head.cell import Cell, Chosen
from truedraw.draft.head.file import HeadFile, Numbers, read_card
from truedraw.draft.head.medusa.folder import is_medusa, open_medusa
from truedraw.draft.head.refit.file import corrected
from truedraw.draft.site import ANOTHER, Models
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadParameter
from truedraw.protocol.able import is_able

ANY_LAYER = (0,)
"""What an engine is to be loaded for where a head reads the final norm's output alone: it comes with some stream."""


class Head(NamedTuple):
    """A network and what its card says of candidates. levels: the last one that it has; None: there is none."""

    cell: Cell
    siblings: tuple[float, ...]
    levels: int | None = None
    card: Card | None = None


@runtime_checkable
class Readable(Protocol):
    """An engine whose hidden states and embedding can be read. Where it has `kept_in`, a folder for what is to be found
    again, what is made of heads is kept there; and see TargetRows for `crew` and `embedding_blocks`."""

    hidden_layers: tuple[int, ...] | None  # residual streams that come with every score; None: no hidden states do
    hidden_size: int

    def embedding(self) -> Matrix:
        """[vocab, width]."""
        ...


def open_head(path: Path, models: Models, threads: int | None = None) -> Head:
    """The head of a file, compiled for the target; threads: None is every core. Raises BadParameter, BadFile."""
    file: Numbers = open_medusa(path, models.vocab_size) if is_medusa(path) else HeadFile(path)
    return head_of(file, path, models, threads)


def head_of(file: Numbers, path: Path, models: Models, threads: int | None = None) -> Head:
    """The same of a file that has been read from `path`."""
    target: Any = models.target
    check(file.card, path, models)
    from truedraw.draft.head.compiled import TargetRows
    from truedraw.draft.head.kinds import cell_of

    embedding = target.embedding()
    output = target.unembedding() if hasattr(target, "unembedding") else embedding
    lent = (getattr(target, name, None) for name in ("crew", "embedding_blocks", "kept_in"))
    bare = cell_of(file, TargetRows(embedding, output, *lent), threads)
    getattr(target, "let_go", lambda: None)()  # of all rows but those that the head has copied
    cell = corrected(reading(bare, file.card.layers, target.hidden_layers), file)
    return Head(cell, file.card.siblings, file.card.heads, file.card)


def layers_of(path: Path) -> tuple[int, ...]:
    """What an engine is to be loaded for; raises BadFile for what is no head."""
    return (() if is_medusa(path) else read_card(path).layers) or ANY_LAYER


def reading(cell: Cell, layers: tuple[int, ...], returned: tuple[int, ...]) -> Cell:
    """The cell behind an engine that returns these layers' streams, or more."""
    if layers == returned:
        return cell
    return Chosen(cell, np.array([*(returned.index(layer) for layer in layers), len(returned)]))


def check_readable(models: Models) -> None:
    """Raises BadParameter where the target's engine is none that a draft can read."""
    if not is_able(models.target, Readable):
        raise BadParameter(
            "method",
            f"such a draft reads hidden states, and the engine of {models.name} shows none {ANOTHER}",
        )


def check(card: Card, path: Path, models: Models) -> None:
    """Raises BadParameter where the head is another target's, or the target was not loaded for it."""
    target: Any = models.target
    name = "head_path"
    check_readable(models)
    if card.tokenizer not in (UNKNOWN, models.tokenizer.fingerprint):
        raise BadParameter(name, f"{path} drafts tokens of {card.target}, and those of {models.name} are others")
    if card.width != target.hidden_size or card.vocab_size != target.vocab_size:
        raise BadParameter(
            name,
            f"{path} reads hidden states of {card.width} numbers over {card.vocab_size} tokens (a head for "
            f"{card.target}); {models.name} has {target.hidden_size} and {target.vocab_size}",
        )
    if target.hidden_layers is None or not set(card.layers) <= set(target.hidden_layers):
        raise BadParameter(
            name,
            f"{path} reads the layers {card.layers}, and {models.name} was not loaded for them; give the file as draft "
            "(--draft) when the model is loaded",
        )
