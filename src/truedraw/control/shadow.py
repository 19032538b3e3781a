"""What would have become of a draft of certain tokens, whether it was taken or not: the text itself tells.

A certain token is kept exactly when the target draws it. So an offer that was not taken is followed along the text that
came instead, over as many rounds as it lasts, and a drafter is judged without a single row of the target's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from truedraw.protocol import ROOT, Proposal


class Fate(NamedTuple):
    """Of one token whose parent was kept."""

    odds: float  # of the drafter's confidence
    is_first: bool  # it follows the committed text directly
    kept: bool


class Shadow:
    """A proposal beside a text, with the log-odds of its confidence; `ended` once the text has left it."""

    def __init__(self, proposal: Proposal, odds: Sequence[float]) -> None:
        self._tokens, self._odds = proposal.tokens.tolist(), odds
        self._below: dict[int, list[int]] = {}
        for node, parent in enumerate(proposal.parents.tolist()):
            self._below.setdefault(parent, []).append(node)
        self._here = ROOT
        self._is_new = True

    @property
    def ended(self) -> bool:
        """Whether nothing more will be learnt."""
        return self._here not in self._below

    def follow(self, tokens: Sequence[int], forced: int = 0) -> Iterator[Fate]:
        """The text goes on by `tokens`; the first round's `forced` ones stood before the proposal."""
        behind = tokens[forced:] if self._is_new else tokens
        self._is_new = False
        for token in behind:
            below, is_first = self._below.pop(self._here, ()), self._here == ROOT
            for node in below:
                kept = self._tokens[node] == token
                yield Fate(self._odds[node], is_first, kept)
                if kept:
                    self._here = node
            if self._here not in self._below:
                return
