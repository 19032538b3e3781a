"""Block verification of a chain (Sun et al., 2403.10444, ICLR 2025, algorithm 2): the whole draft is judged at once.

Draft x_1..x_k, x_i ~ q_i = q(.|c_{i-1}), where c_i = x_1..x_i; r_0 = 1 and

    r_i = min(1, r_{i-1} p(x_i|c_{i-1}) / q(x_i|c_{i-1}))
    Z_i = sum((r_i p(.|c_i) - q(.|c_i))+),   h_i = Z_i / (Z_i + 1 - r_i) below k,   h_k = r_k

With independent coins of probability h_i, tau is the LAST i whose coin succeeds, 0 if none does: a token that looks
bad by itself is kept when what follows makes up for it. The next token is drawn from (r_tau p - q)+ after c_tau, or
from p where tau = k.

Why it is exact: P(tau >= i, c_i) = r_i q(c_i). At k this is h_k = r_k. Below, sum(min(q, r_i p)) = r_i - Z_i is the
chance that a longer prefix is kept, so r_i - Z_i + (1 - r_i + Z_i) h_i = r_i. Then y follows c_i, tau >= i, with mass
q(c_i) [(r_i p(y) - q(y))+ + min(q(y), r_i p(y))] = q(c_i) r_i p(y|c_i): law p, given tau >= i.

The coins are tossed from the last to the first and stop at a success, so Z costs one pass over the vocabulary for each
failed coin. For certain drafts the rule keeps as many tokens as token-wise verification, otherwise never fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truedraw.protocol import ROOT, DraftLaw, Proposal, Randomness, Rows, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import check, check_chain
from truedraw.verify.residual import SMALLEST_MASS, excess


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of draft nodes below `start`; laws[i] is the law its token was drawn from, None = certain.

    Laws below a token that p excludes may be left out.
    """

    start: int  # a node, or ROOT
    nodes: tuple[int, ...]
    tokens: tuple[int, ...]
    laws: tuple[DraftLaw | None, ...]

    def node(self, kept: int) -> int:
        """The node after `kept` tokens."""
        return self.nodes[kept - 1] if kept else self.start

    def ratio(self, i: int, weight: float, rows: Rows) -> tuple[float, float]:
        """(weight p, q) of token i."""
        q = self.laws[i]
        p = rows[1 + self.node(i)]
        return weight * float(p[self.tokens[i]]), 1.0 if q is None else float(q[self.tokens[i]])


class BlockVerifier:
    """protocol.Verifier for chains whose draft tokens have a law or are certain, of any length.

    The length may depend on the drafted tokens as long as the last one is kept. Raises BadInput on other trees and
    BadProposal on an illegal law; both are ValueErrors.
    """

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a draft token at most, and one draw."""
        check_chain(proposal)
        check(proposal, rows)
        tokens = tuple(proposal.tokens.tolist())
        path = Path(ROOT, tuple(range(len(tokens))), tokens, proposal.laws)
        kept, following = block(path, rows, Draws(randomness, position))
        return Verdict((*tokens[:kept], following), kept, rejected=kept < len(tokens))


def block(path: Path, rows: Rows, draws: Draws) -> tuple[int, int]:
    """(tau, the token after it) of a path."""
    k = len(path.nodes)
    weights = prefix_weights(path, rows)
    if k == 0 or (len(weights) == k and draws.keep(*path.ratio(k - 1, weights[k - 1], rows), path.nodes[k - 1])):
        return k, draws.after(rows[1 + path.node(k)], path.node(k))
    for kept in range(len(weights) - 1, -1, -1):
        p = rows[1 + path.node(kept)]
        left, total = excess(weights[kept], p, path.laws[kept], path.tokens[kept])
        if kept == 0 or survives(total, weights[kept], path.nodes[kept - 1], draws):
            return kept, draws.after(left if total > SMALLEST_MASS else p, path.node(kept))
    raise AssertionError("the empty prefix always survives")


def prefix_weights(path: Path, rows: Rows) -> list[float]:
    """r_0 .. r_{k-1}; fewer where one is 0, as it stays so: no row below a token that p excludes is looked at."""
    weights = [1.0]
    for i in range(len(path.nodes) - 1):
        p, q = path.ratio(i, weights[-1], rows)
        if p == 0.0:
            break
        weights.append(min(1.0, p / q))
    return weights


def survives(total: float, weight: float, node: int, draws: Draws) -> bool:
    """The coin of probability h = total / (total + 1 - weight), 1 where that is 0 / 0."""
    mass = total + 1.0 - weight
    return mass <= 0.0 or draws.keep(total, mass, node)
