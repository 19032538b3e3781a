"""Where a training is, as its checkpoint says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from truedraw.distill.checkpoint import damaged
from truedraw.distill.read_values import LARGEST, are_numbers, is_number, is_whole
from truedraw.distill.windows import POSITIONS

KEPT_AT_FIRST = 0.4  # acceptance, before any was seen
SMOOTH = 0.9  # of what was seen before
POINTS = 100  # of the curves
LATER = {"held_out": "", "since": 0, "of_steps": None, "of_seconds": None, "gave_up": False}
"""Facts that checkpoints of earlier versions lack."""


@dataclass(slots=True)
class State:
    """Where a training is."""

    step: int = 0
    tokens: int = 0  # rows learnt from, each time they were
    seconds: float = 0.0
    loss: float = 0.0  # smoothed
    kept: list[float] = field(default_factory=lambda: [KEPT_AT_FIRST] * POSITIONS)  # acceptance, smoothed
    best: float = 0.0  # tokens a round
    best_step: int = 0
    lately: float = 0.0  # the best since its limits were last raised
    stale: int = 0  # looks since that
    since: int = 0  # how many looks there were when they were
    of_steps: int | None = None  # its limits, None: there is none
    of_seconds: float | None = None
    gave_up: bool = False  # before them, as nothing got better
    held_out: str = ""  # the name of the rows that were looked at
    looked: int = -1  # which look was the last
    pointed: int = -1  # which point of the curves
    curve: list[dict[str, Any]] = field(default_factory=list)
    looks: list[dict[str, Any]] = field(default_factory=list)

    def saw(self, loss: float, acceptance: Sequence[float], done: float) -> None:
        """What a step has found, behind this share of all of them."""
        part = SMOOTH if self.step else 0.0
        self.loss = part * self.loss + (1 - part) * loss
        self.kept = [part * old + (1 - part) * new for old, new in zip(self.kept, acceptance, strict=True)]
        if int(done * POINTS) != self.pointed:
            self.pointed = int(done * POINTS)
            self.curve.append({"tokens": self.tokens, "loss": self.loss, "acceptance": list(self.kept)})


def state_of(facts: object, path: Path) -> State:
    """The facts of the checkpoint at `path`; raises BadFile for what no training wrote."""
    found = {**LATER, "lately": facts.get("best"), **facts} if isinstance(facts, dict) else {}
    if found.keys() != {each.name for each in fields(State)}:
        raise damaged(path, "it does not say where its training was")
    for name, is_right in RIGHT.items():
        if not is_right(found[name]):
            raise damaged(path, f"{name} is {found[name]!r:.40}")
    if found["step"] and not found["looks"]:
        raise damaged(path, "it has steps and no looks at held-out text")
    return State(**found)


def _are_points(*names: str) -> Callable[[Any], bool]:
    """Of a curve: numbers of these names, and acceptance at as many positions each."""

    def is_point(value: Any) -> bool:
        numbers = isinstance(value, dict) and all(is_number(value.get(name), -LARGEST) for name in names)
        return numbers and are_numbers(value.get("acceptance"))

    def are_points(value: Any) -> bool:
        if not isinstance(value, list) or not all(map(is_point, value)):
            return False
        return len({len(each["acceptance"]) for each in value}) < 2

    return are_points


RIGHT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("step", "tokens", "best_step", "stale", "since"), is_whole),
    **dict.fromkeys(("looked", "pointed"), partial(is_whole, least=-1)),
    **dict.fromkeys(("seconds", "best", "lately"), is_number),
    "of_steps": lambda value: value is None or (type(value) is int and value >= 0),  # as many as were asked for
    "of_seconds": lambda value: value is None or is_number(value),
    "gave_up": lambda value: isinstance(value, bool),
    "loss": partial(is_number, least=-LARGEST),
    "kept": are_numbers,
    "held_out": lambda value: isinstance(value, str),
    "curve": _are_points("tokens", "loss"),
    "looks": _are_points("tokens", "step", "tokens_a_round"),
}
"""What each fact has to be."""
