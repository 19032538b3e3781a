"""What a pass costs by its rows and texts: a table measured once a machine, and how passes have done by it since."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, isfinite, log

from truedraw.control.average import Average
from truedraw.control.pass_kind import PRIOR_PASSES, PassKinds, Shape, several
from truedraw.control.settling import Settling, is_wide
from truedraw.control.table import LADDER, NONE, PADDED, USUAL, Table, step, whole
from truedraw.protocol import KnowsCosts
from truedraw.protocol.able import is_able

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
"""What the work that is done on each row after a pass makes of it stays below this."""
ENOUGH = 32  # passes of a row count before it is compared


class PassCosts:
    """Seconds of a pass over so many rows of so many texts, which are as long as `length` says.

    Of `table` and what follows, see Table, the unit may be any one: what is measured sets it. log seconds = log table +
    the machine's speed of late + what the row count takes beside others. A machine that others use is slow for minutes:
    what one row count took then must not be held against what another takes now.
    """

    def __init__(
        self, table: Mapping[int, float] = USUAL, texts: Mapping[int, float] = NONE,
        further: Mapping[int, float] = NONE, measured: int = 0,
    ) -> None:  # fmt: skip
        self.table = Table(table, texts, further, measured)
        self.length = 0.0
        """Tokens of each text, in the mean: of those that are asked about, or of those in a pass that is added."""
        self._beside = PassKinds()
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
        measured = whole(engine.pass_costs()) if is_able(engine, KnowsCosts) else None
        if measured is None or not measured.is_sound:
            return cls()
        costs = cls(measured.rows, measured.texts, measured.further, measured.length)
        costs.is_timed = True
        return costs

    @property
    def unit(self) -> float:
        """Seconds of a pass of one row of a short text."""
        return self.seconds(1, 1, 0.0)

    @property
    def slowness(self) -> float:
        """How slow the machine has been of late, to be compared with itself."""
        return exp(self._slowness)

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
        tells = FEW * padding <= computed or computed == self.least
        share = (self._beside.of((self._step, texts)).trust if tells else 1.0) / min(self.num_passes, LATELY)
        if self._num_settled <= BEGIN and not was_wide:  # the unit is known from a few passes that warmed up
            share = 1.0 / self._num_settled
        self._learn(seconds / expected, share, (rows, texts), tells=tells)

    def add_more(self, rows: int, seconds: float, texts: int, passes: int) -> None:
        """So many passes like the last one that was added; `seconds` of one."""
        counted = sum(self._settling.saw(rows, texts, self.num_passes + number) for number in range(passes))
        self.num_passes += passes
        if counted and isfinite(seconds):
            self._num_settled += 0 if is_wide(rows, texts) else counted
            share = several(self._beside.of((self._step, texts)).trust / min(self.num_passes, LATELY), counted)
            self._learn(max(seconds, INSTANT) / self.seconds(rows, texts), share, (rows, texts), counted)

    def _learn(self, times: float, share: float, shape: Shape, passes: int = 1, *, tells: bool = True) -> None:
        """Passes took so many times what was expected, a share of which is the machine's doing; of their row count it
        `tells`."""
        miss = min(max(log(times), -WILD), WILD)
        self._slowness += miss * share
        if tells:
            self._beside.add((self._step, shape[1]), miss, self.num_passes, self._num_settled, passes)
        if self.is_timed and self._slowness + self._beside.usual < BUSY and self.num_passes > ENOUGH:
            self._give_up(*shape)

    def _tell_fewer(self) -> None:
        """What was learnt of counts between those that the engine pads to is left out."""
        self.ladder = PADDED
        self._beside.keep(lambda rows: self.step(rows) == rows)

    def _give_up(self, rows: int, texts: int) -> None:
        """Go by the usual table, by which the last pass takes as long."""
        self.is_timed, self._is_given_up = False, True
        took, self.table = self.seconds(rows, texts), Table()
        self._beside = PassKinds()
        self._slowness = log(took / self.table(rows, texts))

    def step(self, rows: int) -> int:
        """The row count that stands for so many rows, among those that are told apart."""
        return step(rows, self.ladder)

    def passes(self, rows: int, texts: int = 1) -> int:
        """How many of so many rows and texts were measured."""
        return self._beside.of((self.step(rows), texts)).count

    def last(self, rows: int, texts: int = 1) -> int:
        """The number of the last pass of so many rows and texts that was measured."""
        return self._beside.of((self.step(rows), texts)).at

    def alike(self, rows: int, others: int) -> bool:
        """Whether the engine computes the same for both."""
        return self.step(max(rows, self.least)) == self.step(max(others, self.least))

    def seconds(self, rows: int, texts: int = 1, length: float | None = None) -> float:
        """Of a pass over `rows`, those of the texts and of their drafts; in units of the table at first. None: `length`
        is as it is."""
        rows, length = max(rows, self.least), self.length if length is None else length
        beside = self._beside.value((self.step(rows), texts), self.num_passes)
        return self.table(rows, texts, length) * exp(self._slowness + beside)

    def drifted(self) -> bool:
        """Whether row counts have come to compare otherwise than in the table, which should be measured again.

        That all take longer is no drift: the machine is shared. Where all take much less, it
        had other things to do when the table was measured, which bends it; then the usual one serves so long.
        """
        return self._is_given_up or self._beside.spread(self.table.last, ENOUGH, self.num_passes) > DRIFT
