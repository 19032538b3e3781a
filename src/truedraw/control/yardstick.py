"""When plain passes are measured where drafts pay: what a draft is worth depends on what passes take without it."""

from __future__ import annotations

from truedraw.control.experience import Experience
from truedraw.control.width import Width

FIRST, LONGEST = 60, 1280  # passes between runs of plain ones: GROWTH times those before the last, in these bounds
GROWTH = 3
CLOSE = 1.25  # a gain above which only the longest will do: what is done hangs less on what plain passes take
ENOUGH = 4  # passes to measure, the first of which is more dear than the others
MOVED = 1.15  # times that what a plain pass is thought to take has come down in a run, which then goes on
PATIENCE = 24  # rounds of a run at most: an engine holds on to the rows of drafts for a while, or others fill the pass


class Yardstick:
    """One controller's. Where passes take the same rows with drafts and without, they are measured all the time.

    A text that is alone begins with drafts where the table was measured, and with it what some dear drafter takes.
    """

    def __init__(self, known: Experience) -> None:
        self._known, self._costs = known, known.costs
        self._rounds = 0  # of the run under way
        self._before = 0  # plain passes that were measured before it
        self._moved_at = 0  # pass in which a run last found that plain passes take less
        self._thought = 0.0  # seconds of a plain pass, when that was asked last in it

    def is_due(self, plain: int, texts: int, width: Width) -> bool:
        """Whether this round is to be plain for that reason; it would have `plain` rows of texts."""
        costs = self._costs
        if not costs.is_known:
            return texts > 1 or not (costs.is_timed and self._known.recalls_dear)
        if not costs.is_settled:  # a run waits
            return False
        is_needless = costs.alike(plain, plain + width.rows)
        if is_needless or not (self._rounds or self._begins(plain, texts, width.gain)):
            self._rounds = 0
            return False
        self._rounds += 1
        if self._rounds <= PATIENCE and costs.passes(plain, texts) < self._before + ENOUGH:
            return True
        before, self._thought = self._thought, costs.seconds(plain, texts)
        if self._rounds <= PATIENCE and before > MOVED * self._thought:
            self._before, self._moved_at = costs.passes(plain, texts), costs.num_passes
            return True
        self._rounds, costs.tried[plain, texts] = 0, costs.num_passes
        return False

    def _begins(self, plain: int, texts: int, gain: float) -> bool:
        last = max(self._costs.last(plain, texts), self._costs.tried.get((plain, texts), 0))
        self._before, self._thought = self._costs.passes(plain, texts), self._costs.seconds(plain, texts)
        age = max(last - self._moved_at, 0)
        distance = LONGEST if gain > CLOSE else min(max(GROWTH * age, FIRST), LONGEST)
        return self._costs.num_passes - last >= distance
