"""Verifying a tree from the top: a flat rule for the siblings of one node, applied again below the one it keeps.

Exact with any flat rule that is exact at one node, because what it emits there has the law p, and so on below.
"""

from __future__ import annotations

from collections.abc import Callable

from truedraw.protocol import ROOT, Floats, Proposal, Rows, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import check, children

FlatRule = Callable[[Proposal, Floats, list[int], Draws], tuple[int | None, Floats]]
"""(proposal, p [vocab], siblings, draws) -> (the sibling that is kept, or None; the weights [vocab] of the next token
when none is). Without siblings the weights are p."""


def descend(rule: FlatRule, proposal: Proposal, rows: Rows, draws: Draws) -> Verdict:
    """Keep siblings by `rule` until none is kept, then draw one token. Raises BadProposal on an illegal law or tree."""
    check(proposal, rows)
    tree = children(proposal)
    kept: tuple[int, ...] = ()
    node = ROOT
    while True:
        chosen, weights = rule(proposal, rows[1 + node], tree[node], draws)
        if chosen is None:
            return Verdict((*kept, draws.after(weights, node)), len(kept), rejected=bool(tree[node]))
        kept = (*kept, int(proposal.tokens[chosen]))
        node = chosen
