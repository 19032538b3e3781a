"""How often the first, second, ... candidate at one place is kept: what the shape of a drawn tree follows.

Learnt from rounds that have ended, so what a round drafts is settled before it draws (algorithm L2); texts that learn
from one another remain independent, see ngram_lm.py. What is long ago counts less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from truedraw.draft.shape import Level, chain_of, levels, worths
from truedraw.protocol import ROOT, Proposal, Scores

MEMORY = 400  # places that counts reach back
PRIOR_TRIES = (
    40.0  # tries that weigh as much as what was thought before: an unlucky start must not end all further ones
)
STEP = 0.01  # chances are told in such steps, so that shapes are met again
EVERY = 8  # places between two looks at what was learnt


class Siblings:
    """`chances` by number: that a candidate is kept and none before it was.

    `first` guesses, each in [0, 1] and given that none before it was kept, hold until more is known. One thread at a
    time; drafters of a model share it.
    """

    def __init__(self, first: Sequence[float]) -> None:
        self._prior = [*map(float, first)]
        self._kept, self._tried = [0.0] * len(first), [0.0] * len(first)
        self._places = 0
        self.chances = self._settled()

    def saw(self, offered: int, kept: int | None) -> None:
        """At one place so many candidates were tried, and the one of this number kept; None: none was.

        Nothing is known of further candidates than there were guesses.
        """
        self._places += 1
        tried = offered if kept is None else kept + 1
        fades = 1 - 1 / MEMORY
        self._kept = [fades * each + (number == kept) for number, each in enumerate(self._kept)]
        self._tried = [fades * each + (number < tried) for number, each in enumerate(self._tried)]
        if self._places % EVERY == 0:
            self.chances = self._settled()

    def _settled(self) -> tuple[float, ...]:
        """Each at most the one before: what was seldom tried is not believed to be better."""
        numbers = zip(self._kept, self._tried, self._prior, strict=True)
        left, found = 1.0, list[float]()
        for chance in [(kept + PRIOR_TRIES * prior) / (tried + PRIOR_TRIES) for kept, tried, prior in numbers]:
            told = max(round(left * chance / STEP), 1) * STEP
            found.append(min(told, found[-1]) if found else told)
            left *= 1.0 - chance
        return tuple(found)


class Settled(Siblings):
    """Chances that nothing changes: for a drafter that is asked outside a run."""

    def saw(self, offered: int, kept: int | None) -> None:
        """Nothing is learnt."""


class Known(Protocol):
    """What is known of one drafter's candidates under one kind of rule."""

    def __call__(self, first: Sequence[float]) -> Siblings:
        """From these guesses on, where nothing is known yet."""
        ...


class Trees:
    """Shapes for one drafter: by what was learnt, or with a fixed number of candidates for the first token.

    chains: the rule takes nothing else. narrow: an engine computes every branch as a text of its own, and a second
    candidate takes more than it brings (a chain of two 0.98 of a plain pass, two candidates 1.15, SmolLM2-135M).
    """

    def __init__(
        self,
        siblings: Siblings,
        deepest: int,
        fixed: int | None = None,
        *,
        chains: bool = False,
        narrow: bool = False,
    ) -> None:
        self._siblings, self._deepest = siblings, deepest
        self._fixed = 1 if chains else fixed
        self._candidates = 1 if narrow else None

    def levels(self, nodes: int) -> tuple[Level, ...]:
        """Of at most so many nodes."""
        if self._fixed is not None:
            return chain_of(self._fixed, nodes)[: self._deepest]
        return levels(nodes, self._chances(), self._deepest)

    def worths(self, nodes: int) -> tuple[tuple[float, int], ...] | None:
        """Tokens that each node is worth, and its level; None where they are told by position."""
        return None if self._fixed is not None else worths(nodes, self._chances(), self._deepest)

    def _chances(self) -> tuple[float, ...]:
        return self._siblings.chances[: self._candidates]

    def learn(self, tokens: Sequence[int], drafted: Proposal | None, scores: Scores | None) -> None:
        """The text went on by `tokens` when `drafted` was, or was not, what the target scored.

        Certain drafts have no part in how a text goes on, so what would have been kept of them is seen anyway.
        """
        if drafted is None or scores is None:
            return
        if scores.proposal is not drafted and any(law is not None for law in drafted.laws):
            return
        below: dict[int, list[int]] = {}
        for node, parent in enumerate(drafted.parents.tolist()):
            below.setdefault(parent, []).append(node)
        here, ids = ROOT, drafted.tokens.tolist()
        for token in tokens:
            places = below.get(here)
            if not places:
                return
            kept = next((number for number, node in enumerate(places) if ids[node] == token), None)
            self._siblings.saw(len(places), kept)
            if kept is None:
                return
            here = places[kept]
