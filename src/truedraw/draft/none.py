"""No draft at all: every round is one step of plain sampling, through the same loop as everything else."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import NOTHING, DraftState, Law, Proposal, Randomness, Scores


class NoState:
    """protocol.DraftState that remembers nothing."""

    dozes = True  # see protocol.Dozes

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Nothing to learn."""


class NoDrafter:
    """protocol.Drafter whose proposals are empty."""

    def open(self, tokens: Sequence[int], law: Law) -> NoState:
        """A state without memory."""
        return NoState()

    def propose(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One empty proposal a state."""
        return [NOTHING for _ in states]
