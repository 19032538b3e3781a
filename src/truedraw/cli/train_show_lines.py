"""A draft's card for people. What a card lacks, as one of an earlier version may, is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.cli.train_eval_lines import means, row, share, shares
from truedraw.draft.eagle.card import FORMAT
from truedraw.draft.head.card import called
from truedraw.sampling.values import UNKNOWN

MEGABYTE = 1e6
MOST_LOOKS = 12  # lines of the curve
ALWAYS = (
    "tokens that it does not know are never drafted: names, other scripts",
    "text of another kind, language or temperature than it was trained on is kept less",
    "copies of what stands in the prompt are better guessed by lookups",
    "other weights or another arithmetic of the model shift what it reads",
)
"""What holds of every head."""
LEARNT = {"tokens": "tokens", "texts": "texts", "trained_tokens": "tokens with repetitions"}
STAGES = ("texts", "features", "training")
Facts = Mapping[str, Any]


def lines(found: Facts) -> list[str]:
    """The card of `facts`."""
    training = found["training"]
    learnt = [*data(training), *held_out(training), *curve(training), *outlook(training)]
    size = f"{found['bytes'] / MEGABYTE:.1f} MB"
    if FORMAT in found:
        return [f"{found['file']}: a draft of the kind {training['kind']} for {training['model']}, {size}", *learnt]
    return [
        f"{found['file']}: {called(found['kind'])} for {found['target']}, {size}",
        reads(found),
        *learnt,
        *(line for each in training.get("evaluated", {}).items() for line in evaluated(*each)),
        *failures(training),
    ]


def reads(found: Facts) -> str:
    """What it knows."""
    layers = ", ".join(str(layer) for layer in found["layers"])
    streams = f"layers {layers} and the final state" if layers else "the final state"
    kept = " ".join(share(each) for each in found["siblings"])
    return f"reads {streams}; drafts {found['tokens']:,} of {found['vocab_size']:,} tokens; candidates kept {kept}"


def data(training: Facts) -> list[str]:
    """What it learnt, and for how long."""
    said = []
    if "tokens" in training and "texts" in training:
        source = training.get("source") or training.get("text") or "of unknown origin"
        at = ", ".join(f"{each:g}" for each in training.get("temperatures", ()))
        held = f", {training['held_out_tokens']:,} tokens held out" if "held_out_tokens" in training else ""
        said.append(
            f"data: {training['tokens']:,} tokens of {training['texts']:,} texts, {source}"
            + (f", at T = {at} in turn" if at else "") + held
        )  # fmt: skip
    if "init_from" in training:
        said.append(f"begun from {before(training['init_from'])}")
    if "loss" in training:
        parts = [f"loss {training['loss']}"]
        parts += [f"{training['steps']:,} steps"] if "steps" in training else []
        parts += [f"{training['trained_tokens']:,} tokens with repetitions"] if "trained_tokens" in training else []
        parts += [f"seed {training['seed']}"] if "seed" in training else []
        said.append(f"training: {', '.join(parts)}{seconds(training.get('seconds'))}")
    return said


def before(found: Facts) -> str:
    """The head that was trained further."""
    learnt = [f"{found[name]:,} {what}" for name, what in LEARNT.items() if name in found]
    earlier = f", begun from {before(found['init_from'])}" if "init_from" in found else ""
    return f"{found['file']} ({', '.join(learnt) or 'of unknown origin'}){earlier}"


def seconds(taken: Any) -> str:
    """By stage, or in all."""
    if isinstance(taken, Mapping):
        order = [*(stage for stage in STAGES if stage in taken), *(stage for stage in taken if stage not in STAGES)]
        return f" ({', '.join(f'{stage} {taken[stage]:,.0f} s' for stage in order)})"
    return "" if taken is None else f" ({taken:,.0f} s)"


def held_out(training: Facts) -> list[str]:
    """Acceptance by position where nothing was trained."""
    found = warmest_first(training.get("held_out", {}))
    if not found:
        return []
    return ["", header("held-out text, kept by position", found), *(
        row(f"  T = {temperature}", [*map(share, each["acceptance"]), f"{each['tokens_a_round']:.2f}"])
        for temperature, each in found.items()
    )]  # fmt: skip


def warmest_first(found: Facts) -> Facts:
    """By the temperatures that are its names: a card has them in any order."""
    return dict(sorted(found.items(), key=lambda each: -float(each[0])))


def header(label: str, found: Mapping[str, Facts]) -> str:
    """Positions, and tokens a round behind them."""
    positions = len(next(iter(found.values()))["acceptance"])
    return row(label, [*(str(place + 1) for place in range(positions)), "a round"])


def curve(training: Facts) -> list[str]:
    """Acceptance against tokens trained on; a few of the looks."""
    looks = training.get("looks", [])
    if not looks:
        return []
    every = -(-len(looks) // MOST_LOOKS)
    some = [*looks[:-1:every], looks[-1]]
    found = {f"{each['tokens']:,}": each for each in some}
    return ["", header("tokens trained on, T = 1", found), *(
        row(f"  {tokens}", [*map(share, each["acceptance"]), f"{each['tokens_a_round']:.2f}"])
        for tokens, each in found.items()
    )]  # fmt: skip


def outlook(training: Facts) -> list[str]:
    """Where the curve points."""
    from truedraw.distill.outlook_page import sentence

    found = training.get("outlook")
    return [] if found is None else [sentence(found)]


def evaluated(name: str, found: Facts) -> list[str]:
    """What `truedraw train eval` measured on some prompts."""
    said = ["", f"{name}: {', '.join(conditions(found))}"]
    for temperature, section in warmest_first(found["temperatures"]).items():
        positions = [str(place + 1) for place in range(len(section["acceptance"]))]
        said += [row(f"T = {temperature}, {section['places']:,} places, kept", positions)]
        said += [row(f"  {each}", shares(mine["acceptance"])) for each, mine in parts(section)]
        said += [row("  tokens a round, drafts in a chain", positions)]
        said += [row(f"    {each}", means(mine["tokens_per_round"]["chain"])) for each, mine in parts(section)]
        tree = section["tokens_per_round"]["tree"]
        said += [f"  in a tree of {len(tree)}: {means(tree)[-1]}{speed(section)}"]
    return said


def conditions(found: Facts) -> list[str]:
    """Under which a set was measured; what is usual is left out."""
    numerics = [] if found.get("numerics") is None else [f"{found['numerics']} numerics"]
    settings = [f"{name} {value!r:.40}" for name, value in found.get("settings", {}).items()]
    named = [f"{found['prompts']} prompts", f"{found['max_tokens']} tokens at most", f"seed {found['seed']}"]
    return [*named, *numerics, *settings]


def parts(section: Facts) -> Sequence[tuple[str, Facts]]:
    """All together, and each category."""
    return [("all", section), *section["by_category"].items()]


def speed(section: Facts) -> str:
    """End to end, where it was timed."""
    found = section["measured_speedup"]
    shown = ", ".join(f"{name} {each['median'] if each else UNKNOWN}" for name, each in found.items())
    return f"; measured speed-up, {shown}" if shown else ""


def failures(training: Facts) -> list[str]:
    """Of every head, and as measured."""
    from truedraw.bench.draft_eval.figures import weak_places

    measured = [
        f"{name}: {each}" for name, found in training.get("evaluated", {}).items() for each in weak_places(found)
    ]
    return ["", "where it fails:", *(f"  {each}" for each in (*ALWAYS, *measured))]
