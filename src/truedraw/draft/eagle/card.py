"""What `truedraw train draft` leaves beside the tensors of an EAGLE draft; other folders have no such file."""

from __future__ import annotations

from pathlib import Path

from truedraw.errors import BadFile
from truedraw.sampling.values import parsed

CARD, FORMAT, KIND = "training.json", "format", "truedraw eagle draft"


def tokenizer_of(folder: Path) -> str | None:
    """The fingerprint of the tokenizer that a draft was trained for; None where nothing says so. Raises BadFile."""
    try:
        found = parsed((folder / CARD).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadFile(f"{folder / CARD} is damaged: {error}; remove it, the draft does not need it") from error
    if not isinstance(found, dict) or found.get(FORMAT) != KIND:
        return None
    said = found.get("tokenizer")
    return said if isinstance(said, str) else None
