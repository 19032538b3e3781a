"""What a rule emits in a round by itself, against the target's law: enumerated, or drawn where that is too much.

A round is exact if and only if, behind any tokens of it, what comes next follows the target's law given that the round
goes on at all: what a round leaves open is drawn from that law later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from truedraw.protocol import Floats, Proposal, Purpose, Randomness, Verifier
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import require
from truedraw.testing.drafter_texts import Seeded
from truedraw.testing.enumeration import law_of
from truedraw.testing.goodness import LEVEL, Drawn, p_value
from truedraw.testing.lone_rounds import Form, LoneRound, RoundRows, Text
from truedraw.testing.runs import Chance

ROUNDING = 1e-9  # of a law, given what came before it
SMALLEST = 1e-9  # chance of a text, below which its rounding shows
DRAWN = 4000  # rounds
OTHERS = (Purpose.DRAFT, Purpose.XTC)  # of drafters, and of the law


class OfARule:
    """protocol.Randomness as a rule gets it; raises AssertionError where it draws what another one draws."""

    def __init__(self, inner: Randomness) -> None:
        self._inner = inner

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """See Randomness."""
        _require_own(purpose)
        return self._inner.choose(weights, purpose, position, node)

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """See Randomness."""
        _require_own(purpose)
        return self._inner.accept(p, q, purpose, position, node)


def _require_own(purpose: Purpose) -> None:
    require(purpose not in OTHERS, f"the verifier draws with Purpose.{purpose.name}, which others draw with")


def judged(known: LoneRound, rule: Verifier, proposal: Proposal, walker: Chance) -> Text:
    """The tokens of one round."""
    randomness = OfARule(walker.sample(0))
    return rule(proposal, RoundRows(known, proposal), randomness, known.position).tokens


def require_exact_alone(known: LoneRound, rule: Verifier, form: Form) -> None:
    """Every branch of the drafts and of the rule; raises what it raises where it takes no such trees."""
    law: dict[Text, float] = defaultdict(float)
    for proposal, chance in known.proposals(form):
        for text, weight in law_of(partial(judged, known, rule, proposal)).items():
            law[text] += chance * weight
    for text, following in sorted(_following(law.items()).items()):
        if sum(following.values()) > SMALLEST:
            _require_next(known, text, following)


def _following(law: Iterable[tuple[Text, float]]) -> dict[Text, dict[int, float]]:
    """By the text of a round so far: the weights of the token that comes next in it."""
    found: dict[Text, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for text, weight in law:
        for place, token in enumerate(text):
            found[text[:place]][token] += weight
    return found


def _require_next(known: LoneRound, text: Text, following: Mapping[int, float]) -> None:
    p, total = known.p(text), sum(following.values())
    found = np.zeros(len(p))
    for token, weight in following.items():
        found[token] = weight / total
    wrong, worst = 0.5 * float(np.abs(found - p).sum()), int(np.abs(found - p).argmax())
    require(
        wrong < ROUNDING,
        f"behind the tokens {list(text)} of a round, token number {1 + len(text)} of it is {wrong:.3g} away from the "
        f"target's law in total variation: {worst} comes with {found[worst]:.3g} in place of {p[worst]:.3g}",
    )


def require_draws(known: LoneRound, rule: Verifier, form: Form) -> None:
    """By chance, with fixed seeds: rounds whose laws depend on the number of the token alone."""
    tokens: dict[int, list[int]] = defaultdict(list)
    for number in range(DRAWN):
        proposal = known.draw(PhiloxRandomness(40, number), form)
        for place, token in enumerate(judged(known, rule, proposal, Seeded(DRAWN + number))):
            tokens[place].append(token)
    for place, drawn in tokens.items():
        chance = p_value([Drawn.of(known.p((0,) * place), drawn)])
        said = f"tokens number {1 + place} of {DRAWN} rounds do not follow the target's law"
        require(chance > LEVEL, f"{said}: p = {chance:.2g} over {len(drawn)}")
