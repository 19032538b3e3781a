"""The temperature and the truncation of a draft's own law, tuned while texts are written.

Where the target has said p at a place for which a drafter has an opinion, the share of drafts that are kept there,

    sum_x min(p(x), q(x))        q: the target's law with another temperature or truncation, on the drafter's logits,

is known for every such q, whatever was drafted. At a place now and then multiples T of the target's temperature, with
its truncation, are compared with T = 1; and other truncations (cuts.py), at the T that drafts have, with the target's
at that T. Drafts go on with what surely gains most in either way (gains.py).

Exactness. Both are functions of rounds that have ended, and what a round draws from is settled before it draws
(algorithm L2); what other texts teach leaves samples independent, see ngram_lm.py. Under coupled verification no text
depends on drafts; the overlap bounds the chance of a match from above, and a function of it from below (model.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from truedraw.draft.behind import law_after
from truedraw.draft.cuts import TARGETS, others, recut
from truedraw.draft.gains import Gains
from truedraw.draft.knobs import Knobs
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Floats, Ints, Law, Logits
from truedraw.sampling.law import SamplingLaw

RATIOS = (1.0, 0.5, 0.65, 0.8, 0.9, 1.1, 1.3, 1.7, 2.3, 3.0)
"""Of the target's temperature; the first is what the others are compared with. Drafts that nobody trained to be read,
those of the first layers of a model for instance, are too sure of themselves, and may want several times as much."""
MOST_KINDS = 16  # targets of other temperatures or cuts that are told apart; a further one pushes out the oldest

Kind = tuple[object, ...]


class Variant(NamedTuple):
    """Of a draft's law."""

    ratio: float = RATIOS[0]  # of the target's temperature
    cut: str = TARGETS


class Tuner:
    """The variant that does best, for targets of one kind; `cuts` are those beside the target's own."""

    def __init__(self, cuts: Sequence[str] = ()) -> None:
        self.variant = Variant()
        self._cuts = (TARGETS, *cuts)
        self._gains = Gains(len(RATIOS))
        self._of_cuts = {ratio: Gains(len(self._cuts)) for ratio in RATIOS}  # what is seen at one tells of no other
        self._known: tuple[Law, Variant, Law] | None = None

    def law(self, own: Law) -> Law:
        """What to draw from, where `own` is the law with the target's temperature and cuts."""
        if self.variant == Variant():
            return own
        if self._known is None or self._known[0] is not own or self._known[1] != self.variant:
            self._known = own, self.variant, varied(own, self.variant)
        return self._known[2]

    @property
    def left(self) -> int:
        """Rounds up to the next one whose place is to be looked at."""
        return self._gains.left

    def due(self) -> bool:
        """Whether the place of this round is to be looked at; to be asked once a round and text."""
        return self._gains.due()

    def variants(self) -> list[Variant]:
        """Those to look at: all temperatures, and other cuts at the one that drafts have."""
        return [*map(Variant, RATIOS), *(Variant(self.variant.ratio, cut) for cut in self._cuts[1:])]

    def saw(self, overlaps: Floats) -> None:
        """sum(min(p, q)) at one place, by variants()."""
        ratio, size = self.variant.ratio, len(RATIOS)
        self._gains.saw(overlaps[:size])
        if len(self._cuts) > 1:
            self._of_cuts[ratio].saw(np.append(overlaps[RATIOS.index(ratio)], overlaps[size:]))
        ratio = RATIOS[self._gains.best]
        self.variant = Variant(ratio, self._cuts[self._of_cuts[ratio].best])


class Tempering:
    """One drafter's tuners, by the target's temperature and cuts. One thread at a time."""

    def __init__(self) -> None:
        self._tuners: dict[Kind, Tuner] = {}

    def tuner(self, own: Law, *, cuts: bool = True) -> Tuner | None:
        """Of the targets like this; None where a temperature changes nothing, or cannot be changed.

        Without `cuts` the truncation is left alone.
        """
        if not isinstance(own, SamplingLaw) or own.temperature == 0.0:
            return None
        kind = cuts, *own.numbers().items()
        if kind not in self._tuners:
            while len(self._tuners) >= MOST_KINDS:
                del self._tuners[next(iter(self._tuners))]
            self._tuners[kind] = Tuner(others(own) if cuts else ())
        return self._tuners[kind]


class OwnLaw:
    """The law that one text's drafts are drawn from, at one place; it never changes, unlike what its tuner knows."""

    __slots__ = ("_own", "_target", "_tuner")

    def __init__(self, own: Law, target: Law, tuner: Tuner | None) -> None:
        self._own, self._target, self._tuner = own, target, tuner

    @classmethod
    def of(cls, target: Law, knobs: Knobs, tempering: Tempering | None) -> Self:
        """Where the target's law is `target`; without `tempering` nothing is tuned."""
        own = knobs.law(target)
        tuner = None if tempering is None or not knobs.tunes else tempering.tuner(own, cuts=knobs.tunes_cuts)
        return cls(own, target, tuner)

    def after(self, tokens: Sequence[int]) -> OwnLaw:
        """Behind these tokens."""
        own = law_after(self._own, tokens)
        target = own if self._target is self._own else law_after(self._target, tokens)
        return self if own is self._own and target is self._target else OwnLaw(own, target, self._tuner)

    def now(self) -> Law:
        """What to draw from; one round draws all its tokens from this law and those that follow it."""
        return self._own if self._tuner is None else self._tuner.law(self._own)

    def target(self, logits: Logits) -> Floats:
        """p [vocab] of the target's logits [vocab] here."""
        return self._target(logits)

    def settled(self, rounds: int) -> int:
        """For how many of these rounds `now` stays as it is: it may change behind one whose place is learnt from."""
        return rounds if self._tuner is None else max(1, min(rounds, self._tuner.left))

    def is_due(self) -> bool:
        """Whether this round's place is to be learnt from; to be asked once a round."""
        return self._tuner is not None and self._tuner.due()

    def learn(self, logits: Logits, q: Callable[[Law], Floats], tokens: Ints | None = None) -> None:
        """The target says logits [vocab] here; q [vocab] is the draft's by a law, or q [known] of some `tokens`."""
        if self._tuner is None:
            return
        p = self.target(logits)
        known = p if tokens is None else p[tokens]
        laws = [varied(self._own, variant) for variant in self._tuner.variants()]
        self._tuner.saw(np.array([overlap(known, law, q) for law in laws]))


def overlap(p: Floats, law: Law, q: Callable[[Law], Floats]) -> float:
    """sum(min(p, q)), 0 where the law leaves nothing of what the drafter knows."""
    try:
        return float(np.minimum(p, q(law)).sum())
    except (BadParameter, EngineError):  # or its logits are no numbers
        return 0.0


def varied(law: Law, variant: Variant) -> Law:
    """The law at so many times its temperature, and with such a truncation."""
    if not isinstance(law, SamplingLaw):
        return law
    return recut(law if variant.ratio == 1.0 else law.tempered(variant.ratio), variant.cut)
