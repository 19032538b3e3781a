"""What was found, as numbers: from stored results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.distill.comparison.intervals import TOKENS, Means, best_of, less, means_of, told
from truedraw.distill.comparison.seen import Sums
from truedraw.errors import BadFile

HELD_OUT, PROMPTS = "held-out texts", "test prompts"
SECTIONS = (HELD_OUT, PROMPTS)
HOW = ("steps", "best_step", "trained_tokens", "seconds", "final_loss", "stopped")
"""What is told of each training."""
Record = Mapping[str, Any]


def sections(records: Sequence[Record], path: object) -> list[dict[str, Any]]:
    """One for each kind of texts and each temperature that was measured; raises BadFile for what does not fit."""
    found = []
    for kind in SECTIONS:
        measured = {each["loss"]: each["measured"][kind] for each in records if kind in each["measured"]}
        for temperature in next(iter(measured.values()), {}):
            sums = {loss: _sums(each, temperature, path) for loss, each in measured.items()}
            found.append({"texts_of": kind, "temperature": float(temperature), **section(sums, path)})
    return found


def section(sums: Mapping[str, Sums], path: object) -> dict[str, Any]:
    """Losses beside one another, measured at the same rows of the same texts."""
    first = next(iter(sums.values()))
    if any(
        each.rows.tolist() != first.rows.tolist() or each.values.shape != first.values.shape for each in sums.values()
    ):
        raise BadFile(f"{path} holds results of different texts; give --overwrite, or another --work")
    means = means_of(sums)
    best = best_of(means)
    return {
        "texts": len(first.rows),
        "rows": int(first.rows.sum()),
        "best": best,
        "losses": {
            name: {**_numbers(each), "to_the_best": _numbers(less(each, means[best]))} for name, each in means.items()
        },
    }


def trainings(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """How each loss was trained."""
    return {each["loss"]: {name: each[name] for name in HOW} for each in records}


def _sums(measured: Mapping[str, Any], temperature: str, path: object) -> Sums:
    return Sums.from_json(measured.get(temperature, {}), path)


def _numbers(means: Means) -> dict[str, Any]:
    columns = told(means)
    return {"acceptance": columns[:TOKENS], "tokens_per_round": columns[TOKENS]}
