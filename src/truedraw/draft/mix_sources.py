"""One source among several: what its opinions are worth."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.draft.mix_tree import UNKNOWN
from truedraw.protocol import ROOT, Proposal

LEAST, MOST = 0.01, 0.99  # chance of a certain draft, whatever its source thinks
PRIOR = 2.0  # kept tokens that weigh as much as what a source says of itself
KEPT = 0.97  # of what was learnt, from round to round: a text changes its nature


class Trust:
    """How much more, or less, than a source of certain drafts says of them is kept; of one text."""

    def __init__(self) -> None:
        self._kept = self._expected = PRIOR

    def chances(self, proposal: Proposal) -> list[float]:
        """[nodes]: how likely each is kept once its parent was."""
        said, factor = opinions(proposal), self._kept / self._expected
        return [max(LEAST, min(MOST, factor * chance)) for chance in said]

    def learn(self, proposal: Proposal, tokens: Sequence[int]) -> None:
        """What was offered in a round, drafted or not, and the text that the round then brought."""
        said = [max(0.0, chance) for chance in opinions(proposal)]  # less than nothing is a plug-in's mistake
        above, ids = proposal.parents.tolist(), proposal.tokens.tolist()
        self._kept, self._expected = KEPT * self._kept, KEPT * self._expected
        self._kept += (1 - KEPT) * PRIOR
        self._expected += (1 - KEPT) * PRIOR
        here = ROOT
        for token in tokens:
            below = [node for node, parent in enumerate(above) if parent == here]
            self._expected += min(1.0, sum(said[node] for node in below))
            here = next((node for node in below if ids[node] == token), len(ids))
            if here == len(ids):
                return
            self._kept += 1


def opinions(proposal: Proposal) -> list[float]:
    """[nodes], of the source itself."""
    if proposal.confidence is None:
        return [UNKNOWN] * len(proposal)
    found: list[float] = proposal.confidence.tolist()
    return found
