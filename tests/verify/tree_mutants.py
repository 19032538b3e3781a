"""Known bugs of the tree rules, as small changes to production code."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import numpy as np

from truedraw.protocol import ROOT, Purpose, Verdict
from truedraw.verify import kseq, multipath, recursive, traversal
from truedraw.verify.draws import Draws
from truedraw.verify.kseq import KSeqVerifier
from truedraw.verify.multipath import MultipathVerifier
from truedraw.verify.proposals import check
from truedraw.verify.recursive import RecursiveVerifier
from truedraw.verify.residual import excess
from truedraw.verify.traversal import Traversal, TraversalVerifier

SHARPER = 2.0  # exponent of a law at half its temperature


class Traversing(TraversalVerifier):
    """The production verifier with another round."""

    def __init__(self, kind: type[Traversal] = Traversal) -> None:
        self.kind = kind

    def __call__(self, proposal, rows, randomness, position):
        check(proposal, rows)
        return self.kind(proposal, rows, Draws(randomness, position)).verdict()


class ForgetsTheWeight(Traversal):
    """After a failed child its parent is as good as new."""

    def failed(self, parent, child):
        super().failed(parent, child)
        parent.top = parent.bottom = 1.0


class KeepsTheWeight(Traversal):
    """The weight of a node is not lowered by a failed child."""

    def failed(self, parent, child):
        top, bottom = parent.top, parent.bottom
        super().failed(parent, child)
        parent.top, parent.bottom = top, bottom


class ResidualWithoutWeight(Traversal):
    """(P - Q)+ where (w P - Q)+ belongs."""

    def failed(self, parent, child):
        p = self.p(parent)
        super().failed(parent, child)
        left, total = excess(1.0, p, self.proposal.laws[child], self.tokens[child])
        parent.left = left / total if total > 0 else p


class ResidualOfTheFullTarget(Traversal):
    """Each sibling is subtracted from the row, not from what the siblings before it left."""

    def failed(self, parent, child):
        parent.left = None
        super().failed(parent, child)


class ResidualFromP(Traversal):
    """A rejected text goes on from p: an old rollout resumed where it was refused."""

    def failed(self, parent, child):
        super().failed(parent, child)
        parent.left = None


class SampledFirst(Traversal):
    """Sampled siblings before certain ones, whatever order they were drawn in: one may be there because of what stands
    below a certain one."""

    def stop(self, node):
        stop = super().stop(node)
        stop.waiting.sort(key=lambda child: self.proposal.laws[child] is None)
        return stop


class TriesWhereSomethingIsBelow(Traversal):
    """A certain child is left for the end, or not, as something sampled stands below it, which its siblings decide."""

    def __init__(self, proposal, rows, draws):
        super().__init__(proposal, rows, draws)
        self.tried = [law is not None for law in proposal.laws]
        for node in range(len(proposal) - 1, -1, -1):
            if self.tried[node] and proposal.parents[node] != ROOT:
                self.tried[int(proposal.parents[node])] = True
        self.path = [self.stop(ROOT)]


class SkipsDuplicates(Traversal):
    """A sibling that repeats an earlier one is passed over without an update."""

    def stop(self, node):
        stop = super().stop(node)
        seen: set[int] = set()
        stop.waiting = [c for c in stop.waiting if not (self.tokens[c] in seen or seen.add(self.tokens[c]))]
        return stop


class DecidesFirstWhereLaterSiblingsReachDeeper(Traversal):
    """A node below a draft is decided before what stands below it where a later sibling there reaches deeper.

    So traversal would keep what recursive rejection keeps there, which may be more. For a shape that is settled before
    anything is drawn that is exact; of a tree that was drawn nobody knows what else could have been.
    """

    def verdict(self):
        self.sure = {ROOT}
        while True:
            last = self.path[-1]
            if last.node not in self.sure and last.left is None and self.is_uneven(last.node):
                if self.draws.keep(last.top, last.bottom, last.node):
                    self.sure.add(last.node)
                    last.top = last.bottom = 1.0
                else:
                    self.up()
            elif last.waiting and last.top > 0.0:
                self.path.append(self.down(last, last.waiting.pop(0)))
            elif last.node in self.sure or self.draws.keep(last.top, last.bottom, last.node):
                return self.ending()
            else:
                self.up()

    def up(self):
        node = self.path.pop().node
        self.failed(self.path[-1], node)

    def is_uneven(self, node):
        depths = [self.depth(child) for child in self.tree[node]]
        return any(a < b for a, b in pairwise(depths))

    def depth(self, node):
        return 1 + max(map(self.depth, self.tree[node]), default=0)


class Uncapped(traversal.Stop):
    __slots__ = ()

    @property
    def weight(self):
        return self.top / self.bottom


class UncappedWeight(Traversal):
    """A child better than its draft carries its surplus on."""

    def down(self, parent, child):
        stop = super().down(parent, child)
        return Uncapped(stop.node, stop.waiting, stop.top, stop.bottom)


class RowOfTheParent(Traversal):
    """Off by one: a node is judged with the row that stands above it."""

    def p(self, stop):
        if stop.left is None and stop.node != ROOT:
            return self.rows[1 + int(self.proposal.parents[stop.node])]
        return super().p(stop)


class OneCoinForSiblings(Traversal):
    """Coins named by their depth: siblings see the same number."""

    def verdict(self):
        with mock.patch.object(Draws, "keep", lambda draws, p, q, node: draws.randomness.accept(
                p, q, Purpose.ACCEPT, draws.position, len(self.path))):  # fmt: skip
            return super().verdict()


class ResidualOfACertainDraft(Traversal):
    """A sampled draft is kept by p / q, and only its token is taken out when it is not."""

    def failed(self, parent, child):
        p = self.p(parent)
        super().failed(parent, child)
        left, total = excess(1.0, p, None, self.tokens[child])
        parent.left = left / total if total > 0 else p


class SharpenedLaw(Traversal):
    """q recomputed at another temperature than the one that was sampled from."""

    def __init__(self, proposal, rows, draws):
        super().__init__(proposal, rows, draws)
        sharp = tuple(None if q is None else q**SHARPER / (q**SHARPER).sum() for q in proposal.laws)
        self.proposal = type(proposal)(proposal.tokens, proposal.parents, sharp)


def argmax_match(proposal, p, siblings, draws):
    """Greedy verification of a sampled text: kept where it is the target's likeliest token."""
    best = [node for node in siblings if proposal.tokens[node] == int(np.argmax(p))]
    return (best[0] if best else None), p


def patched(rule, module, name, value):
    """The rule with one function of its module replaced."""

    def verify(*args) -> Verdict:
        with mock.patch.object(module, name, value):
            return rule(*args)

    verify.__name__ = f"{type(rule).__name__}:{name}"
    return verify


def closer_to_one(part: float):
    original = kseq.least_rho
    return lambda p, q, k: 1 + part * (original(p, q, k) - 1)


def no_share(p, q, rho, k):
    """k-SEQ's residual without the factor a / beta."""
    left = np.maximum(p - np.minimum(q, p / rho), 0)
    return left if left.any() else p


def best_path(proposal, start, paths, rows):
    """The path that the target likes most, verified as if it had been the only one."""
    tokens = proposal.tokens
    weight = {path: np.prod([rows[int(proposal.parents[n]) + 1][tokens[n]] for n in path]) for path in paths}
    best = max(paths, key=lambda path: weight[path])
    laws = tuple(proposal.laws[node] for node in best)
    return multipath.Path(start, best, tuple(tokens[list(best)].tolist()), laws)


TRAVERSALS = [
    ForgetsTheWeight, KeepsTheWeight, ResidualWithoutWeight, ResidualOfTheFullTarget, ResidualFromP, SkipsDuplicates,
    UncappedWeight, RowOfTheParent, OneCoinForSiblings, ResidualOfACertainDraft, SharpenedLaw, SampledFirst,
    TriesWhereSomethingIsBelow, DecidesFirstWhereLaterSiblingsReachDeeper,
]  # fmt: skip
MUTANTS = {
    **{kind.__name__: Traversing(kind) for kind in TRAVERSALS},
    "ArgmaxMatch": patched(RecursiveVerifier(), recursive, "first_kept", argmax_match),
    "SiblingsAgainstP": patched(RecursiveVerifier(), recursive, "remainder", lambda p, q, token: p),
    "SiblingsUnnormalised": patched(RecursiveVerifier(), recursive, "remainder", lambda p, q, t: excess(1.0, p, q, t)[0]
                                    if excess(1.0, p, q, t)[1] > 0 else p),
    "RhoIsOne": patched(KSeqVerifier(), kseq, "least_rho", closer_to_one(0.0)),
    "RhoTooLow": patched(KSeqVerifier(), kseq, "least_rho", closer_to_one(0.9)),
    "KSeqResidualWithoutShare": patched(KSeqVerifier(), kseq, "left_over", no_share),
    "SelectedPathAsIfAlone": patched(MultipathVerifier(), multipath, "first_law", lambda q, before, share, k: q),
    "BestOfThePaths": patched(MultipathVerifier(), multipath, "selected", best_path),
    "ShareNotNarrowed": patched(MultipathVerifier(), multipath, "first_law",
                                lambda q, before, share, k: ORIGINAL_LAW(q, before, 1.0, k)),
    "PathsCountedTwice": patched(MultipathVerifier(), multipath, "first_law",
                                 lambda q, before, share, k: ORIGINAL_LAW(q, before, share, 2 * k)),
}  # fmt: skip
ORIGINAL_LAW = multipath.first_law
