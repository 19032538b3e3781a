"""Lenience (Leviathan et al., 2211.17192, appendix A.5, where it is written 1 / l): p / q counts l times.

Draft token x ~ q is kept with probability min(1, l p(x) / q(x)), l >= 1; otherwise the next token is drawn from
norm((p - q)+), as under the exact rule. l = 1 is recursive rejection, token-wise verification on a chain.

What it costs. Where p >= q the law of the token is q + (1 - S) (p - q) / Z, with S = sum(min(q, l p)) and
Z = sum((p - q)+) >= 1 - S, so at most p; elsewhere it is min(q, l p) >= p. Hence at one draft, exactly,

    TV = sum(min(q, l p) - min(q, p)),

which is at most TV(p, q), and at most 1 - 1/l because min(q, l p) - p <= (1 - 1/l) min(q, l p). With siblings the
same holds for what the ones before left of p, and the sum over the siblings tried bounds the place. By the chain rule
the total variation of a whole text is at most the expected sum over its places; it soon reaches 1, hence per token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truedraw.protocol import Floats, Loss, Proposal, Randomness, Rows, Verdict
from truedraw.sampling.ranges import Numbers
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import written_out
from truedraw.verify.recursive import remainder
from truedraw.verify.topdown import descend

FACTOR = Numbers(1.0, 1e6, "from 1 to 1000000")


@dataclass(slots=True)
class Tally:
    """What the rule did."""

    tokens: int = 0
    divergence: float = 0.0  # sum over the places visited


@dataclass(frozen=True, slots=True)
class LenientVerifier:
    """protocol.LossyVerifier for every tree; `lenience` from 1 (exact) upwards.

    Raises BadParameter, and BadProposal on an illegal law or tree.
    """

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    lenience: float = 2.0
    tally: Tally = field(default_factory=Tally, init=False, compare=False)

    def __post_init__(self) -> None:
        FACTOR.check("lenience", self.lenience)

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a sibling at most, and one draw."""
        verdict = descend(self._first_kept, proposal, rows, Draws(randomness, position))
        self.tally.tokens += len(verdict.tokens)
        return verdict

    def loss(self) -> Loss:
        """The bound is known without uncertainty: both laws were there."""
        tally = self.tally
        return Loss(
            rule="lenient",
            settings={"lenience": self.lenience},
            tokens=tally.tokens,
            tv_per_token=tally.divergence / tally.tokens if tally.tokens else 0.0,
            meaning="computed along these texts; any token, on any model, is at most 1 - 1/lenience away",
            details={"tv_of_any_token": 1.0 - 1.0 / self.lenience},
        )

    def _first_kept(
        self, proposal: Proposal, p: Floats, siblings: list[int], draws: Draws
    ) -> tuple[int | None, Floats]:
        """topdown.FlatRule."""
        for node in siblings:
            token, q = int(proposal.tokens[node]), written_out(proposal.laws[node])
            self.tally.divergence += divergence(self.lenience, p, q, token)
            if draws.keep(self.lenience * p[token], 1.0 if q is None else q[token], node):
                return node, p
            p = remainder(p, q, token)
        return None, p


def divergence(lenience: float, p: Floats, q: Floats | None, token: int) -> float:
    """TV of one lenient step from p [vocab]; q None stands for the point mass at `token`."""
    if q is None:
        return min(1.0, lenience * float(p[token])) - float(p[token])
    return float((np.minimum(q, lenience * p) - np.minimum(q, p)).sum())
