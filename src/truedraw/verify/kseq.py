"""k-SEQ: k siblings drawn independently from one law (SpecTr, Sun et al., 2310.15141, algorithm 2).

With rho >= 1, beta(rho) = sum(min(q, p / rho)) and a(rho) = 1 - (1 - beta)^k: sibling x is kept with probability
min(1, p(x) / (rho q(x))), the first that is kept wins, and otherwise the next token is drawn from
p - min(q, p / rho) a / beta. That is p in all, provided the last line is nowhere negative, which holds where
a(rho) <= rho beta(rho). a falls and rho beta rises with rho, so the least such rho, rho*, is found by bisection in
[1, k]; it is rounded up, since below rho* the law is wrong. The acceptance a(rho*) is at least 1 - 1/e of the best
possible.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from truedraw.errors import BadInput
from truedraw.protocol import Floats, Proposal, Randomness, Rows, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import dense
from truedraw.verify.residual import SMALLEST_MASS
from truedraw.verify.topdown import descend

BISECTIONS = 50  # halve [1, k] to the spacing of doubles


class KSeqVerifier:
    """protocol.Verifier for trees in which all siblings were drawn independently from one law.

    A chain is the case k = 1, token-wise verification; certain siblings must be equal. Raises BadInput on other trees
    and BadProposal on an illegal law; both are ValueErrors.
    """

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a sibling at most, and one draw."""
        return descend(first_kept, proposal, rows, Draws(randomness, position))


def first_kept(proposal: Proposal, p: Floats, siblings: list[int], draws: Draws) -> tuple[int | None, Floats]:
    """topdown.FlatRule: every sibling has the same chance, whatever became of the ones before it."""
    if not siblings:
        return None, p
    q, k = common_law(proposal, siblings, len(p)), len(siblings)
    rho = least_rho(p, q, k)
    for node in siblings:
        token = int(proposal.tokens[node])
        if draws.keep(p[token], rho * q[token], node):
            return node, p
    return None, left_over(p, q, rho, k)


def least_rho(p: Floats, q: Floats, k: int) -> float:
    """The least rho in [1, k] with a(rho) <= rho beta(rho), from above."""
    if k == 1:
        return 1.0
    low, high = 1.0, float(k)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        beta, kept = acceptance(p, q, middle, k)
        low, high = (low, middle) if kept <= middle * beta else (middle, high)
    return high


def acceptance(p: Floats, q: Floats, rho: float, k: int) -> tuple[float, float]:
    """(beta, a): the chance that one sibling is kept, and that any of k is."""
    beta = float(np.minimum(q, p / rho).sum())
    return (beta, -math.expm1(k * math.log1p(-beta))) if beta < 1.0 else (1.0, 1.0)


def left_over(p: Floats, q: Floats, rho: float, k: int) -> Floats:
    """p - min(q, p / rho) a / beta [vocab], not normalised; p where rounding leaves nothing."""
    beta, kept = acceptance(p, q, rho, k)
    if beta == 0.0:
        return p
    left: Floats = np.maximum(p - np.minimum(q, p / rho) * (kept / beta), 0.0)
    return left if left.sum() > SMALLEST_MASS else p


def common_law(proposal: Proposal, siblings: list[int], vocab: int) -> Floats:
    """The law [vocab] of all siblings; raises BadInput where they have not one."""
    laws = [dense(proposal.laws[node], vocab, int(proposal.tokens[node])) for node in siblings]
    for node, law in zip(siblings, laws, strict=True):
        if law is not laws[0] and not np.array_equal(law, laws[0]):
            raise BadInput(
                f"k-SEQ verifies siblings drawn independently from one law; nodes {siblings[0]} and {node} differ. "
                'Draft them with replacement, or verify with "traversal", which takes every tree'
            )
    return laws[0]
