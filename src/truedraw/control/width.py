"""How many rows of drafts a pass has room for, held over many rounds since a change of shape costs.

Every round tells what the best m draft rows would have been worth, for every m: no draft has to be tried to know. The
width is the one with most tokens a second, by that as the mean of the last rounds, and by what passes of a width took.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from truedraw.control.experience import Experience
from truedraw.control.offers import Pile

MEMORY = 24  # rounds that the mean worth reaches back
FEW = (1, 3, 7)  # tokens a text that are weighed where the ladder's steps are longer than all drafts together
STAYS = 8  # rounds that a width is tried for, about
STEADY = 1.015  # a width must be this much faster than the present one; plain sampling need not be
NEAR = 0.05  # what a width beside the best may lose to be tried
AGE = 64  # passes since one had it, and since any was tried, behind which it may be
ENOUGH = 3  # passes of a width that say what it takes: the first may be an accident
SURE = 1.02  # and this much faster than plain sampling: of what is estimated, what looks best is mostly overrated


class Beside(NamedTuple):
    """What the passes compute that is not for the texts decided for: others' texts and drafts, and prompts."""

    rows: int = 0
    texts: int = 0


class Width:
    """Draft rows of a pass, for all texts together."""

    def __init__(self, known: Experience, longest: int) -> None:
        self._known, self._costs, self._longest = known, known.costs, longest
        self._worth: dict[int, float] = {}  # by draft rows
        self._seen = 0
        self._beside = Beside()
        self._seconds: dict[tuple[int, int], float] = {}  # of this round, by texts and draft rows
        self._tried_at = 0  # pass in which one of them was
        self._near: list[int] = []  # widths beside the present one that are thought to lose little
        self.rows = 0
        self.gain = 1.0
        """Of the best width, in speeds of plain sampling, when it was settled last."""

    def add(self, pile: Pile, samples: int, passed: int) -> None:
        """One round's offers, `passed` rounds after those before."""
        self._seen += 1
        share = max(1 / self._seen, 1 - (1 - 1 / MEMORY) ** passed)
        for rows in self._ladder(samples):
            worth = pile.best(rows)
            mean = self._worth.get(rows, worth)
            self._worth[rows] = mean + (worth - mean) * share

    def begin(self, beside: Beside) -> None:
        """A round; what passes take may have been learnt since the last one."""
        self._beside = beside
        self._seconds.clear()

    def settle(self, samples: int, offering: float) -> None:
        """Choose the width; `offering` is what it takes to ask the drafters, in seconds a round."""
        speeds = self.speeds(samples, offering)
        safe = speeds | {0: SURE * speeds[0]}
        best = max(safe, key=lambda rows: (safe[rows], -rows))
        present = speeds.get(self.rows)
        if present is None or best == 0 or speeds[best] > STEADY * present:
            self.rows = best
        self._near = [rows for rows in neighbours(speeds, self.rows) if self._loss(samples, rows, speeds) < NEAR]
        self.gain = max(speed for rows, speed in speeds.items() if rows or len(speeds) == 1) / speeds[0]

    def speeds(self, samples: int, offering: float) -> dict[int, float]:
        """Tokens a second by the number of draft rows; 0 = plain sampling."""
        found = {0: samples / self.plain(samples)}
        for rows in self._ladder(samples):
            found[rows] = (samples + self._worth.get(rows, 0.0)) / (self.seconds(samples, rows) + offering)
        return found

    def glance(self, pile: Pile, samples: int, share: float, offering: float) -> float:
        """The best speed, of plain sampling, if all texts were offered what such a share of them is in this round."""
        found = [
            (samples + pile.of_all(rows, share)) / (self.seconds(samples, rows) + offering)
            for rows in self._ladder(samples)
        ]
        return max(found) * self.plain(samples) / samples

    def rate(self, samples: int) -> float:
        """Tokens a second that time is worth: what the present width brings."""
        held = samples + self._worth.get(self.rows, 0.0)
        return max(held / self.seconds(samples, self.rows), samples / self.plain(samples))

    def now(self, pile: Pile, samples: int) -> int:
        """Draft rows of this round: other than the width where its offers make that pay at once."""
        usual, held, rate = self.seconds(samples, self.rows), pile.best(self.rows), self.rate(samples)
        best, most = self.rows, 0.0
        for rows in (0, *self._ladder(samples)):
            took = self.seconds(samples, rows) - usual + self.change(samples, rows, self.rows)
            gain = pile.best(rows) - held - rate * took
            if gain > most:
                best, most = rows, gain
        return best if most > 0.0 else self._tried(samples)

    def _tried(self, samples: int) -> int:
        """The present width, or one beside it whose price nobody has seen for long: what looked worse may be better."""
        plain, texts = self.filled(samples)
        passes, costs = self._costs.num_passes, self._costs
        if passes - self._tried_at <= AGE or not costs.passes(plain + self.rows, texts):
            return self.rows
        unseen = [rows for rows in self._near if passes - costs.last(plain + rows, texts) > AGE]
        if unseen:
            self._tried_at = passes
        return unseen[0] if unseen else self.rows

    def _loss(self, samples: int, rows: int, speeds: Mapping[int, float]) -> float:
        """Of a width for some rounds against the present one, in shares of its speed."""
        change = self.change(samples, rows, self.rows) / (STAYS * self.seconds(samples, self.rows))
        return 1.0 - speeds[rows] / speeds[self.rows] + change

    def seconds(self, samples: int, rows: int) -> float:
        """Of a round with so many draft rows, without its drafters."""
        found = self._seconds.get((samples, rows))
        if found is None:
            plain, texts = self.filled(samples)
            found = self._known.round_seconds(plain + rows, texts, rows)
            if rows and not self._costs.passes(plain + rows, texts):
                found = max(found, self._of_fewer(samples, rows))
            self._seconds[samples, rows] = found
        return found

    def _of_fewer(self, samples: int, rows: int) -> float:
        """What most draft rows below so many, of those that were measured, took; 0 where none were.

        Where only the table knows of more, these may seem to take less; then they would be chosen, and never run, since
        what is offered is cut to what pays.
        """
        plain, texts = self.filled(samples)
        fewer = [few for few in self._ladder(samples) if few < rows]
        measured = [few for few in fewer if self._costs.passes(plain + few, texts) >= ENOUGH]
        return self.seconds(samples, measured[-1]) if measured else 0.0

    def filled(self, samples: int) -> tuple[int, int]:
        """Rows and texts of a pass without drafts."""
        return samples + self._beside.rows, samples + self._beside.texts

    def plain(self, samples: int) -> float:
        """Seconds of a round without drafts: no more than with them, whatever was measured of it."""
        return min(self.seconds(samples, 0), self.seconds(samples, self.rows))

    def change(self, samples: int, rows: int, present: int = 0) -> float:
        """Seconds that it takes to go from a width to another one for some passes, and back."""
        plain, _ = self.filled(samples)
        return 0.0 if self._costs.alike(plain + present, plain + rows) else 2 * self._costs.change

    def _ladder(self, samples: int) -> list[int]:
        """Draft rows that fill passes up to the row counts that are told apart."""
        least, _ = self.filled(samples)
        found = [total - least for total in self._costs.ladder if least < total <= least + samples * self._longest]
        return found or [samples * tokens for tokens in FEW]


def neighbours(widths: Iterable[int], present: int) -> list[int]:
    """The next smaller and the next larger one, plain sampling left out; [] for it."""
    smaller = [rows for rows in widths if 0 < rows < present]
    larger = [rows for rows in widths if rows > present > 0]
    return [*smaller[-1:], *larger[:1]]
