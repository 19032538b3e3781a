"""The settings of a draft of its own law: what a drafter with a distribution draws from, and when it stops.

Without any of them a draft is drawn from the target's own law, applied to the draft model's logits. Each of them puts
another number in the place of the target's, and what acts on the model's own logits (bias, penalties, bans, a grammar)
stays the target's. Any of it is exact: only the law that a token was really drawn from is handed to the verifier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import Floats, Law, Logits
from truedraw.sampling.law import SamplingLaw, softmax
from truedraw.sampling.order import OFF
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.ranges import NOT_NEGATIVE, POSITIVE, RANGES, SHARE, Numbers, Wholes
from truedraw.sampling.row import Row
from truedraw.sampling.step import Fixed, Opening, Step
from truedraw.sampling.steps import STEPS
from truedraw.sampling.truncate import top_k
from truedraw.sampling.values import is_one_of, shown

PROBABILISTIC, GREEDY, GUMBEL = "probabilistic", "greedy", "gumbel"
METHODS = (PROBABILISTIC, GREEDY, GUMBEL)
AUTO, TARGET = "auto", "target"
"""Temperatures that are no number: tuned while texts are written, as are cuts (tempering.py), and the target's."""
REPLACED = ("temperature", "top_k", "top_p", "min_p")
"""Steps of the target's law that a draft can have its own value for."""

ENTROPY_K = "entropy_k"
DRAFT_CUTS = ("draft_top_k", "draft_top_p", "draft_min_p", "draft_entropy_k")
RANGE: dict[str, Numbers | Wholes] = {
    **{f"draft_{name}": RANGES[name] for name in REPLACED[1:]},
    "draft_entropy_k": POSITIVE,
    "draft_siblings": Wholes(1, "1 or more"),
    "draft_stop_below": SHARE,
    "draft_stop_entropy": NOT_NEGATIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """None everywhere means: as the target, for the temperature "auto". Raises BadParameter naming what cannot be.

    draft_sample_method: "probabilistic" draws from q, "greedy" takes its likeliest tokens as certain ones, "gumbel"
    draws from q with the target's own noise, under coupled verification only; None is one of the first and the last.
    draft_temperature: a number in place of the target's; "auto" tunes a multiple of the target's online, where the
    drafter can do that, and "target" takes just the target's.
    draft_top_k, draft_top_p, draft_min_p: in place of the target's. Without any of them, and where the temperature is
    tuned, so is the truncation.
    draft_entropy_k: of q so cut, keep the ceil(draft_entropy_k exp(H)) likeliest tokens. exp(H), H its entropy in
    nats, is the number of equally likely tokens it is worth: few are kept where it is sure, many where it is not.
    draft_siblings: candidates for the first token, without replacement; the chain goes on behind the first of them.
    draft_stop_below, draft_stop_entropy: draft no further where the draft model's likeliest token has less than this
    probability, or its entropy in nats is above this. Both look at its law alone, as it is before any transform and
    before the token is drawn (algorithm L2: a token that was drawn may not decide its own fate).
    """

    draft_sample_method: str | None = None
    draft_temperature: float | str | None = None
    draft_top_k: int | None = None
    draft_top_p: float | None = None
    draft_min_p: float | None = None
    draft_entropy_k: float | None = None
    draft_siblings: int | None = None
    draft_stop_below: float | None = None
    draft_stop_entropy: float | None = None

    def __post_init__(self) -> None:
        if not (self.draft_sample_method is None or is_one_of(self.draft_sample_method, METHODS)):
            raise BadParameter(
                "draft_sample_method", f"got {shown(self.draft_sample_method)}; give one of: {', '.join(METHODS)}"
            )
        check_temperature(self.draft_temperature)
        for name, allowed in RANGE.items():
            if getattr(self, name) is not None:
                allowed.check(name, getattr(self, name))

    @property
    def siblings(self) -> int:
        """Candidates for the first token."""
        return self.draft_siblings or 1

    @property
    def tunes(self) -> bool:
        """Whether the temperature is to be tuned: a greedy draft does not depend on it."""
        return self.draft_temperature in (None, AUTO) and self.draft_sample_method != GREEDY

    @property
    def tunes_cuts(self) -> bool:
        """Whether the truncation is to be tuned as well: none was given, and no temperature either."""
        return self.tunes and all(getattr(self, name) is None for name in DRAFT_CUTS)

    def check_likeliest(self) -> None:
        """Raises BadParameter for another law where a chain takes its likeliest token, which is that of any of them."""
        if self.draft_sample_method != GREEDY or self.siblings > 1:
            return
        for name in ("draft_temperature", *DRAFT_CUTS):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise BadParameter(
                    name,
                    f'got {shown(value)}, but draft_sample_method "{GREEDY}" takes the likeliest token, which that '
                    "does not change; leave one of the two out",
                )

    def law(self, target: Law) -> Law:
        """The law a draft is drawn from, at the place where `target` is the target's."""
        changed = {name: step for name in REPLACED if (step := self._step(name)) is not UNCHANGED}
        if self.draft_entropy_k is not None:
            changed[ENTROPY_K] = Fixed(partial(keep_effective, ratio=self.draft_entropy_k))
        if not changed:
            return target
        if not isinstance(target, SamplingLaw):
            raise BadParameter(f"draft_{next(iter(changed))}", "this law takes no other steps; leave it out")
        return target.replacing(changed)

    @property
    def is_endless(self) -> bool:
        """Whether nothing that the draft model says ends a draft."""
        return self.draft_stop_below is None and self.draft_stop_entropy is None

    def ends(self, logits: Logits) -> bool:
        """Whether to draft no further where the draft model says logits [vocab]."""
        if self.is_endless:
            return False
        p = softmax(logits, 1.0)
        unlikely = self.draft_stop_below is not None and float(p.max()) < self.draft_stop_below
        return unlikely or (self.draft_stop_entropy is not None and entropy(p) > self.draft_stop_entropy)

    def _step(self, name: str) -> Step | None:
        value = getattr(self, f"draft_{name}")
        if value is None or isinstance(value, str):
            return UNCHANGED
        return None if value in OFF[name] else STEPS[name](SamplingParams(**{name: value}), Opening())


def check_temperature(value: object) -> None:
    """Raises BadParameter."""
    name = "draft_temperature"
    if isinstance(value, str) and value not in (AUTO, TARGET):
        raise BadParameter(name, f'got {shown(value)}; give a number of 0 or more, "{AUTO}" or "{TARGET}"')
    if value is not None and not isinstance(value, str):
        RANGES["temperature"].check(name, value)


def keep_effective(row: Row, ratio: float) -> None:
    """Keep the ceil(ratio exp(H)) likeliest tokens of a row."""
    row.keep(top_k(row.p, math.ceil(min(row.p.size, ratio * math.exp(entropy(row.p))))))


def entropy(p: Floats) -> float:
    """-sum(p log p) of p [vocab], in nats."""
    possible = p[p > 0]
    return -float((possible * np.log(possible)).sum())


def nothing(row: Row) -> None:
    """Change nothing."""


UNCHANGED = Fixed(nothing)
"""Stands for a step that is the target's."""
