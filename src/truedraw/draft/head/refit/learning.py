"""Who keeps places, steps on them between rounds, and looks whether that helps.

Kept is every place where no candidate was, and of the others one of OTHERS, which stands for all of them: so the mean
over what is kept is one over the whole text, and what the head can do already is not forgotten. A step takes the places
that came since the last one, at which it is seen first what they say of the correction as it is, and older ones beside.

Drafts have the correction only while it surely keeps more than the head without it (gains.py). It is a function of
rounds that have ended, and changes between rounds alone: what a round draws from is settled before it draws (algorithm
L2). What other texts teach leaves samples independent, see ngram_lm.py, and under coupled verification no text depends
on drafts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truedraw.draft.gains import Gains
from truedraw.draft.head.cell import Cell
from truedraw.draft.head.refit.allowance import Allowance
from truedraw.draft.head.refit.cell import CorrectedCell
from truedraw.draft.head.refit.correction import SEED, Correction, Reals
from truedraw.draft.head.refit.descent import Adam, overlaps, step
from truedraw.draft.head.refit.ring import BYTES, Place, Places, Ring
from truedraw.protocol import Logits

OTHERS = 4
AT_ONCE = 32  # places of a step, which then takes 3 ms with 8,192 tokens
FRESH = 4  # of them that have come since the last step: a place is met eight times or so
FEWEST = 16  # places before the first step
START, LEARNT = 0, 1


class Learnt(NamedTuple):
    """How a correction came about: on how many places, and their mean acceptance without it and with it.

    Each place was looked at before a step was made on it.
    """

    places: int
    acceptance: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """For a card."""
        return {"places": self.places, "acceptance": list(self.acceptance)}


class Refit:
    """What is learnt for one head's network while a model is loaded; its jobs share it. One thread at a time.

    `width` is that of what the cell shows, `start` the correction that it comes with. `is_on` until a number is none:
    what was learnt is then given up. `size_bytes` of places are kept.
    """

    def __init__(
        self,
        cell: Cell,
        width: int,
        start: Correction | None = None,
        size_bytes: int = BYTES,
        allowance: Allowance | None = None,
    ) -> None:
        self.is_on, self.allowance = True, allowance or Allowance()
        self._cell = cell
        self._start = self._learnt = start or Correction.nothing(width, len(cell.tokens))
        self._ring = Ring(width, len(cell.tokens), size_bytes)
        self._adam, self._gains = Adam(self._learnt), Gains(2)
        self._chance = np.random.default_rng(SEED)
        self._others = self._stepped = 0
        self._sums = np.zeros(3)  # of weights, and of acceptance before and after

    @property
    def correction(self) -> Correction:
        """What drafts have now."""
        return self._learnt if self.helps else self._start

    @property
    def helps(self) -> bool:
        """Whether more is kept with what was learnt than without it."""
        return self.is_on and self._gains.best == LEARNT

    @property
    def listens(self) -> bool:
        """See cell.Learner. What waits for a step is no more than that takes: or all time would go by with keeping."""
        return self.is_on and not self.allowance.is_spent and self._fresh < AT_ONCE

    @property
    def learnt(self) -> Learnt:
        """Since the model was loaded."""
        weight, before, after = self._sums.tolist()
        return Learnt(self._stepped, (before / weight, after / weight) if weight else (0.0, 0.0))

    @property
    def _fresh(self) -> int:
        """Places that have come since the last step."""
        return self._ring.count - self._stepped

    def cell(self) -> CorrectedCell:
        """The head's cell for one drafter."""
        return CorrectedCell(self._cell, lambda: self.correction, self)

    def saw(self, said: tuple[Reals, Logits], target: Logits, temperature: float, *, is_rejected: bool) -> None:
        """See cell.Learner."""
        self._others += not is_rejected
        if not is_rejected and self._others % OTHERS:
            return
        with self.allowance:
            weight = 1.0 if is_rejected else float(OTHERS)
            self._ring.put(Place(*said, target[self._cell.tokens], temperature, weight))

    def between_rounds(self) -> None:
        """See cell.Learner: a step, where there are places for it, and time."""
        self.allowance.passed()
        if self.is_on and self.allowance.is_left and self._fresh >= FRESH and len(self._ring) >= FEWEST:
            with self.allowance:
                self._step(min(self._fresh, AT_ONCE))

    def _step(self, fresh: int) -> None:
        """On the `fresh` newest places, and others."""
        more = min(AT_ONCE, len(self._ring)) - fresh
        slots = [*self._ring.newest(fresh), *self._chance.integers(len(self._ring), size=max(more, 0)).tolist()]
        places = self._ring.at(slots)
        after, accepted = step(self._learnt, places, self._adam)
        if not after.is_sound:
            self.is_on = False
            return
        self._compare(Places(*(part[:fresh] for part in places)), accepted[:fresh])
        self._learnt, self._stepped = after, self._ring.count

    def _compare(self, places: Places, accepted: Reals) -> None:
        """At places that nothing was learnt from yet."""
        before = overlaps(self._start, places)
        for weight, *found in zip(places.weight[:, 0], before, accepted, strict=True):
            told = float(weight) * np.array(found, np.float64)
            self._gains.saw(told)
            self._sums += (float(weight), *told)
