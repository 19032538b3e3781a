"""What rounds are drawn and decided with, one after the other."""

from __future__ import annotations

from truedraw.protocol import Ints
from truedraw.sampling.drawing import RowDraws
from truedraw.sampling.randomness import warm_up as warm_up_draws
from truedraw.threads import NOBODY
from truedraw.threads.board import num_threads
from truedraw.verify.fused.judge import Judge
from truedraw.verify.fused.judge import warm_up as warm_up_rounds
from truedraw.verify.fused.plain_rounds import PlainRounds

MOST_JUDGES = 4  # there is a job for each of them and each text


class Means:
    """What rows are drawn and decided with: memory that may serve one round after the other, and the board of a crew
    (threads/) whose helpers may take part."""

    def __init__(self, board: Ints = NOBODY) -> None:
        self.draws, self.judge, self.plain_rounds = RowDraws(board), Judge(board), PlainRounds(board)
        self.judges = [Judge() for _ in range(min(num_threads(board), MOST_JUDGES))]  # each of texts of its own


def warm_up() -> None:
    """Load the compiled code that every text needs, so that its first token does not wait for it."""
    warm_up_draws()  # first: it is what begins to look how long the compiler takes
    warm_up_rounds()
