"""The same number of draft tokens every round, from the first source that has any: they are asked in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Asker, Choice, Proposal, Round, Stand

ALWAYS = 1 << 30  # rounds


@dataclass(frozen=True, slots=True)
class FixedController:
    """protocol.Controller with one number; two of the same number are one, since neither remembers anything."""

    num_speculative_tokens: int

    def rest(self, samples: Sequence[int]) -> list[int]:
        """protocol.Rests: where the number is 0, this round and the next, and so on; it saves the asking."""
        return [0 if self.num_speculative_tokens else 2] * len(samples)

    def stands(self, samples: Sequence[int]) -> list[Stand]:
        """protocol.Stands: as long as anybody asks."""
        rest = 0 if self.num_speculative_tokens else ALWAYS
        return [Stand(ALWAYS, tokens=self.num_speculative_tokens, rest=rest)] * len(samples)

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        """The number, or less where the text has less room left."""
        return [{asker.sources[0]: self._tokens(asker)} if self._tokens(asker) else {} for asker in askers]

    def choose(
        self, askers: Sequence[Asker], offers: Sequence[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """All that the first source has, or else what the others are asked for, one behind the other."""
        return [self._chosen(asker, offer) for asker, offer in zip(askers, offers, strict=True)]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Nothing is learnt."""

    def _tokens(self, asker: Asker) -> int:
        return min(self.num_speculative_tokens, asker.room) if asker.sources else 0

    def _chosen(self, asker: Asker, offer: Mapping[str, Proposal]) -> Choice:
        for source, proposal in offer.items():
            if len(proposal):
                return Choice(source, np.arange(len(proposal)))
        left = [source for source in asker.sources if source not in offer]
        if not offer or not left:
            return Choice()
        return Choice(left[0], tokens=self._tokens(asker), then=tuple(left[1:]))
