"""Laws of drafts in their other form: vectors said again as what is not 0 of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truedraw.protocol import Drafter, DraftState, Floats, Law, Proposal, Randomness, SparseLaw


def sparse(law: Floats) -> SparseLaw:
    """What is not 0 of a law [vocab]."""
    tokens = np.flatnonzero(law)
    return SparseLaw(tokens, law[tokens], len(law))


def said_sparsely(proposal: Proposal) -> Proposal:
    """The same drafts; every law [vocab] as a sparse one."""
    return replace(proposal, laws=tuple(sparse(law) if isinstance(law, np.ndarray) else law for law in proposal.laws))


class Sparsely:
    """protocol.Drafter around one whose laws are vectors."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter

    def open(self, tokens: Sequence[int], law: Law) -> DraftState:
        """As the other's."""
        return self._drafter.open(tokens, law)

    def propose(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """The other's proposals, with sparse laws."""
        return [said_sparsely(proposal) for proposal in self._drafter.propose(states, budgets, randomness)]
