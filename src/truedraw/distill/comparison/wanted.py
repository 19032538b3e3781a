"""What is to be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truedraw.distill.folders import make_work
from truedraw.distill.losses import LOSSES
from truedraw.distill.plan import Plan
from truedraw.distill.preparing import text_settings
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.generate.model import Model

DIGITS = 12  # of a digest that names a folder
NEVER = 1 << 30  # looks without progress: every loss has its whole share, or rates of learning would differ


@dataclass(frozen=True, slots=True)
class Wanted:
    """`plan` is that of a training with any loss, whose output nobody writes. prompts: never trained on, to measure
    with; None: only texts that are held out."""

    plan: Plan
    losses: tuple[str, ...]
    prompts: tuple[str, ...] | None = None


def losses_of(text: str) -> tuple[str, ...]:
    """The names of "kl,lk", in this order; raises BadParameter that lists all that are unknown."""
    found = tuple(part.strip() for part in text.split(","))
    unknown = [name for name in dict.fromkeys(found) if name not in LOSSES]
    if unknown:
        named = ", ".join(repr(name) for name in unknown)
        raise BadParameter("--losses", f"got {named}; choose any of: {', '.join(LOSSES)}, with commas between them")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise BadParameter("--losses", f"{twice} stands there twice; give it once")
    return found


def all_alike(plan: Plan) -> Plan:
    """With limits that end every loss at the same place."""
    return replace(plan, limits=replace(plan.limits, patience=NEVER))


def settings_of(model: Model, wanted: Wanted) -> dict[str, Any]:
    """What must be the same for results to be compared."""
    plan, engine = wanted.plan, model.engine
    head = {name: value for name, value in plan.head.identity().items() if name != "loss"}
    return {
        **text_settings(model, plan),
        "kind": "draft comparison",
        "layers": list(getattr(engine, "hidden_layers", None) or ()),
        "head": head,
        "tokens": plan.texts.tokens,
        "steps": plan.limits.steps,
        "seconds": plan.limits.seconds,
        "test_prompts": None if wanted.prompts is None else list(wanted.prompts),
    }


def folder_of(work: Path, name: str, settings: Mapping[str, Any]) -> Path:
    """A folder of its own for these settings, made if it is not there: the same command finds it again."""
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    found = work / f"{name}-{digest[:DIGITS]}"
    make_work(found)
    return found
