"""Whether the lines of a journal of results are what a comparison writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from truedraw.distill.comparison.seen import Sums
from truedraw.distill.comparison.told import HELD_OUT, SECTIONS
from truedraw.distill.evaluation import MEASURED
from truedraw.distill.read_values import LARGEST, is_number, is_whole
from truedraw.distill.state import RIGHT as OF_STATE
from truedraw.errors import BadFile

Record = dict[str, Any]
TEMPERATURES = [f"{each:g}" for each in MEASURED]


def checked(records: Iterable[Record], path: object) -> Iterator[Record]:
    """Lines of losses that are done; raises BadFile."""
    for record in records:
        if not all(name in record and is_right(record[name]) for name, is_right in RIGHT.items()):
            raise BadFile(f"{path} holds a line that is no result of ours; give --overwrite, or another --work")
        for each in record["measured"].values():
            for temperature in TEMPERATURES:
                Sums.from_json(each[temperature], path)
        yield record


def _is_measured(value: Any) -> bool:
    """By kind of texts, then by temperature."""
    if not isinstance(value, Mapping) or HELD_OUT not in value or not value.keys() <= set(SECTIONS):
        return False
    return all(isinstance(each, Mapping) and [*each] == TEMPERATURES for each in value.values())


RIGHT: dict[str, Callable[[Any], bool]] = {
    "loss": lambda value: isinstance(value, str),
    **dict.fromkeys(("steps", "best_step", "trained_tokens"), is_whole),
    "seconds": is_number,
    "final_loss": lambda value: is_number(value, -LARGEST),
    "stopped": lambda value: value is None or isinstance(value, str),
    "looks": lambda value: bool(value) and OF_STATE["looks"](value),
    "measured": _is_measured,
}
"""What each fact has to be."""
