"""The head that comes with SmolLM2-135M, trained again: four trainings one behind the other, each on new text.

    python tools/shipped_head.py OUT.safetensors --device cuda

The same command goes on where it was after a kill: in the training that was under way, with those before it done. All
chance comes from the seeds below; on another device, or with other versions of what computes, texts are others. Three
of the four want a graphics card, on a processor they take days. --scale 0.001 trains on a thousandth of the text; what
is not known here, as --hidden, is said to the first training, which makes the network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LAYERS = "15,26"


class Step(NamedTuple):
    """One training: how much text, how many steps, and how else it differs from the others."""

    name: str
    tokens: int
    steps: int
    flags: tuple[str, ...]
    on_device: bool = True  # not by the engine that the head will draft for


STEPS = (
    Step("first", 14_000_000, 16_731, ("--seed", "0")),
    Step("second", 5_200_000, 1_851, ("--kind", "attentive", "--seed", "1")),
    Step("third", 129_000, 82, ("--learning-rate", "0.0002", "--seed", "2"), on_device=False),
    Step("fourth", 14_000_000, 7_681, ("--seed", "3")),
)


def command(number: int, given: argparse.Namespace) -> list[str]:
    """Of step `number`; the last one writes the output, those before it beside it."""
    step = STEPS[number]
    where = ["--engine", "pytorch", "--device", given.device] if step.on_device else []
    counts = [str(max(1, round(count * given.scale))) for count in (step.tokens, step.steps)]
    limits = ["--tokens", counts[0], "--steps", counts[1], "--patience", counts[1], "--answer-tokens", "256"]
    flags = [*where, *begun(number, given), *limits, *step.flags, "--output", str(written(number, given.output))]
    return ["truedraw", "train", "draft", "-m", given.model, *flags]


def begun(number: int, given: argparse.Namespace) -> list[str]:
    """What step `number` goes on from: the first one from nothing."""
    if number == 0:
        return ["--layers", given.layers, *given.others]
    return ["--init-from", str(written(number - 1, given.output))]


def written(number: int, output: Path) -> Path:
    """What step `number` writes."""
    is_last = number == len(STEPS) - 1
    return output if is_last else output.with_name(f"{output.stem}.{STEPS[number].name}{output.suffix}")


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--layers", default=LAYERS, help=f"that the head reads, {LAYERS} if not given")
    parser.add_argument("--device", default="cuda", help="of torch")
    parser.add_argument("--scale", type=float, default=1.0, help="of all text and steps")
    given, others = parser.parse_known_args(words)
    given.others = others
    return given


def main() -> int:
    """The exit status of the first training that failed."""
    given = parsed()
    for number in range(len(STEPS)):
        if written(number, given.output).exists():
            continue
        words = command(number, given)
        print(f"{number + 1} of {len(STEPS)}: {' '.join(words)}", file=sys.stderr)
        if status := subprocess.run([sys.executable, "-m", *words], check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
