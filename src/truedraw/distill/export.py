"""From trained weights to a head's file: matrices of int8, and a card with what was measured as these are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.checkpoint import Arrays
from truedraw.distill.evaluation import LAST_ROWS, MEASURED, measured, siblings
from truedraw.distill.head import Head
from truedraw.distill.network import Network, inverse
from truedraw.distill.rows import Rows
from truedraw.distill.starting import KNOWN, SCALE, WEIGHT, rounded
from truedraw.draft.head import four_bits
from truedraw.draft.head.card import Card
from truedraw.draft.head.file import write_head
from truedraw.engine.constants.matrix import Matrix, dense
from truedraw.engine.constants.rounding import codes_of

if TYPE_CHECKING:
    from truedraw.generate.model import Model

SIBLING_ROWS = 2000  # of held-out text that are measured at last


class Target(NamedTuple):
    """For whom a head is."""

    name: str
    tokenizer: str  # fingerprint
    vocab_size: int
    width: int
    layers: tuple[int, ...]

    @classmethod
    def of(cls, model: Model) -> Target:
        """A model whose engine returns hidden states."""
        engine: Any = model.engine
        sizes = engine.vocab_size, engine.hidden_size
        return cls(model.name, model.tokenizer.fingerprint, *sizes, tuple(engine.hidden_layers))


def figures(head: Head, best: Arrays, data: Rows, seed: int) -> dict[str, Any]:
    """Acceptance by position at each temperature, and of candidates, as drafts are made."""
    read = as_read(head, best)
    by_temperature = {f"{each:g}": measured(read, data, each, LAST_ROWS).to_json() for each in MEASURED}
    kept = siblings(read, data, SIBLING_ROWS, seed)
    return {
        "held_out": by_temperature,
        "siblings": [round(each, 4) for each in kept.given],
        "kept_within": [round(each, 4) for each in kept.within],
    }


def export(path: Path, target: Target, head: Head, best: Arrays, training: Mapping[str, Any]) -> None:
    """Whole or not at all; `training` is what figures() says, and more. Raises BadFile."""
    network = head.network
    card = Card(
        network.kind,
        target.name,
        target.tokenizer,
        target.vocab_size,
        target.width,
        target.layers if network.reads_streams else (),
        len(best[KNOWN]),
        tuple(training["siblings"]),
        dict(training),
        network.levels,
    )
    values = _folded(network, best)
    matrices = {name: values[name] for name in network.matrices}
    write_head(path, card, best[KNOWN], matrices, {name: values[name] for name in network.vectors})


def as_read(head: Head, best: Arrays) -> Head:
    """As drafts are made with it: some matrices are rounded once more when they are read (draft/head/four_bits.py)."""
    import torch

    read = partial(four_bits.as_read, head.network.kind)
    readout = torch.from_numpy(dense(read(four_bits.WRITTEN, Matrix(head.known.readout.numpy()))))
    return _rounded(head._replace(known=head.known._replace(readout=readout)), best, read)


def _rounded(head: Head, best: Arrays, read: Callable[[str, Matrix], Matrix]) -> Head:
    network, values = head.network, _folded(head.network, best)
    again = {name: dense(read(name, codes_of(values[name]))) for name in network.matrices}
    return rounded(head, network.folded({**values, **again}, inverse(best[SCALE])))


def _folded(network: Network, best: Arrays) -> Arrays:
    """Its weights, for features that are not scaled."""
    values = {name: best[WEIGHT + name] for name in (*network.matrices, *network.vectors)}
    return network.folded(values, best[SCALE])
