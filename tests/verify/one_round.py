"""One round under the oracle: draft a tree, verify it, and hold what was emitted to the target's law.

A round is exact when its tokens, followed by fresh samples of the target, have the target's law; rounds then compose.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping

from enumeration import Walker, law_of, total_variation
from known_laws import lookup
from sibling_drafts import Drawing, Shape, Tables, target_rows
from truedraw.protocol import Proposal, Verdict, Verifier

TEXT = (0, 1)
Tokens = tuple[int, ...]
Draft = Callable[[Drawing], Proposal]


def emitted(tables: Tables, shape: Shape, rule: Verifier, draft: Draft = Drawing.proposal) -> dict[Tokens, float]:
    """The law of a round's tokens."""
    return {tokens: weight for (tokens, _), weight in verdicts(tables, shape, rule, draft).items()}


def verdicts(
    tables: Tables, shape: Shape, rule: Verifier, draft: Draft = Drawing.proposal
) -> dict[tuple[Tokens, int], float]:
    """The law of (tokens, num_accepted); the same tokens are always accepted alike."""

    def run(walker: Walker) -> tuple[Tokens, int]:
        randomness = walker.sample(0)
        proposal = draft(Drawing(tables, shape, TEXT, randomness))
        verdict: Verdict = rule(proposal, target_rows(tables, TEXT, proposal), randomness, len(TEXT))
        assert len(verdict.tokens) == verdict.num_accepted + 1
        return verdict.tokens, verdict.num_accepted

    return law_of(run)


def distance(tables: Tables, law: Mapping[Tokens, float]) -> float:
    """Total variation from the target, after fresh samples have filled all texts to one length."""
    length = max(map(len, law))
    filled: dict[Tokens, float] = defaultdict(float)
    for tokens, weight in law.items():
        for more, chance in fresh(tables, tokens, length - len(tokens)).items():
            filled[tokens + more] += weight * chance
    return total_variation(filled, fresh(tables, (), length))


def fresh(tables: Tables, tokens: Tokens, count: int) -> dict[Tokens, float]:
    """The target's law of `count` tokens after TEXT and `tokens`, by definition."""
    law: dict[Tokens, float] = {(): 1.0}
    for _ in range(count):
        law = {
            (*more, token): weight * chance
            for more, weight in law.items()
            for token, chance in enumerate(lookup(tables.target, [*TEXT, *tokens, *more]))
            if chance > 0
        }
    return law


def expected_tokens(law: Mapping[Tokens, float]) -> float:
    """E[N], tokens a round."""
    return math.fsum(weight * len(tokens) for tokens, weight in law.items())
