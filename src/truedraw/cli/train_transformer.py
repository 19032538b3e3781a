"""The flags of `truedraw train draft --kind transformer`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from truedraw.cli.grouping import flag
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.distill.plan import Sizes

PANEL = "Transformer (--kind transformer)"


@dataclass(frozen=True, slots=True)
class TransformerFlags:
    """Its sizes."""

    width: Annotated[
        int | None,
        flag("--width", help="Numbers of a hidden state; 192, or the model's own width if that is less.", min=2,
             rich_help_panel=PANEL),
    ] = None  # fmt: skip
    depth: Annotated[int | None, flag("--depth", help="Layers; 2 if not given.", min=1, rich_help_panel=PANEL)] = None
    attention_heads: Annotated[
        int | None,
        flag("--attention-heads", help="One for 64 of the width if not given.", min=1, rich_help_panel=PANEL),
    ] = None


def sizes_of(flags: TransformerFlags, kind: str) -> Sizes:
    """Raises BadParameter for sizes of another kind."""
    from truedraw.distill.plan import DEPTH, EAGLE3, TRANSFORMER, Sizes
    from truedraw.draft.head.card import called

    given = {"--width": flags.width, "--depth": flags.depth, "--attention-heads": flags.attention_heads}
    for name, value in given.items():
        if value is not None and kind != TRANSFORMER:
            what = f"an {kind} draft" if kind == EAGLE3 else called(kind)
            raise BadParameter(name, f"{what} has the model's sizes; leave it out, or give --kind {TRANSFORMER}")
    return Sizes(flags.width, flags.depth or DEPTH, flags.attention_heads)
