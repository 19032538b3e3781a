"""Why so much was drafted, by whom, and what came of it: in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from truedraw.cli.statistics import counted
from truedraw.sampling.values import number

if TYPE_CHECKING:
    from truedraw.control.explanation import Explanation
    from truedraw.generate.speculation import Speculation

MOST_WIDTHS = 4  # the most frequent ones; many texts that come and go have dozens


def explained(explanation: Explanation | None, speculation: Speculation) -> dict[str, Any]:
    """For JSON; where nothing was chosen, why."""
    if explanation is None:
        return {"method": speculation.method, "chosen": False, "why": settled(speculation)}
    return {"method": speculation.method, "chosen": True, **explanation.to_dict()}


def settled(speculation: Speculation) -> str:
    """Why there was nothing to choose."""
    from truedraw.generate.speculation import OFF

    if speculation.method == OFF or not speculation.num_speculative_tokens:
        return "plain sampling was asked for"
    return f"adaptive is false: every round drafts {speculation.num_speculative_tokens} tokens at most, paying or not"


def in_words(found: Mapping[str, Any]) -> str:
    """What `explained` says, in lines."""
    if not found["chosen"]:
        return f"why: nothing was chosen; {found['why']}"
    rounds, drafted = found["rounds"], found["draft_rounds"]
    lines = [f"why: {drafted} of {counted(rounds, 'round')} drafted", *speeds(found)]
    lines += [f"  {name}: {drafter(use)}" for name, use in found["drafters"].items()]
    lines += [f"  {line}" for line in (*preferences(found), *widths(found), *map(stay, found["plain"]))]
    return "\n".join(lines)


def speeds(found: Mapping[str, Any]) -> Iterator[str]:
    """The speed-up that was counted on and the one that came."""
    predicted, actual = found["predicted_speedup"], found["actual_speedup"]
    if predicted is not None or actual is not None:
        yield (
            f"  speed-up over plain: {number(predicted, '.2f')} predicted by chances and costs, "
            f"{number(actual, '.2f')} actual (prompts left out; what plain takes is the run's own estimate)"
        )


def drafter(use: Mapping[str, Any]) -> str:
    """One drafter's part."""
    asked = f"asked {counted(use['asked'], 'time')}, had an offer {counted(use['offered'], 'time')}"
    if not use["taken"]:
        return f"{asked}; none was taken, {milliseconds(use)}"
    return (
        f"{asked} ({counted(use['offered_tokens'], 'token')}); taken {counted(use['taken'], 'time')}: "
        f"{use['drafted']} drafted, {use['expected']:.1f} expected to be kept, {use['accepted']} kept; "
        f"{milliseconds(use)}"
    )


def milliseconds(use: Mapping[str, Any]) -> str:
    """What it took."""
    return f"{1000 * use['seconds'] / max(1, use['asked']):.2f} ms each time"


def preferences(found: Mapping[str, Any]) -> Iterator[str]:
    """Of each drafter the best among those that it was preferred to."""
    for name in found["drafters"]:
        mine = [each for each in found["preferences"] if each["drafter"] == name]
        if mine:
            best = max(mine, key=lambda each: each["other_worth"])
            yield (
                f"{name} before {best['to']}: where both had an offer ({counted(best['times'], 'time')}) its own was "
                f"worth {best['worth']:.2f} tokens on average and the other's {best['other_worth']:.2f}, "
                "less what drafting them takes"
            )


def widths(found: Mapping[str, Any]) -> Iterator[str]:
    """What a pass was worth and what it cost, by its width."""
    by_rounds = sorted(found["widths"], key=lambda each: -each["rounds"])
    for each in by_rounds[:MOST_WIDTHS]:
        texts = f" for {each['texts']} texts" if each["texts"] > 1 else ""
        rows = f"room for {counted(each['draft_rows'], 'draft')}" if each["draft_rows"] else "no drafts"
        expected, came = each["expected_tokens_per_round"], each["tokens_per_round"]
        yield (
            f"{rows}{texts}, {counted(each['rounds'], 'round')}: {expected:.2f} tokens a round expected "
            f"at {each['expected_passes']:.2f} plain passes, {came:.2f} came at {each['passes']:.2f}"
        )
    if others := sum(each["rounds"] for each in by_rounds[MOST_WIDTHS:]):
        yield f"other widths: {counted(others, 'round')}"


def stay(plain: Mapping[str, Any]) -> str:
    """Why some rounds were plain, and when."""
    many = f"{plain['rounds']} rounds between {plain['first']} and {plain['last']}"
    when = f"round {plain['first']}" if plain["rounds"] == 1 else many
    best = "" if plain["best_speed"] is None else f" (at best {plain['best_speed']:.2f} of plain sampling's speed)"
    asking = plain["asking_seconds"] / plain["rounds"]
    took = f"; asking drafters took {1000 * asking:.2f} ms a round" if asking else ""
    return f"plain in {when}: {plain['why']}{best}{took}"
