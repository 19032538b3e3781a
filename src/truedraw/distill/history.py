"""How a training went, for a head's card: what was asked for, the curve, and where it points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from truedraw.distill.outlook import outlook
from truedraw.distill.plan import Plan

MOST_LOOKS = 40  # in a card
Look = Mapping[str, Any]


def history(plan: Plan, looks: Sequence[Look], since: int) -> dict[str, Any]:
    """settings: what the command was given, prompts and documents by their number. looks: acceptance on held-out text
    at temperature 1 against tokens trained on. outlook: see outlook.py, by the looks under one schedule, those from
    number `since` on; None where nothing can be said."""
    return {"settings": settings(plan), "looks": thinned(looks), "outlook": outlook(looks[since:])}


def settings(plan: Plan) -> dict[str, Any]:
    """Enough, with the target, to have the same training again; JSON's own types."""
    texts, limits = asdict(plan.texts), plan.limits
    texts["prompts"] = None if plan.texts.prompts is None else len(plan.texts.prompts)
    texts["documents"] = len(plan.texts.documents)
    texts["temperatures"] = list(plan.texts.temperatures)
    ends = {"seconds": limits.seconds, "steps": limits.steps, "patience": limits.patience,
            "feature_bytes": limits.feature_bytes}  # fmt: skip
    return {"texts": texts, "head": plan.head.identity(), "limits": ends}


def thinned(looks: Sequence[Look]) -> list[dict[str, Any]]:
    """Evenly by number, with the first and the last."""
    if len(looks) <= MOST_LOOKS:
        return [dict(each) for each in looks]
    return [dict(looks[i]) for i in np.linspace(0, len(looks) - 1, MOST_LOOKS).round().astype(int).tolist()]
