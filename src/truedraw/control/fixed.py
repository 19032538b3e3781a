"""The same number of draft tokens every round, from the first source that has any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Asker, Choice, Proposal, Round


@dataclass(frozen=True, slots=True)
class FixedController:
    """protocol.Controller with one number; two of the same number are one, since neither remembers anything."""

    num_speculative_tokens: int

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        """The number, or less where the text has less room left."""
        return [
            dict.fromkeys(asker.sources, tokens) if (tokens := min(self.num_speculative_tokens, asker.room)) else {}
            for asker in askers
        ]

    def choose(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """All of the first offer that holds anything; which that is, no drawn token's value decides."""
        found = [next(((name, each) for name, each in offer.items() if len(each)), None) for offer in offers]
        return [Choice() if one is None else Choice(one[0], np.arange(len(one[1]))) for one in found]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Nothing is learnt."""
