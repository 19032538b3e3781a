"""Texts that a drafter under test writes on, and what every proposal must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from truedraw.protocol import Drafter, DraftState, Law, Proposal, Randomness, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import require, same_law
from truedraw.verify.proposals import check

BUDGET = 5
QUESTIONS = 3  # with the same randomness, behind which a further one has the same answer


class Texts:
    """Some states of one drafter over different texts."""

    def __init__(self, drafter: Drafter, vocab_size: int, texts: Sequence[Sequence[int]] = ()) -> None:
        rng = np.random.default_rng(3)
        self.drafter, self.vocab_size = drafter, vocab_size
        self.law: Law = SamplingLaw(SamplingParams())
        self.texts = [list(t) for t in texts] or [rng.integers(0, vocab_size, n).tolist() for n in (2, 9, 30, 5)]
        self.states = [drafter.open(list(text), self.law) for text in self.texts]

    def propose(self, budgets: Sequence[int], only: Sequence[int] | None = None) -> list[Proposal]:
        """Proposals of all states or of some; each is named by its text, so chance is the same in any company."""
        chosen = range(len(self.states)) if only is None else only
        chances: list[Randomness] = [PhiloxRandomness(5, index) for index in chosen]
        found = self.drafter.propose([self.states[i] for i in chosen], list(budgets), chances)
        require(len(found) == len(chances), f"{len(chances)} states got {len(found)} proposals; one each")
        return found

    def legal(self, proposal: Proposal, budget: int) -> None:
        """Raises AssertionError for one beyond its budget and BadProposal for one no rule can verify."""
        require(len(proposal) <= budget, f"a budget of {budget} tokens was answered with {len(proposal)}")
        check(proposal, [np.full(self.vocab_size, 1 / self.vocab_size)] * (1 + len(proposal)))

    def commit(self, state: DraftState, proposal: Proposal, rng: np.random.Generator) -> None:
        """The end of a round in which half of a chain was kept, with logits of no meaning."""
        logits = rng.normal(size=(1 + len(proposal), self.vocab_size)).astype(np.float32)
        kept = proposal.tokens[: len(proposal) // 2].tolist() if _is_chain(proposal) else []
        state.commit([*kept, int(rng.integers(self.vocab_size))], Scores(logits))


def _is_chain(proposal: Proposal) -> bool:
    return np.array_equal(proposal.parents, np.arange(-1, len(proposal) - 1))


def require_same(one: Sequence[Proposal], other: Sequence[Proposal], where: str) -> None:
    """Raises AssertionError where proposals differ in a token, a parent or a law."""
    for a, b in zip(one, other, strict=True):
        same = np.array_equal(a.tokens, b.tokens) and np.array_equal(a.parents, b.parents)
        require(same, f"the proposals differ {where}: {a.tokens.tolist()} and {b.tokens.tolist()}")
        for p, q in zip(a.laws, b.laws, strict=True):
            require(same_law(p, q), f"the laws of the drafts {a.tokens.tolist()} differ {where}")


@contextmanager
def unharmed(when: str) -> Iterator[None]:
    """Raises AssertionError, saying when it was, for whatever goes wrong in the block."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{when}: {type(error).__name__}: {error}") from error


def legal(texts: Texts, budget: int = BUDGET) -> list[Proposal]:
    """Proposals of all states; raises AssertionError or BadProposal for one that no rule can verify."""
    found = texts.propose([budget] * len(texts.states))
    for proposal in found:
        texts.legal(proposal, budget)
    return found


def settled(texts: Texts) -> list[Proposal]:
    """What is drafted when nothing is new any more: a first question may teach a drafter what it consists of."""
    for _ in range(QUESTIONS):
        found = legal(texts)
    return found


def scores_of(proposal: Proposal, vocab_size: int, rng: np.random.Generator) -> Scores:
    """Logits of no meaning, and no hidden states."""
    logits = rng.normal(size=(1 + len(proposal), vocab_size)).astype(np.float32)
    return Scores(logits, proposal=proposal)


class Seeded:
    """Real randomness, where an enumeration has its walker."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def sample(self, index: int) -> PhiloxRandomness:
        """By seed."""
        return PhiloxRandomness(self._seed, index)
