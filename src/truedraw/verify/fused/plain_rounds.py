"""What Python asks of plainly.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from truedraw.compiled import later
from truedraw.protocol import Floats, Ints, Logits, Purpose, Verdict
from truedraw.sampling.edits import Edits
from truedraw.sampling.transform import Transform
from truedraw.threads import NOBODY
from truedraw.verify.fused.edit_tables import table
from truedraw.verify.fused.judge import ASKED, Decided

if TYPE_CHECKING:
    from truedraw.threads.kept import Kept

DRAW, ADDRESS = (later("truedraw.verify.fused.plainly", name) for name in ("draw_plainly", "address_of"))
COUNTERS = later("truedraw.threads.stages", "counters")
NUM_THREADS = later("truedraw.threads.board", "num_threads")
NUM_STAGES = 2  # that have counters
ROWS, NAMES, TOLD, COUNTS = 0, 3, 6, 7  # among what it is given
UNDRAWN = -1  # in the place of a token
PURPOSES = int(Purpose.RESIDUAL), int(Purpose.TARGET)
"""Of a draw by the p/q rule, and of a coupled one."""


class Asked(NamedTuple):
    """The draw of a text for which nothing was drafted, from logits [vocab] as the kernels read them."""

    logits: Logits
    how: Transform
    name: tuple[int, int, int]  # of its randomness
    position: int
    coupled: bool  # the rule, which draws by another name than the p/q rule
    edits: Edits | None = None


class PlainJob(NamedTuple):
    """Such draws, again and again: the counters are set to 0 before, and the positions in the names to where the texts
    end; `told` is as `PlainRounds.draw` gives it."""

    job: Kept
    counters: Ints
    names: Ints  # [texts, 5], as plainly.py has them
    told: Floats


class PlainRounds:
    """Draws for many texts of one vocabulary, with memory that may serve one round after the other.

    board: of a crew (threads/) whose helpers may take part.
    """

    def __init__(self, board: Ints = NOBODY) -> None:
        self._board = board
        self._memory: tuple[Floats, Ints, Ints] = np.empty((0, 2, 0)), np.empty((0, 0), np.int64), NOBODY

    def decide(self, asked: Sequence[Asked]) -> list[Decided | None]:
        """What the rule of each decides, from the very noise; None for one that it has to decide itself."""
        return [decided(*each) for each in self.draw(asked, ASKED).tolist()]

    def draw(self, asked: Sequence[Asked], what: tuple[bool, int]) -> Floats:
        """[texts, 3]: tokens, UNDRAWN where none could be, and the logarithms of their probabilities under the law and
        before, if what[0] says so; see walk.py."""
        given = self.given(asked, what)
        DRAW()(self._board, given, not len(self._board))
        return given[TOLD]  # type: ignore[no-any-return]

    def kept(self, asked: Sequence[Asked]) -> PlainJob:
        """`decide` as a job of compiled code, round after round of texts whose laws edit nothing."""
        from truedraw.threads.kept import Kept

        given = self.given(asked, ASKED)
        return PlainJob(Kept(DRAW(), given), given[COUNTS], given[NAMES], given[TOLD])

    def given(self, asked: Sequence[Asked], what: tuple[bool, int]) -> tuple[Any, ...]:
        """As plainly.py takes it, while the rows asked of are held."""
        vocab = len(asked[0].logits)
        if self._memory[0].shape[-1] != vocab:
            threads = NUM_THREADS()(self._board)
            self._memory = np.empty((threads, 2, vocab)), np.empty((threads, vocab), np.int64), NOBODY
        rows = np.array([*map(ADDRESS(), (each.logits for each in asked))], np.int64)
        hows = np.array([each.how for each in asked], np.float64)
        names = np.array([_name(each) for each in asked], np.int64)
        told = np.full((len(asked), 3), float(UNDRAWN))
        edits = [each.edits for each in asked]
        return rows, hows, table(edits), names, what, self._memory, told, COUNTERS()(NUM_STAGES)


def _name(asked: Asked) -> tuple[int, ...]:
    """As plainly.py has it."""
    return asked.position, *asked.name, PURPOSES[asked.coupled]


def decided(token: float, after: float, before: float) -> Decided | None:
    """What was told of a text; None where it has no token."""
    if token < 0:
        return None
    return Decided(Verdict((int(token),), 0, False, False), (0,), (after,), (before,))
