"""Known bugs around texts that no token may follow, as small changes to the rows of a round."""

from __future__ import annotations

from truedraw.generate.rows import LawRows
from truedraw.protocol import Verdict
from truedraw.sampling.law import one_hot


class RaisesWhereNoTextCame(LawRows):
    """A row behind drafts that may be rejected, or behind the end, raises what plain sampling would raise there."""

    def _p(self, row):
        return self._law(row)(self._logits[row])


class GoesOn(LawRows):
    """The law that a rule is shown there is taken for the target's."""

    def reached(self, verdict):
        return verdict


class DropsWhatLeadsThere(LawRows):
    """A draft that leads nowhere is taken back, and something else is drawn in its place: the text avoids errors."""

    def reached(self, verdict):
        found = super().reached(verdict)
        if len(found.tokens) > found.num_accepted or len(found.tokens) < 2:
            return found
        return Verdict(found.tokens[:-1], len(found.tokens) - 1, rejected=False)


class ShowsALawThatKnowsTheDraft(LawRows):
    """The law shown there excludes the first draft below it: what is kept above then depends on what was drawn."""

    def _p(self, row):
        p = super()._p(row)
        below = [t for t, above in zip(self._proposal.tokens, self._proposal.parents, strict=True) if above == row - 1]
        return one_hot(int(below[0] + 1) % len(p), len(p)) if row in self._closed and below else p


MUTANTS = {
    "raises where no text came": RaisesWhereNoTextCame,
    "goes on": GoesOn,
    "drops what leads there": DropsWhatLeadsThere,
    "shows a law that knows the draft": ShowsALawThatKnowsTheDraft,
}
