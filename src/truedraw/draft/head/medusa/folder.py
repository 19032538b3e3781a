"""Which folders are Medusa checkpoints, and in which of the formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truedraw.draft.head.file import Numbers
from truedraw.draft.head.medusa.blocks import MedusaBlocks, says_blocks
from truedraw.draft.head.medusa.own import HEADS, WEIGHTS, MedusaFolder
from truedraw.models.fields import Fields

CONFIG = "config.json"


def is_medusa(path: Path) -> bool:
    """Whether it is such a folder, as far as its config says."""
    said = _config(path)
    return said.get(HEADS) is not None or says_blocks(said)


def open_medusa(path: Path, vocab_size: int) -> Numbers:
    """The numbers of such a folder, for a target of `vocab_size` rows; raises BadFile."""
    said = _config(path)
    fields = Fields(path / CONFIG, said)
    if says_blocks(said) and not _is_own(path):
        return MedusaBlocks(path, fields, vocab_size)
    return MedusaFolder(path, fields, vocab_size)


def _is_own(path: Path) -> bool:
    """Whether weights lie there as Medusa's own repository has them."""
    return any((path / name).is_file() for name in WEIGHTS)


def _config(path: Path) -> dict[str, Any]:
    """Nothing where there is none, or something else."""
    try:
        found = json.loads((path / CONFIG).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
