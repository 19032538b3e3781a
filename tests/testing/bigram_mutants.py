"""The drafter of docs/plugins.md, and some that are right but for one thing about the law of their draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from testing.test_plugins_page import NAMES
from truedraw.protocol import Proposal, Purpose

Bigrams = NAMES["BigramDrafter"]
State = NAMES["BigramState"]


def cut(proposal: Proposal, keeps) -> Proposal:
    """Up to the first token that `keeps(law, token)` denies."""
    pairs = zip(proposal.laws, proposal.tokens.tolist(), strict=True)
    kept = next((node for node, (law, token) in enumerate(pairs) if not keeps(law, token)), len(proposal))
    return proposal.only(np.arange(kept))


class Drawing(Bigrams):
    """Its tokens are made by `token` from the laws that it hands over."""

    def chain(self, state, budget, randomness):
        tokens, laws, last = [], [], state.text[-1]
        while len(tokens) < budget and state.after[last]:
            law = np.bincount(list(state.after[last].elements()), minlength=self.vocab_size).astype(float)
            laws.append(law / law.sum())
            last = self.token(laws[-1], randomness, len(state.text), len(tokens))
            tokens.append(last)
        return Proposal.chain(tokens, laws)


class ArgmaxAsASample(Drawing):
    def token(self, law, randomness, position, node):
        return int(law.argmax())


class BestOfTwo(Drawing):
    def token(self, law, randomness, position, node):
        two = [randomness.choose(law, Purpose.DRAFT, position, 2 * node + i) for i in (0, 1)]
        return max(two, key=lambda token: law[token])


class DropsTheUnlikely(Bigrams):
    def chain(self, *asked):
        return cut(super().chain(*asked), lambda law, token: law[token] >= 0.34)


class SaysAFlatLaw(Bigrams):
    def chain(self, *asked):
        drawn = super().chain(*asked)
        return Proposal.chain(drawn.tokens.tolist(), [(law > 0) / (law > 0).sum() for law in drawn.laws])


class CopiesInACall(Bigrams):
    """Equal texts of a call get one chain."""

    def propose(self, states, budgets, randomness):
        made = {}
        for state, *asked in zip(states, budgets, randomness, strict=True):
            key = (*state.text, -1, asked[0])
            made[key] = made.get(key) or self.chain(state, *asked)
        return [made[(*state.text, -1, budget)] for state, budget in zip(states, budgets, strict=True)]


class LooksAhead(State):
    def ahead(self, tokens):
        return Behind([*self.text, *tokens])


class Behind(LooksAhead):
    """Where a law left no choice."""


class LikeliestBehindForcedTokens(ArgmaxAsASample):
    def open(self, tokens, law):
        return LooksAhead(tokens)

    def token(self, law, randomness, position, node):
        return randomness.choose(law, Purpose.DRAFT, position, node)

    def chain(self, state, budget, randomness):
        whole = super().chain(state, budget, randomness)
        if not isinstance(state, Behind):
            return whole
        return Proposal.chain([int(law.argmax()) for law in whole.laws[:1]], whole.laws[:1])


class Dropping(Bigrams):
    """Drops the lowest id, which it looks at, where `when` says."""

    def chain(self, state, budget, randomness):
        drawn = super().chain(state, budget, randomness)
        return cut(drawn, lambda law, token: token > 0) if self.when(state, budget) else drawn


class DropsInLongTexts(Dropping):
    def when(self, state, budget):
        return len(state.text) >= 20


class DropsWithALargeBudget(Dropping):
    def when(self, state, budget):
        return budget >= 5


class DropsAtATemperature(Dropping):
    def open(self, tokens, law):
        state = super().open(tokens, law)
        state.law = law
        return state

    def when(self, state, budget):
        return state.law.temperature in (0.7, 0.8)


class Rare(Bigrams):
    """Drafts in few rounds, by a coin of its own: right."""

    share = 0.05

    def chain(self, state, *asked):
        if asked[1].accept(self.share, 1.0, Purpose.DRAFT, len(state.text), 900):
            return super().chain(state, *asked)
        return Proposal.chain([], [])


class RareAndLikeliest(Rare, ArgmaxAsASample):
    """Drafts the likeliest token, but in few rounds."""


class RareAndBestOfTwo(Rare, BestOfTwo):
    """Drafts the better of two tokens, but in few rounds."""


class Jitter(Drawing):
    """No law comes twice, as those of a drafter that learns: right."""

    def __init__(self, vocab_size):
        super().__init__(vocab_size)
        self.calls = 0

    def chain(self, state, budget, randomness):
        self.calls += 1
        law = np.bincount(list(state.after[state.text[-1]].elements()), minlength=self.vocab_size) + 1 / self.calls
        law /= law.sum()
        token = self.token(law, randomness, len(state.text), 0)
        return Proposal.chain([token][:budget], [law][:budget])

    def token(self, law, randomness, position, node):
        return randomness.choose(law, Purpose.DRAFT, position, node)


class JitterAndLikeliest(Jitter):
    def token(self, law, randomness, position, node):
        return int(law.argmax())


class JitterAndBestOfTwo(Jitter):
    token = BestOfTwo.token


class Certain(Bigrams):
    """Draws from laws that leave next to no choice."""

    def chain(self, state, budget, randomness):
        law = np.full(self.vocab_size, 0.001)
        law[-1] = 1 - law[:-1].sum()
        return Proposal.chain([randomness.choose(law, Purpose.DRAFT, len(state.text))][:budget], [law][:budget])


class Deep(Drawing):
    """Draws anew, as it likes, where `wrong` says: the law it hands over is another one."""

    batch = 0

    def propose(self, states, budgets, randomness):
        self.batch = len(states)
        return super().propose(states, budgets, randomness)

    def chain(self, state, budget, randomness):
        self.budget, self.place = budget, len(state.text)
        return super().chain(state, budget, randomness)

    def token(self, law, randomness, position, node):
        wrong = self.wrong(node)
        return randomness.choose(law**4 if wrong else law, Purpose.DRAFT, position, node)


class Sure(Drawing):
    """Sure of the likeliest token, whatever comes: right."""

    def token(self, law, randomness, position, node):
        return randomness.choose(law, Purpose.DRAFT, position, node)

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget, randomness)
        pairs = zip(found.laws, found.tokens.tolist(), strict=True)
        return replace(found, confidence=np.array([self.sure(law, token) for law, token in pairs], np.float64))

    def sure(self, law, token):
        return law.max()


class SureOfWhatCame(Sure):
    """Its confidence tells what was drawn, and a controller may drop by that."""

    def sure(self, law, token):
        return law[token]


class WrongFromTheFifthOn(Deep):
    def wrong(self, node):
        return node >= 4


class WrongFromTheNinthOn(Deep):
    def wrong(self, node):
        return node >= 8


class WrongWithALargeBudget(Deep):
    def wrong(self, node):
        return self.budget >= 6


class WrongInLargeBatches(Deep):
    def wrong(self, node):
        return self.batch > 4
