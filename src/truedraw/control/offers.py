"""The offers of one round, weighed: every node with the chance that it is reached and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truedraw.protocol import ROOT, Choice, Floats, Proposal

LEAST = 0.01  # a node that is kept less often than this is not worth a row


class Offer(NamedTuple):
    """What one source offers one text: a proposal that was weighed, or tokens that it would have to draft first."""

    source: str
    survivals: Sequence[float]  # [n] tokens that a node is worth, less what it costs to draft; falls along every path
    is_made: bool  # whether the drafts are there

    @property
    def worth(self) -> float:
        """Tokens expected."""
        return sum(self.survivals)


def survivals(proposal: Proposal, chances: Sequence[float]) -> list[float]:
    """[n] products of the chances along the path to each node."""
    found: list[float] = []
    for parent, chance in zip(proposal.parents.tolist(), chances, strict=True):
        found.append(chance if parent == ROOT else chance * found[parent])
    return found


class Pile:
    """The best offers of all texts, their nodes in the order of their worth: the first m are the best m."""

    def __init__(self, offers: Sequence[Offer | None]) -> None:
        self._offers = offers
        nodes = [
            (survival, text, node)
            for text, offer in enumerate(offers)
            if offer is not None
            for node, survival in enumerate(offer.survivals)
            if survival >= LEAST
        ]
        nodes.sort(key=lambda each: -each[0])
        self._nodes = nodes
        self.worth: Floats = np.cumsum([0.0, *(survival for survival, _, _ in nodes)])
        """[1 + nodes] tokens that the best m of them are worth."""

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def is_made(self) -> bool:
        """Whether any of these drafts are there already."""
        return any(offer is not None and offer.is_made for offer in self._offers)

    def best(self, m: int) -> float:
        """Tokens that m rows are worth."""
        return float(self.worth[min(m, len(self._nodes))])

    def of_all(self, m: int, share: float) -> float:
        """Tokens that m rows of all texts would be worth, were these, such a share of them, offered what all are."""
        return float(np.interp(m * share, np.arange(len(self.worth)), self.worth)) / share

    def worths(self, m: int) -> list[float]:
        """[texts] tokens that the best m are worth to each."""
        found = [0.0] * len(self._offers)
        for survival, text, _ in self._nodes[:m]:
            found[text] += survival
        return found

    def taken(self, m: int) -> list[Choice]:
        """What each text gets of the best m."""
        kept: list[list[int]] = [[] for _ in self._offers]
        for _, text, node in self._nodes[:m]:
            kept[text].append(node)
        return [_choice(offer, nodes) for offer, nodes in zip(self._offers, kept, strict=True)]


def _choice(offer: Offer | None, nodes: list[int]) -> Choice:
    if offer is None or not nodes:
        return Choice()
    if not offer.is_made:
        return Choice(offer.source, tokens=len(nodes))
    return Choice(offer.source, np.array(sorted(nodes), np.int64))
