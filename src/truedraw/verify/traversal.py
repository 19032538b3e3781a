"""Traversal verification, for trees of every shape: the one rule of which the others are special cases.

Weng et al., 2505.12398, NeurIPS 2025, from the leaves to the root; here for children that may each come from another
source. On a chain it is block verification (2403.10444), at depth one recursive rejection (2305.09781, 2402.14160).

State of a node n on the path under test: a weight w (1 at the root), P, what is left of p at n, and children not yet
tried. To try child x_j, drawn from Q_j given the children before it, is to go down with the weight
min(1, w P(x_j) / Q_j(x_j)). A node with nothing left to try is kept with probability w, the root always: its path is
the accepted text, and the next token is drawn from P. Where it is not kept, its parent goes on with

    R = (w P - Q_j)+,   Z = sum(R),   w <- Z / (Z + 1 - w)  (1 where 0 / 0),   P <- R / Z

Why it is exact, one child at a time: given n, child y is kept, or something below it, with mass
Q(y) min(1, w P(y) / Q(y)) = min(Q(y), w P(y)), in all w - Z. If that fails, n goes on with the weight Z / (1 - w + Z),
and 1 - w + Z is the chance of failing: n is kept with w - Z + Z = w, and y follows with
min(Q(y), w P(y)) + (w P(y) - Q(y))+ = w P(y). By induction from the leaves the text that follows the root has the law
p. Only the law of a child given everything drawn before it enters, so a node may have sampled children, with or
without replacement, from several models, and certain ones (Q a point mass), and its subtrees may differ in shape.
Whether a node is drafted, and by which law, may depend on any token drawn before it: siblings are tried in the order in
which they stand, which is to be that in which they were drawn. A child fails with the same chance whatever stands below
it, so what is below may depend on later siblings, too, and later siblings on what is below.

Free continuation. A node's last children, as far as there are certain drafts only, in them and below them, are not
tried but left for the end: when the token drawn after the kept path has a node, the next token is drawn from p there,
and so on down. A fresh draw from p is exact whatever was looked at before. For certain drafts this keeps as many tokens
as trying them and costs no pass over the vocabulary; after sampled siblings (Hu et al., 2502.18779: one sample outside
the top tokens, then the top tokens) it keeps more. A certain child that stands before a sampled draft, its own or that
of a later sibling, is tried in its turn: that draft may be there because of what is below the certain one, and whoever
looked at the draft first would then know something of what is below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truedraw.protocol import ROOT, Floats, Proposal, Randomness, Rows, Verdict
from truedraw.verify.draws import Draws, decided
from truedraw.verify.proposals import check, children
from truedraw.verify.residual import SMALLEST_MASS, excess


class TraversalVerifier:
    """protocol.Verifier for every tree; raises BadProposal, a ValueError, on an illegal law or tree.

    Siblings are tried in their order, which is to be that in which they were drawn. Equal prefixes may be repeated, but
    a drafter does better to draw siblings below one node. A vector [vocab] is held for each node of one path, and
    computed for each child that fails.
    """

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """One coin a node at most, and draws only after the accepted text."""
        check(proposal, rows)
        found = decided(rows, self.coupled, proposal, randomness, position)
        if found is not None:
            return found
        return Traversal(proposal, rows, Draws(randomness, position)).verdict()


@dataclass(slots=True)
class Stop:
    """A node on the path under test. Its weight is min(1, top / bottom), kept as a ratio for its coin."""

    node: int
    waiting: list[int]  # children to try, in order
    top: float = 1.0
    bottom: float = 1.0
    left: Floats | None = None  # P [vocab]; None: still the target's row

    @property
    def weight(self) -> float:
        """w."""
        return 1.0 if self.top >= self.bottom else self.top / self.bottom


class Traversal:
    """One round."""

    def __init__(self, proposal: Proposal, rows: Rows, draws: Draws) -> None:
        self.proposal, self.rows, self.draws = proposal, rows, draws
        self.tokens: list[int] = proposal.tokens.tolist()
        self.tree = children(proposal)
        self.tried = worth_trying(proposal)
        self.path = [self.stop(ROOT)]

    def verdict(self) -> Verdict:
        """Down along untried children, a coin at the end of the path, up where it fails."""
        while True:
            last = self.path[-1]
            if last.waiting and last.top > 0.0:
                self.path.append(self.down(last, last.waiting.pop(0)))
            elif last.node == ROOT or self.draws.keep(last.top, last.bottom, last.node):
                return self.ending()
            else:
                self.path.pop()
                self.failed(self.path[-1], last.node)

    def stop(self, node: int) -> Stop:
        """With its children, in their order."""
        return Stop(node, [child for child in self.tree[node] if self.tried[child]])

    def p(self, stop: Stop) -> Floats:
        """P [vocab]."""
        return self.rows[1 + stop.node] if stop.left is None else stop.left

    def down(self, parent: Stop, child: int) -> Stop:
        """The child, with its weight."""
        token, q = self.tokens[child], self.proposal.laws[child]
        stop = self.stop(child)
        stop.top = parent.weight * float(self.p(parent)[token])
        stop.bottom = 1.0 if q is None else float(q[token])
        return stop

    def failed(self, parent: Stop, child: int) -> None:
        """What is left at the parent after a child."""
        weight = parent.weight
        left, total = excess(weight, self.p(parent), self.proposal.laws[child], self.tokens[child])
        parent.top, parent.bottom = total, total + 1.0 - weight
        if parent.bottom == 0.0:
            parent.top = parent.bottom = 1.0
        if total > SMALLEST_MASS:
            left /= total
            parent.left = left

    def ending(self) -> Verdict:
        """The accepted text, one token, and on through whatever nodes spell it."""
        text = [self.tokens[stop.node] for stop in self.path[1:]]
        here = self.spelling(text)
        node, left = self.path[-1].node, self.path[-1].left
        while True:
            text.append(self.draws.at(self.rows, node) if left is None else self.draws.after(left, node))
            below = [child for same in here for child in self.tree[same]]
            here = [child for child in below if self.tokens[child] == text[-1]]
            if not here:
                return Verdict(tuple(text), len(text) - 1, rejected=bool(below))
            node, left = min(here), None

    def spelling(self, text: list[int]) -> list[int]:
        """Every node whose path spells `text`: equal siblings are one prefix."""
        here = [ROOT]
        for token in text:
            here = [child for node in here for child in self.tree[node] if self.tokens[child] == token]
        return here


def worth_trying(proposal: Proposal) -> list[bool]:
    """Whether a node is tried: a sampled draft stands below it or a later sibling, or is one of these; the others wait
    for the free continuation."""
    tried, parents = [law is not None for law in proposal.laws], proposal.parents.tolist()
    above = [False] * (len(tried) + 1)  # whether a child is tried, of those gone through; the last entry is ROOT's
    for node in range(len(tried) - 1, -1, -1):
        tried[node] = tried[node] or above[node] or above[parents[node]]
        above[parents[node]] = tried[node]
    return tried
