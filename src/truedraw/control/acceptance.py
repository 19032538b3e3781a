"""How likely draft tokens are kept: of one text, and of all texts together, from which a new one starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from truedraw.protocol import Floats, Round

MEMORY = 32  # rounds that counts reach back
FIRST_KEPT, LATER_KEPT = 0.15, 0.5  # a_1, and the least of a_2, a_3, ... before they were tried
PRIOR_TRIES = 4.0  # tries that weigh as much as what was thought before
OWN_TRIES = 2.0  # the same for one text among others, which may be quite another kind


class Acceptance:
    """a_1, a_2, ...: how often draft token i is kept when those before it were; what is long ago counts less."""

    def __init__(self, longest: int) -> None:
        self._kept, self._tried = np.zeros(longest), np.zeros(longest)
        self._found, self._asked = 0.0, 0.0

    def fade(self) -> None:
        """A round has passed."""
        keep = 1 - 1 / MEMORY
        self._kept *= keep
        self._tried *= keep
        self._found, self._asked = keep * self._found, keep * self._asked

    def add(self, drafted: int, accepted: int) -> None:
        """One round in which drafts were asked for: the tokens up to the first that was not kept were tried."""
        self._asked += 1
        self._found += drafted > 0
        tried = min(drafted, accepted + 1)
        self._kept[: min(accepted, tried)] += 1
        self._tried[:tried] += 1

    def chances(self, prior: Floats | None = None) -> Floats:
        """a_1, a_2, ... [longest], `prior` being what they are thought to be.

        Without one, a token that was seldom tried is thought to do as well as the one before it.
        """
        if prior is not None:
            mixed: Floats = (self._kept + OWN_TRIES * prior) / (self._tried + OWN_TRIES)
            return mixed
        chances: list[float] = []
        for kept, tried in zip(self._kept.tolist(), self._tried.tolist(), strict=True):
            usual = max(LATER_KEPT, chances[-1]) if chances else FIRST_KEPT
            chances.append((kept + PRIOR_TRIES * usual) / (tried + PRIOR_TRIES))
        return np.array(chances)

    def found(self, prior: float = 1.0) -> float:
        """The share of rounds in which the drafter had something to offer."""
        return (self._found + PRIOR_TRIES * prior) / (self._asked + PRIOR_TRIES)


class Acceptances:
    """Every running text's own record, each leaning on that of all of them."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._all = Acceptance(longest)
        self._own: dict[int, Acceptance] = {}

    def add(self, rounds: Iterable[Round], asked: set[int]) -> None:
        """One step of the loop; `asked` are the samples that were to draft."""
        self._all.fade()
        for r in rounds:
            if r.sample in asked:
                self._all.add(r.drafted, r.accepted)
                own = self._own.setdefault(r.sample, Acceptance(self._longest))
                own.fade()
                own.add(r.drafted, r.accepted)
            if r.finish_reason is not None:
                self._own.pop(r.sample, None)

    def gains(self, samples: Sequence[int]) -> Floats:
        """[samples, longest]: the tokens that one more draft token of a sample is worth, falling along a row."""
        prior, found = self._all.chances(), self._all.found()
        fresh = found * np.cumprod(prior)
        rows = [
            fresh if (own := self._own.get(sample)) is None else own.found(found) * np.cumprod(own.chances(prior))
            for sample in samples
        ]
        return np.array(rows).reshape(len(rows), self._longest)
