"""Rounds of many texts for which nothing was drafted, decided in one call before the texts are met one by one."""

from __future__ import annotations

from typing import NamedTuple

from truedraw.generate.at_once.machines import IS_COUPLED
from truedraw.generate.means import Means
from truedraw.generate.sample import Sample, Turn
from truedraw.protocol import Scores
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import fused
from truedraw.sampling.working_time import working_seconds
from truedraw.verify.fused.judge import Decided
from truedraw.verify.fused.plain_rounds import Asked

ALONE = 1  # a text that is: threads share its row


class Drawn(NamedTuple):
    """What the rule would decide of a text, and that text's share of what it took to find that out."""

    decided: Decided
    seconds: float


def drawn_plainly(turn: Turn, means: Means) -> dict[int, Drawn]:
    """By the numbers of their samples; whoever is not among them is left to the rule."""
    start = working_seconds()
    if len(turn.samples) <= ALONE:
        return {}
    given = zip(turn.samples, turn.scores or (), strict=True)
    asked = {sample.number: each for sample, scores in given if (each := _asked(sample, scores)) is not None}
    if len(asked) <= ALONE:
        return {}
    found = zip(asked, means.plain_rounds.decide(tuple(asked.values())), strict=True)
    share = (working_seconds() - start) / len(asked)
    return {number: Drawn(decided, share) for number, decided in found if decided is not None}


def _asked(sample: Sample, scores: Scores) -> Asked | None:
    """None where something was drafted, or the rule, the law or the chance is another than compiled code knows."""
    rule, chance = sample.parts.verifier, sample.randomness
    if sample.proposal or type(rule) not in IS_COUPLED or type(chance) is not PhiloxRandomness:
        return None
    found = fused(sample.law, scores.logits)
    if found is None:
        return None
    how, position = found.fused.how, len(sample.sequence.tokens)
    return Asked(scores.logits[0], how, chance.name, position, rule.coupled, found.edits())
