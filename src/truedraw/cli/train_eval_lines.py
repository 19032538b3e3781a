"""What truedraw train eval found, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.cli.statistics import counted
from truedraw.sampling.values import UNKNOWN, number

LABEL, CELL = 34, 8  # characters


def lines(found: Mapping[str, Any]) -> list[str]:
    """A block for each temperature."""
    head = found["head"]
    title = f"{found['model']}: {found['speculation']['method']}" + ("" if head is None else f" ({head['file']})")
    return [title, *(line for section in found["temperatures"] for line in block(section))]


def block(section: Mapping[str, Any]) -> list[str]:
    """One temperature."""
    texts = counted(section["texts"], "text")
    return [
        "",
        f"T = {section['temperature']:g}, {section['places']} places in {texts}",
        row("draft behind the text", [str(place + 1) for place in range(len(section["acceptance"]))]),
        row("  kept by the p/q rules", shares(section["acceptance"])),
        row("  met with a seed", shares(section["match"])),
        *(row(f"  p/q, {name}", shares(each["acceptance"])) for name, each in categories(section).items()),
        row("candidate at a place, all depths", ["1", "2", "3", "4"]),
        *(
            row(f"  kept, {rule}", [UNKNOWN if each is None else share(each) for each in values])
            for rule, values in section["candidates"].items()
        ),
        *rounds(section),
        *costs(section["seconds"]),
        *timings(section["measured"]),
    ]


def categories(section: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nothing to say of one."""
    found: Mapping[str, Any] = section["by_category"]
    return found if len(found) > 1 else {}


def rounds(section: Mapping[str, Any]) -> list[str]:
    """Tokens a round and what they promise, by drafts in the chain and in the tree."""
    found = []
    for kind in ("chain", "tree"):
        tokens = {rule: each[kind] for rule, each in section["tokens_per_round"].items()}
        gains = {rule: each[kind] for rule, each in section["predicted_speedup"].items()}
        found.append(row(f"drafts in a {kind}", [str(place + 1) for place in range(len(next(iter(tokens.values()))))]))
        found += [row(f"  tokens a round, {rule}", means(values)) for rule, values in tokens.items()]
        found += [row(f"    p/q, {name}", means(each["tokens_per_round"]["p/q"][kind]))
                  for name, each in categories(section).items()]  # fmt: skip
        found += [row(f"  predicted speed-up, {rule}", decimals(values)) for rule, values in gains.items()]
    return found


def costs(seconds: Mapping[str, Any]) -> list[str]:
    """Of the head's network, of a plain pass."""
    found = seconds["network_of_a_pass"]
    if not found:
        return []
    calls = [f"{name} {', '.join(f'{rows} rows {each:.1%}' for rows, each in each_call.items())}"
             for name, each_call in found.items()]  # fmt: skip
    return [f"a call of the network, of a plain pass of {seconds['pass'][1] * 1e3:.1f} ms: {'; '.join(calls)}"]


def timings(measured: Mapping[str, Any]) -> list[str]:
    """End to end."""
    return [f"measured speed-up, {name}: {ends(each['speedup'])}, {number(each['tokens_per_round'], '.2f')} tokens a "
            f"round, {each['identical_texts']['count']} of {each['identical_texts']['of']} texts identical"
            for name, each in measured.items()]  # fmt: skip


def row(label: str, cells: Sequence[str]) -> str:
    """A label and right-aligned cells."""
    return f"{label:<{LABEL}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def shares(values: Sequence[Mapping[str, float] | None]) -> list[str]:
    """Means between 0 and 1."""
    return [UNKNOWN if value is None else share(value["mean"]) for value in values]


def share(value: float) -> str:
    """Of 1."""
    return f"{value:.3f}"


def means(values: Sequence[Mapping[str, float] | None]) -> list[str]:
    """Of tokens."""
    return [UNKNOWN if value is None else f"{value['mean']:.2f}" for value in values]


def decimals(values: Sequence[float | None]) -> list[str]:
    """Of speeds."""
    return [number(value, ".2f") for value in values]


def ends(speed: Mapping[str, float | None]) -> str:
    """A median with its interval."""
    found = f"{speed['median']:.2f}"
    return found if speed["low"] is None else f"{found} ({speed['low']:.2f} to {speed['high']:.2f})"
