"""Drafters that are right but for one thing, which shows in a long life or in many draws only."""

from __future__ import annotations

import numpy as np

from truedraw.engine.tabular import TabularEngine
from truedraw.protocol import Proposal, Purpose
from truedraw.testing import TableDrafter
from truedraw.testing.drafter_statistics import large_table
from truedraw.testing.scenarios import TableState

VOCAB = 50
CONTEXT = 48


def bent(law: np.ndarray, by: float) -> np.ndarray:
    """A law `by` away in total variation, as hard to see as can be: all chances up or down by one share."""
    order = np.argsort(-law)
    up = np.zeros(len(law), bool)
    for token in order:  # halves of nearly equal mass
        up[token] = law[up].sum() + law[token] <= 0.5 + 1e-9
    half, rest = law[up].sum(), law[~up].sum()
    return np.where(up, law * (1 + by / half), law * (1 - by / rest))


class Sampled(TableDrafter):
    """No mutant: what the others are made of."""

    def __init__(self, seed=31):
        super().__init__(large_table(VOCAB, seed))


class Bent(Sampled):
    """Draws from a law that is a little off the one it hands over."""

    def __init__(self, by, seed=31):
        super().__init__(seed)
        self.by = by

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        for node in range(budget):
            laws.append(self.law_after(state, [*state.text, *tokens]))
            tokens.append(randomness.choose(bent(laws[-1], self.by), Purpose.DRAFT, len(state.text), node))
        return Proposal.chain(tokens, laws)


class DropsTheUnlikely(Sampled):
    """Looks at what it drew before it hands it over."""

    def chain(self, state, budget, randomness):
        whole = super().chain(state, budget, randomness)
        likely = [law[token] > 0.05 for law, token in zip(whole.laws, whole.tokens.tolist(), strict=True)]
        kept = next((node for node, good in enumerate(likely) if not good), len(whole))
        return Proposal.chain(whole.tokens[:kept].tolist(), whole.laws[:kept])


class LikeliestUnderALaw(Sampled):
    """Hands over a law of tokens that were not drawn."""

    def chain(self, state, budget, randomness):
        whole = super().chain(state, min(budget, 1), randomness)
        return Proposal.chain([int(law.argmax()) for law in whole.laws], whole.laws)


class OneChanceForAll(Sampled):
    """The texts of a call share their draws."""

    def propose(self, states, budgets, randomness):
        return super().propose(states, budgets, [randomness[0]] * len(states))


class Stateful(Sampled):
    """Its states are of a kind of their own."""

    state = TableState

    def open(self, tokens, law):
        return self.state(tokens, law)


class OwnDraftsOnly(TableState):
    drafted: tuple[int, ...] = ()

    def commit(self, tokens, scores):
        if list(self.drafted[: len(tokens) - 1]) != list(tokens[:-1]):
            raise KeyError(tokens)
        super().commit(tokens, scores)


class FollowsItsOwnDrafts(Stateful):
    """Takes what was kept for its own."""

    state = OwnDraftsOnly

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget, randomness)
        state.drafted = tuple(found.tokens.tolist())
        return found


class Page(TableState):
    def commit(self, tokens, scores):
        if len(tokens) > 256:
            raise IndexError("a page has 256 rows")
        super().commit(tokens, scores)


class OnePageACommit(Stateful):
    state = Page


class Followers(TableState):
    def commit(self, tokens, scores):
        super().commit(tokens, scores)
        np.zeros(self.law(scores.logits[0]).shape)[[token + 1 for token in tokens if token > 40]]


class TheNextIdExists(Stateful):
    state = Followers


class Board(Sampled):
    """Has room for 64 drafts."""

    def chain(self, state, budget, randomness):
        board, whole = np.zeros(64), super().chain(state, budget, randomness)
        board[range(len(whole))] = 1.0
        return whole


class ByTheFirstOrder(Sampled):
    """Takes the states for those of its first call."""

    first: list | None = None

    def propose(self, states, budgets, randomness):
        self.first = self.first or list(states)
        return super().propose(self.first[: len(states)], budgets, randomness)


class DraftsOnBehindItsDrafts(Sampled):
    """A question changes the text."""

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget, randomness)
        state.text.extend(found.tokens[:1].tolist())
        return found


class Moves(TableState):
    def ahead(self, tokens):
        self.text.extend(tokens)
        return self


class LooksAheadInPlace(Stateful):
    state = Moves


class Dependent(TableState):
    dozes = True

    def commit(self, tokens, scores=None):
        assert len(scores.logits)
        super().commit(tokens, scores)


class NeedsScores(Stateful):
    state = Dependent


class KeepsTheRow(TableState):
    row = np.zeros(VOCAB, np.float32)

    def commit(self, tokens, scores):
        super().commit(tokens, scores)
        self.row = scores.logits[0]


class DraftsByAKeptRow(Stateful):
    """Looks at a round's logits where the next round's are by now."""

    state = KeepsTheRow

    def chain(self, state, budget, randomness):
        return Proposal.chain([int(state.row.argmax())][:budget])


class SoftmaxInPlace(TableState):
    def commit(self, tokens, scores):
        super().commit(tokens, scores)
        np.exp(scores.logits, out=scores.logits)


class WritesIntoTheLogits(Stateful):
    """Others hear of the same round from the same array."""

    state = SoftmaxInPlace


class Slotted(TableState):
    """Its text lies in a slot of the drafter's memory."""

    def __init__(self, tokens, law, memory):
        super().__init__(tokens, law)
        self.memory, self.slot = memory, memory.take()
        memory.texts[self.slot] = self.text

    def commit(self, tokens, scores):
        super().commit(tokens, scores)
        self.memory.texts[self.slot] = self.text

    def close(self):
        self.memory.free.append(self.slot)


class Memory:
    def __init__(self):
        self.texts, self.free = {}, []

    def take(self):
        return self.free.pop() if self.free else len(self.texts)


class GivesBackTwice(Sampled):
    """A text that is closed, and goes on, writes where another one lies by now."""

    def __init__(self):
        super().__init__()
        self.memory = Memory()

    def open(self, tokens, law):
        return Slotted(tokens, law, self.memory)

    def chain(self, state, budget, randomness):
        text = TableState(self.memory.texts[state.slot], state.law)
        return super().chain(text, budget, randomness)


class CannotCloseTwice(Stateful):
    """Its texts are gone once they were closed."""

    class state(TableState):  # noqa: N801
        def close(self):
            del self.text


class SaysItToNobody(Sampled):
    """Its texts are asked, and know nothing."""

    def worths(self, nodes):
        return [(0.5, 1)][:nodes]


class WorthMoreBehind(Stateful):
    """A second token is worth more than the first, without which it is nothing."""

    class state(TableState):  # noqa: N801
        def worths(self, nodes):
            return [(0.5, 1), (0.7, 2)][:nodes]


class StaysBusy(Sampled):
    """One failed call, and it takes itself to be running."""

    busy = False

    def propose(self, states, budgets, randomness):
        if self.busy:
            raise RuntimeError("called by two at once")
        self.busy = True
        found = super().propose(states, budgets, randomness)
        self.busy = False
        return found


class PastItsContext(Sampled):
    """Asks its model for more than that can read."""

    def __init__(self):
        super().__init__()
        self.engine = TabularEngine(large_table(VOCAB, 31), context_length=CONTEXT)
