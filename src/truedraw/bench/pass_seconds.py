"""What passes of a model take on this machine: the table that drafts are weighed by."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truedraw.models import Checkpoint


def pass_seconds(checkpoint: Checkpoint, cache: Path | None = None) -> dict[str, Any] | None:
    """Seconds {"rows": by rows of one text, "texts": by texts with one row each, "further": by rows of one text, of
    each token of it beyond the "length" that the others were measured with}, measured anew and recorded.

    None where the model cannot be timed. Raises what loading raises.
    """
    from truedraw.engine.cpu import CPUEngine

    with closing(CPUEngine.load(checkpoint, cache=cache)) as engine:
        table = engine.pass_costs(anew=True)
    return None if table is None else asdict(table)
