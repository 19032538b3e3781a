"""Early stopping: drafts of a drafter that is very sure of itself are kept without verification, and audited.

A draft is eligible where the largest probability of its law q is at least `skip_above`: a property of the law and not
of the token, so that what an eligible place lets pass is known. With probability `audit_rate`, rho, its draft is
verified all the same, exactly; otherwise it is kept unless p excludes it (a mask, a truncation), which is rejected. So
the token has the law rho p + (1 - rho) q', where q' is q with the mass that p excludes moved to the residual, and its
total variation from p is, exactly, (1 - rho) d with

    d = sum over p(x) > 0 of (q(x) - p(x))+ <= TV(p, q).

Certain drafts are never eligible: they say nothing of how sure they are.

Where nothing is verified p is not known, so no bound can be given beforehand. The audits record d and give one
afterwards (audit.py). Other drafts are verified by recursive rejection, token-wise on a chain; with siblings p is
what the ones before left of it. In a loop that scores all drafts this saves corrections, not passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truedraw.protocol import Floats, Loss, Proposal, Purpose, Randomness, Rows, Verdict
from truedraw.sampling.ranges import MASS
from truedraw.verify.draws import Draws
from truedraw.verify.lossy.audit import DELTA, AuditedSum
from truedraw.verify.proposals import written_out
from truedraw.verify.recursive import remainder
from truedraw.verify.topdown import descend


@dataclass(slots=True)
class Tally:
    """What the rule did."""

    eligible: AuditedSum
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class SkipVerifier:
    """protocol.LossyVerifier for every tree; both settings lie above 0 and at most at 1. audit_rate 1 is exact.

    Raises BadParameter, and BadProposal on an illegal law or tree.
    """

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    skip_above: float = 0.9
    audit_rate: float = 0.1
    tally: Tally = field(init=False, compare=False)

    def __post_init__(self) -> None:
        MASS.check("skip_above", self.skip_above)
        MASS.check("audit_rate", self.audit_rate)
        object.__setattr__(self, "tally", Tally(AuditedSum(self.audit_rate)))

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Two coins a sibling at most, and one draw."""
        verdict = descend(self._first_kept, proposal, rows, Draws(randomness, position))
        self.tally.tokens += len(verdict.tokens)
        return verdict

    def loss(self) -> Loss:
        """Estimate and bound of the mean total variation a token."""
        eligible, tokens = self.tally.eligible, max(self.tally.tokens, 1)
        missed = 1.0 - self.audit_rate
        return Loss(
            rule="skip",
            settings={"skip_above": self.skip_above, "audit_rate": self.audit_rate},
            tokens=self.tally.tokens,
            tv_per_token=missed * eligible.bound / tokens,
            meaning=f"holds with probability {1 - DELTA:g}, however long the run and whenever it is read",
            details={
                "tv_per_token_estimate": missed * eligible.estimate / tokens,
                "eligible": eligible.places,
                "audited": eligible.audited,
            },
        )

    def _first_kept(
        self, proposal: Proposal, p: Floats, siblings: list[int], draws: Draws
    ) -> tuple[int | None, Floats]:
        """topdown.FlatRule."""
        for node in siblings:
            token, q = int(proposal.tokens[node]), written_out(proposal.laws[node])
            if self._passes(p, q, token, node, draws) or draws.keep(p[token], 1.0 if q is None else q[token], node):
                return node, p
            p = remainder(p, q, token)
        return None, p

    def _passes(self, p: Floats, q: Floats | None, token: int, node: int, draws: Draws) -> bool:
        """Whether a draft is kept untested."""
        if q is None or q.max() < self.skip_above:
            return False
        if draws.randomness.accept(self.audit_rate, 1.0, Purpose.AUDIT, draws.position, node):
            self.tally.eligible.looked(divergence(p, q))
            return False
        self.tally.eligible.skipped()
        return bool(p[token] > 0.0)


def divergence(p: Floats, q: Floats) -> float:
    """d: TV from p [vocab] of a place where every draft that p allows is kept."""
    return float(np.maximum(q - p, 0.0).sum(where=p > 0.0))
