"""What drafters take beside the passes of one model, kept in a file of the cache folder."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truedraw.engine.record_files import read_record, write_record
from truedraw.protocol import DraftCost


class KeptCosts:
    """Those of one model and way of computing on this machine, in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> list[DraftCost]:
        """Those of the record; none where there is none, or a damaged one."""
        try:
            return [_checked(each) for each in _listed(read_record(self._file))]
        except (OSError, ValueError, TypeError, OverflowError):
            return []

    def write(self, costs: Seq[DraftCost]) -> None:
        """Instead of what is there; whole or not at all."""
        write_record(self._file, [asdict(cost) for cost in costs])


def _listed(values: Any) -> list[dict[str, Any]]:
    if not isinstance(values, list):
        raise ValueError("not a list of drafters")
    return values


def _checked(values: dict[str, Any]) -> DraftCost:
    """Of a record; raises ValueError, TypeError or OverflowError where it is damaged."""
    cost = DraftCost(**values)
    numbers = [cost.call, cost.token, cost.level, *([] if cost.further is None else [cost.further])]
    if not isinstance(cost.source, str) or not isinstance(cost.coupled, bool):
        raise ValueError("not a drafter")
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in numbers):
        raise ValueError("not numbers")
    return DraftCost(cost.source, cost.coupled, *map(float, numbers))
