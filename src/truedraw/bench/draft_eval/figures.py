"""What an evaluation says of a head, for its card: short, and by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from truedraw.bench.draft_eval.rounds import INDEPENDENT

EVALUATED, SECTIONS = "evaluated", "temperatures"
"""In a card: {name of the prompts: a set of figures}; and in a set: {temperature: figures}."""
BUILT_IN = "built-in prompts"
DIGITS = 4
Found = Mapping[str, Any]


def figures(found: Found, training: Found) -> dict[str, Any]:
    """Of what `truedraw train eval` found, beside what the card has of other prompts; `training` is the card's."""
    from truedraw.bench.draft_eval.conditions import conditions

    before, mine = training.get(EVALUATED, {}), conditions(found)
    name = _place(before, found["prompts_from"], mine)
    earlier = before.get(name, {}).get(SECTIONS, {})
    sections = {f"{each['temperature']:g}": _section(each) for each in found["temperatures"]}
    return {EVALUATED: {**before, name: {**mine, SECTIONS: {**earlier, **sections}}}}


def weak_places(evaluated: Found) -> list[str]:
    """The categories of which a head keeps less than of all together, as far as can be told from so many texts."""
    found = []
    for temperature, section in evaluated[SECTIONS].items():
        whole = section["acceptance"][0]
        for name, each in section["by_category"].items():
            first = each["acceptance"][0]
            if whole and first and first["high"] is not None and first["high"] < whole["mean"]:
                found.append(
                    f"{name}, T = {temperature}: {first['mean']:.3f} ({first['low']:.3f} to {first['high']:.3f}) of "
                    f"first drafts kept, {whole['mean']:.3f} over all"
                )
    return found


def _place(before: Found, name: str, mine: Found) -> str:
    """The name of a set: with other temperatures of it, or, where a different one has the name, with a number."""
    names = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(each for each in names if each not in before or _without_sections(before[each]) == mine)


def _without_sections(one: Found) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name != SECTIONS}


def _section(section: Found) -> dict[str, Any]:
    best = section["predicted_speedup"][INDEPENDENT]["best"]
    speedups = {name: rounded(each["speedup"]) for name, each in section["measured"].items()}
    categories = {
        name: {**_acceptance(each), **_tokens(each["tokens_per_round"])}
        for name, each in section["by_category"].items()
    }
    return {
        **_acceptance(section),
        **_tokens(section["tokens_per_round"]),
        "predicted_speedup": {name: rounded(each) for name, each in best.items()},
        "measured_speedup": speedups,
        "by_category": categories if len(categories) > 1 else {},
    }


def _acceptance(section: Found) -> dict[str, Any]:
    return {"texts": section["texts"], "places": section["places"], "acceptance": _all(section["acceptance"])}


def _tokens(rounds: Found) -> dict[str, Any]:
    """By draft tokens in a chain and in a tree, without a seed."""
    return {"tokens_per_round": {kind: _all(rounds[INDEPENDENT][kind]) for kind in ("chain", "tree")}}


def _all(values: Sequence[Found | None]) -> list[dict[str, Any] | None]:
    return [rounded(each) for each in values]


def rounded(values: Found | None) -> dict[str, Any] | None:
    """To what can be meant."""
    if values is None:
        return None
    return {name: round(each, DIGITS) if isinstance(each, float) else each for name, each in values.items()}
