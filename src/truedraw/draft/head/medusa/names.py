"""What both formats of Medusa checkpoints are asked for: block.{level}.{layer} and rows.{level}, from 1."""

from __future__ import annotations

import re
from pathlib import Path

from truedraw.draft.head.card import MOST_HEADS
from truedraw.errors import BadFile

MATRIX = re.compile(r"(block|rows)\.(\d+)(?:\.(\d+))?")


def place(name: str) -> tuple[str, int, int]:
    """Kind, head and layer, both from 0; no kind where no such folder has it."""
    found = MATRIX.fullmatch(name)
    return ("", 0, 0) if found is None else (found[1], int(found[2]) - 1, int(found[3] or 1) - 1)


def check_heads(path: Path, heads: int) -> int:
    """As many as may be; raises BadFile."""
    if heads > MOST_HEADS:
        raise BadFile(f"{path} says that it has {heads} heads; {MOST_HEADS} are the most")
    return heads
