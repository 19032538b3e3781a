"""Rules that are exact but for one thing, which shows far down, far on, in wide trees or over many tokens only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truedraw.protocol import ROOT, Purpose, SparseLaw, Verdict
from truedraw.verify.draws import Draws
from truedraw.verify.recursive import first_kept
from truedraw.verify.token import TokenVerifier
from truedraw.verify.topdown import descend
from truedraw.verify.traversal import TraversalVerifier


class Redrawing(TraversalVerifier):
    """Draws the last token anew from the target's own row where `wrong` says; that forgets the residual."""

    def __call__(self, proposal, rows, randomness, position):
        verdict = super().__call__(proposal, rows, randomness, position)
        here = [ROOT]
        for token in verdict.tokens[:-1]:
            below = [n for n, parent in enumerate(proposal.parents.tolist()) if parent in here]
            here = [n for n in below if proposal.tokens[n] == token]
        below = [n for n, parent in enumerate(proposal.parents.tolist()) if parent in here]
        if not self.wrong(proposal, rows, position, verdict, below):
            return verdict
        weights = self.weights(rows[1 + here[0]])
        last = randomness.choose(weights, Purpose.RESIDUAL, position, 10_000)
        if any(proposal.tokens[n] == last for n in below):
            return verdict
        return replace(verdict, tokens=(*verdict.tokens[:-1], last))

    def weights(self, p):
        return p


class FromTheFourthOn(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.num_accepted >= 4 and verdict.rejected


class FromTheTwelfthOn(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.num_accepted >= 12 and verdict.rejected


class BeyondForty(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return position > 40 and verdict.rejected


class BeyondAThousand(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return position > 1000 and verdict.rejected


class OverNineTokens(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return len(rows[0]) > 8 and verdict.rejected


class Over64Tokens(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return len(rows[0]) > 64 and verdict.rejected


class BehindAHighToken(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.rejected and any(proposal.tokens[n] >= 128 for n in below)


class LargeIdsWrapAround(TokenVerifier):
    """Its tokens are of two bytes."""

    def __call__(self, *args):
        verdict = super().__call__(*args)
        return replace(verdict, tokens=tuple(token % 65536 for token in verdict.tokens))


class WithWideLaws(Redrawing):
    """A law of many tokens is cut."""

    def wrong(self, proposal, rows, position, verdict, below):
        wide = any(not isinstance(law, SparseLaw) and (law > 0).sum() > 32 for law in proposal.laws if law is not None)
        return wide and verdict.rejected


class WithThreeSiblings(Redrawing):
    """Not at the root."""

    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.num_accepted > 0 and len(below) >= 3


class WithFourSiblings(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return len(below) >= 4


class WithSparseLawsFarDown(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.num_accepted >= 4 and any(isinstance(proposal.laws[n], SparseLaw) for n in below)


class WithLawsOfBothForms(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.rejected and len({type(law) for law in proposal.laws if law is not None}) > 1


class WithACertainDraftFirst(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        laws = [proposal.laws[n] for n in below]
        return len(laws) > 1 and laws[0] is None and any(law is not None for law in laws)


class WithACertainSiblingBelow(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        kinds = {proposal.laws[n] is None for n in below}
        return verdict.num_accepted > 0 and len(kinds) > 1


class WithACertainDraftThatCannotCome(Redrawing):
    """Beside others."""

    def wrong(self, proposal, rows, position, verdict, below):
        certain = [n for n in below if proposal.laws[n] is None]
        return len(below) > 1 and any(rows[1 + int(proposal.parents[n])][proposal.tokens[n]] == 0 for n in certain)


class WithUnevenSiblingsBelow(Redrawing):
    """Of which one has more behind it than the other."""

    def wrong(self, proposal, rows, position, verdict, below):
        sizes = {int((proposal.parents == n).sum()) for n in below}
        return verdict.num_accepted > 0 and verdict.rejected and len(sizes) > 1


class WithTwoLaws(Redrawing):
    """Of siblings, none of which excludes a token that another one drew."""

    def wrong(self, proposal, rows, position, verdict, below):
        laws = [law for n in below if isinstance(law := proposal.laws[n], np.ndarray)]
        return len(laws) > 1 and not all((law > 0).tolist() == (laws[0] > 0).tolist() for law in laws)


class BonusFarDown(Redrawing):
    """The token behind five drafts that were all kept."""

    def wrong(self, proposal, rows, position, verdict, below):
        return verdict.num_accepted >= 5 and not below

    def weights(self, p):
        return p**0.9


class WhereTheTargetExcludesADraft(Redrawing):
    """In wide trees."""

    def wrong(self, proposal, rows, position, verdict, below):
        p = rows[0]
        return len(below) > 3 and any(p[proposal.tokens[n]] == 0 for n in below)


class UnderACertainTarget(Redrawing):
    """Takes the likeliest token for the only one, in trees."""

    def wrong(self, proposal, rows, position, verdict, below):
        return len(below) > 1 and rows[0].max() == 1.0

    def weights(self, p):
        return p + 0.01


class WithConfidence(Redrawing):
    def wrong(self, proposal, rows, position, verdict, below):
        return proposal.confidence is not None and verdict.rejected


class LooksAtTheFirstSixSiblings(TraversalVerifier):
    """Forgets what it tried beyond that."""

    def __call__(self, proposal, rows, randomness, position):
        if not (proposal.parents == ROOT).all() or len(proposal) <= 6:
            return super().__call__(proposal, rows, randomness, position)
        verdict = super().__call__(proposal.only(np.arange(6)), rows, randomness, position)
        last = randomness.choose(rows[0], Purpose.RESIDUAL, position, 10_000)
        return verdict if verdict.num_accepted else Verdict((last,), 0, rejected=True)


class BelievesTheFirstLaw(TokenVerifier):
    """Of siblings without replacement: only where there are four."""

    def __call__(self, proposal, rows, randomness, position):
        def rule(proposal, p, siblings, draws):
            if len(siblings) > 3:
                laws = list(proposal.laws)
                for node in siblings:
                    q, first = laws[node], laws[siblings[0]]
                    laws[node] = first if q is not None and first[int(proposal.tokens[node])] > 0 else q
                proposal = replace(proposal, laws=tuple(laws))
            return first_kept(proposal, p, siblings, draws)

        return descend(rule, proposal, rows, Draws(randomness, position))
