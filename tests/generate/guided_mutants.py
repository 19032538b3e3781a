"""Known bugs of guided generation under speculation, as small changes to production code. The oracle must catch all."""

from __future__ import annotations

from generate.law_mutants import FrozenOverTheWindow, without
from known_laws import TableDrafter
from truedraw.generate.rows import LawRows
from truedraw.protocol import Proposal
from truedraw.sampling.grammar import OVER, Grammar


class Unguided(TableDrafter):
    """No bug: a drafter that samples from its table and knows of no grammar."""

    def law_after(self, state, text):
        state = type(state)(state.text, without(state.law, "Grammar"))
        return super().law_after(state, text)


class DropsIllegalDrafts(Unguided):
    """An illegal sampled draft is cut away, with what follows it, instead of being rejected."""

    def chain(self, state, budget, randomness):
        proposal = super().chain(state, budget, randomness)
        grammar = next(step for step in state.law._steps if isinstance(step, Grammar) or step is OVER)
        for count, token in enumerate(proposal.tokens.tolist()):
            if not isinstance(grammar, Grammar) or not grammar.legal()[token]:
                return Proposal.chain(proposal.tokens[:count].tolist(), proposal.laws[:count])
            grammar = grammar.after(token, None)
        return proposal


class UnmaskedBonusRow(LawRows):
    """The row after the last draft is not masked."""

    def _law(self, row):
        law = super()._law(row)
        return without(law, "Grammar") if row == len(self._proposal) > 0 else law

    def law_after(self, tokens):
        law = self._laws[0]
        for row, token in zip(self._rows_of(tokens), tokens, strict=True):
            law = law.after(token, self[row])
        return law


class FirstMaskForAll(FrozenOverTheWindow):
    """The drafted tokens do not move the grammar: every row is masked like the first."""


class SharedMatcher(Grammar):
    """One matcher for all branches, moved on by whoever looks."""

    __slots__ = ()

    def after(self, token, p):
        if token in self.end_ids or not self.matcher.consume_token(token):
            return OVER
        return self
