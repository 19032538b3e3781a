"""Further figures in the card of a head that is written already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from truedraw.draft.head.file import read_card, with_metadata
from truedraw.whole_files import replacing


def note(path: Path, to: Path, figures: Mapping[str, Any]) -> None:
    """Write the head at `path` to `to`, which may be the same file, with `figures` beside those of its training in its
    card; of two of one name the new one stays. The numbers of the head stay what they are, byte for byte.

    Whole or not at all; raises BadFile for what is no head and where it cannot be written.
    """
    card = read_card(path)
    card = replace(card, training={**card.training, **figures})
    with replacing(to) as fresh:
        fresh.write_bytes(with_metadata(path.read_bytes(), card.to_metadata()))
