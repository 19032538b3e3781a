"""What a pass costs by its rows and texts: a table measured once a machine, and how passes have done by it since."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, isfinite, log

from truedraw.control.average import Average
from truedraw.control.pass_kind import LONG, PRIOR_PASSES, PassKind
from truedraw.control.settling import Settling, is_wide
from truedraw.control.table import LADDER, NONE, PADDED, USUAL, Table, step
from truedraw.protocol import KnowsCosts

LATELY = 16  # passes that the machine's speed reaches back
FEW = 3  # times as many rows as padding has a pass that tells what its row count takes
CHANGE = 0.4  # passes of one row that the first pass of another row count takes longer, before any was measured
MOST_CHANGE = 2.0  # passes of one row that such a pass counts for at most
INSTANT = 1e-7  # seconds, or parts of the table's unit, that a pass takes at least
WILD = log(2.0)  # a pass counts for at most so many times what was expected, or so little
BEGIN = 8  # passes that tell what the table is worth
KNOWN = 3  # passes before which the unit is not known; the first ones load and warm up, so the shortest counts
BUSY = log(0.6)  # of the table's seconds: passes that take less were measured while the machine did other things
DRIFT = log(1.5)  # one row count may take so many times of its seconds in the table what another takes of its own
"""What long texts, and the work that is done on each row after a pass, make of it stays below this."""
ENOUGH = 32  # passes of a row count before it is compared


def several(share: float, times: int) -> float:
    """What becomes of a share of the way to a goal, if it is gone so many times."""
    return 1.0 - (1.0 - share) ** times


class PassCosts:
    """Seconds of a pass over so many rows of so many texts, which are as long as `length` says.

    `table`, `texts`, `further`: see Table; their unit may be any one: what is measured sets it. log seconds = log table
    + the machine's speed of late + what the row count takes beside others. A machine that others use is slow for
    minutes: what one row count took then must not be held against what another takes now.
    """

    def __init__(
        self, table: Mapping[int, float] = USUAL, texts: Mapping[int, float] = NONE, further: Mapping[int, float] = NONE
    ) -> None:
        self.table = Table(table, texts, further)
        self.length = 0.0
        """Tokens of each text, in the mean: of those that are asked about, or of those in a pass that is added."""
        self._beside: dict[tuple[int, int], PassKind] = {}  # by rows and texts
        self._usual = 0.0  # mean of what passes took beside the speed: what those take that nobody has measured
        self._is_given_up = False
        self.is_timed = False
        """Whether the table was measured on this machine, by all that is known."""
        self._slowness = 0.0  # log
        self._changes = Average(CHANGE, PRIOR_PASSES)  # passes of one row
        self._step = 0  # of the last pass
        self._num_settled = 0  # narrow passes that something was learnt of
        self._settling = Settling()
        self.num_passes = 0
        self.tried: dict[tuple[int, int], int] = {}
        """By rows and texts, passes before somebody last gave up measuring such a pass."""
        self.least = 1
        """Rows that a pass computes at least: one or two."""
        self.ladder: tuple[int, ...] = LADDER
        """Row counts that are told apart: fewer once the engine was seen to pad."""

    @classmethod
    def of(cls, engine: object) -> PassCosts:
        """As the engine has measured them, which may take it seconds the first time; else the usual ones."""
        measured = engine.pass_costs() if isinstance(engine, KnowsCosts) else None
        if measured is None or not measured.is_sound:
            return cls()
        costs = cls(measured.rows, measured.texts, measured.further)
        costs.is_timed = True
        return costs

    @property
    def unit(self) -> float:
        """Seconds of a pass of one row of a short text."""
        return self._seconds(self.least, 1, 0.0)

    @property
    def change(self) -> float:
        """Seconds that the first pass of another row count takes longer: kernels are prepared anew for it."""
        return max(0.0, self._changes.value) * self.seconds(1)

    @property
    def is_settled(self) -> bool:
        """Whether the next pass is one to compare by: see settling.py."""
        return self._settling.is_over(self.num_passes)

    @property
    def settles_in(self) -> int:
        """Narrow passes until what they take can be compared: behind a wide one, or the table, others take longer."""
        return max(self._settling.left(self.num_passes), BEGIN - self._num_settled)

    @property
    def is_new(self) -> bool:
        """Whether too few passes have come to say what one takes."""
        return self._num_settled < BEGIN

    def prompts(self, rows: int) -> None:
        """There was a pass over so many rows that scored nobody."""
        self._settling.was_wide(rows, 1, self.num_passes)

    @property
    def is_known(self) -> bool:
        """Whether the unit is."""
        return self.num_passes > KNOWN

    def add(self, rows: int, seconds: float, texts: int = 1, padding: int = 0) -> None:
        """One pass over so many rows, with `padding` more that nobody had asked for.

        Rows of that kind take about half as long as others, and what a row count takes is learnt where there are few.
        """
        if not isfinite(seconds):  # of an engine that counts them itself
            return
        computed, before, seconds = rows + padding, self._step, max(seconds, INSTANT)
        if padding and self.ladder is not PADDED:
            self._tell_fewer()
        counts = self._settling.saw(computed, texts, self.num_passes)
        self._step, self.num_passes = self.step(computed), self.num_passes + 1
        if rows == 1 and computed == 2:
            self.least = 2
        if self.is_known and not counts:
            return
        rows = computed - padding // 2
        if not self.is_known:
            slowness = log(seconds / self.table(rows, texts, self.length))
            self._slowness = min(slowness, self._slowness) if before else slowness
            return
        was_wide = is_wide(computed, texts)
        self._num_settled += not was_wide
        expected = self.seconds(rows, texts)
        if before != self._step:
            longer = (seconds - expected) / self.seconds(1)
            self._changes.add(min(max(longer, -MOST_CHANGE), MOST_CHANGE))
            expected = min(max(seconds, expected), expected + self.change)
        miss = min(max(log(seconds / expected), -WILD), WILD)
        kind = self._beside.get((self._step, texts)) or PassKind(self._usual)
        tells = FEW * padding <= computed or computed == self.least
        share = (kind.trust if tells else 1.0) / min(self.num_passes, LATELY)
        if self._num_settled <= BEGIN and not was_wide:  # the unit is known from a few passes that warmed up
            share = 1.0 / self._num_settled
        self._learn(kind if tells else None, miss, share, (rows, texts))

    def add_more(self, rows: int, seconds: float, texts: int, passes: int) -> None:
        """So many passes like the last one that was added; `seconds` of one."""
        counted = sum(self._settling.saw(rows, texts, self.num_passes + number) for number in range(passes))
        self.num_passes += passes
        if counted and isfinite(seconds):
            self._num_settled += counted
            miss = min(max(log(max(seconds, INSTANT) / self.seconds(rows, texts)), -WILD), WILD)
            kind = self._beside.get((self._step, texts)) or PassKind(self._usual)
            self._learn(kind, miss, several(kind.trust / LATELY, counted), (rows, texts), counted)

    def _learn(self, kind: PassKind | None, miss: float, share: float, shape: tuple[int, int], passes: int = 1) -> None:
        """Passes took exp(miss) times what was expected, of which so much is the machine's doing."""
        self._slowness += miss * share
        if kind is not None:
            self._beside[self._step, shape[1]] = kind
            value = kind.add(miss, self.num_passes, self._usual, passes)
            self._usual += (value - self._usual) * several(1 / min(self._num_settled + 1, LONG), passes)
        if self.is_timed and self._slowness + self._usual < BUSY and self.num_passes > ENOUGH:
            self._give_up(*shape)

    def _tell_fewer(self) -> None:
        """What was learnt of counts between those that the engine pads to is left out."""
        self.ladder = PADDED
        self._beside = {kind: known for kind, known in self._beside.items() if self.step(kind[0]) == kind[0]}

    def _give_up(self, rows: int, texts: int) -> None:
        """Go by the usual table, by which the last pass takes as long."""
        self.is_timed, self._is_given_up = False, True
        took, self.table = self.seconds(rows, texts), Table()
        self._beside, self._usual = {}, 0.0
        self._slowness = log(took / self.table(rows, texts))

    def step(self, rows: int) -> int:
        """The row count that stands for so many rows, among those that are told apart."""
        return step(rows, self.ladder)

    def passes(self, rows: int, texts: int = 1) -> int:
        """How many of so many rows and texts were measured."""
        here = self._beside.get((self.step(rows), texts))
        return 0 if here is None else here.count

    def last(self, rows: int, texts: int = 1) -> int:
        """The number of the last pass of so many rows and texts that was measured."""
        here = self._beside.get((self.step(rows), texts))
        return 0 if here is None else here.at

    def alike(self, rows: int, others: int) -> bool:
        """Whether the engine computes the same for both."""
        return self.step(max(rows, self.least)) == self.step(max(others, self.least))

    def seconds(self, rows: int, texts: int = 1) -> float:
        """Of a pass over `rows`, those of the texts and of their drafts; in units of the table at first."""
        return self._seconds(max(rows, self.least), texts, self.length)

    def _seconds(self, rows: int, texts: int, length: float) -> float:
        here = self._beside.get((self.step(rows), texts))
        beside = self._usual if here is None else here.value(self.num_passes, self._usual)
        return self.table(rows, texts, length) * exp(self._slowness + beside)

    def drifted(self) -> bool:
        """Whether row counts have come to compare otherwise than in the table, which should be measured again.

        That all take longer is no drift: the machine is shared, or the texts are long. Where all take much less, it
        had other things to do when the table was measured, which bends it; then the usual one serves so long.
        """
        if self._is_given_up:
            return True
        known = [beside.value(self.num_passes, self._usual) for (rows, _), beside in self._beside.items()
                 if rows <= self.table.last and beside.count >= ENOUGH]  # fmt: skip
        return bool(known) and max(known) - min(known) > DRIFT
