"""What `truedraw train draft` writes where nobody names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEAD_FILE = "head.safetensors"
OUTPUTS = {"transformer": "draft-model", "eagle3": "eagle-draft"}  # of other kinds

WORKED_ON = "texts.jsonl", "features.*", "rows.bin", "*.checkpoint", "*.settings.json"
"""What files are called that are written in --work itself."""


def default_output(kind: str | None) -> Path:
    """Of a draft of this kind, None for the usual one."""
    return Path(OUTPUTS.get(kind or "", HEAD_FILE))


def written_too(values: Mapping[str, Any]) -> list[Path]:
    """The report beside --output, and all that stands in the folder of a draft that is to be replaced."""
    from truedraw.distill.plan import PAGE, beside
    from truedraw.draft.eagle.card import CARD

    output = values["output"] or default_output(values["kind"])
    if not output.name:
        return []
    inside = output.rglob("*") if (output / CARD).is_file() else ()
    return [beside(output, PAGE), *(each for each in inside if each.is_file())]


def worked_on(values: Mapping[str, Any]) -> list[Path]:
    """What is there in --work that --overwrite begins anew."""
    work = values["work"]
    return [] if work is None else [each for pattern in WORKED_ON for each in work.glob(pattern) if each.is_file()]
