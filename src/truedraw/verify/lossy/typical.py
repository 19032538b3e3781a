"""Typical acceptance (Medusa, Cai et al., 2401.10774, section 3.3.1): what is not unlikely is kept.

Draft token x is kept where p(x) > min(posterior_threshold, posterior_alpha exp(-H(p))), H the entropy in nats; no coin
is tossed and q is not looked at. Siblings are looked at in their order; where none is kept, the next token is drawn
from p. The settings have the names and defaults of vLLM and Medusa.

No useful bound exists. With a certain draft x the law of the token is the point mass at x wherever x is kept, so the
total variation there is 1 - p(x), up to 1 - posterior_threshold; temperature, which is part of p, is undone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truedraw.protocol import Floats, Loss, Proposal, Randomness, Rows, Verdict
from truedraw.sampling.ranges import MASS
from truedraw.verify.draws import Draws
from truedraw.verify.topdown import descend


@dataclass(slots=True)
class Tally:
    """What the rule did."""

    tokens: int = 0
    accepted: int = 0


@dataclass(frozen=True, slots=True)
class TypicalVerifier:
    """protocol.LossyVerifier for every tree; both settings lie above 0 and at most at 1.

    Raises BadParameter, and BadProposal on an illegal law or tree.
    """

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    posterior_threshold: float = 0.09
    posterior_alpha: float = 0.3
    tally: Tally = field(default_factory=Tally, init=False, compare=False)

    def __post_init__(self) -> None:
        MASS.check("posterior_threshold", self.posterior_threshold)
        MASS.check("posterior_alpha", self.posterior_alpha)

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One draw."""
        verdict = descend(self._first_typical, proposal, rows, Draws(randomness, position))
        self.tally.tokens += len(verdict.tokens)
        self.tally.accepted += verdict.num_accepted
        return verdict

    def loss(self) -> Loss:
        """How much was taken from the draft."""
        return Loss(
            rule="typical",
            settings={"posterior_threshold": self.posterior_threshold, "posterior_alpha": self.posterior_alpha},
            tokens=self.tally.tokens,
            tv_per_token=None,
            meaning="no useful bound exists: a draft that is kept was not drawn from the model's law",
            details={"tokens_from_drafts": self.tally.accepted},
        )

    def _first_typical(
        self, proposal: Proposal, p: Floats, siblings: list[int], draws: Draws
    ) -> tuple[int | None, Floats]:
        """topdown.FlatRule."""
        least = min(self.posterior_threshold, self.posterior_alpha * float(np.exp(-entropy(p)))) if siblings else 0.0
        return next((node for node in siblings if p[proposal.tokens[node]] > least), None), p


def entropy(p: Floats) -> float:
    """Of p [vocab], in nats."""
    positive = p[p > 0]
    return -float(positive @ np.log(positive))
