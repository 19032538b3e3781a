"""Rounds of all kinds, to hold one way of deciding them to another: any tree, drafts of any kind of law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from truedraw.generate.means import Means
from truedraw.generate.rows import LawRows
from truedraw.protocol import NOTHING, ROOT, DraftLaw, Floats, Logits, Proposal, Rows, Scores, SparseLaw, Verdict
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.verify.fused.plain_rounds import Asked
from truedraw.verify.proposals import mark_checked

SIZES = (2, 3, 5, 40, 3000)  # of the vocabulary
MOST_NODES = 6
POSITION = 17  # of every round: seeds differ
LAWS = (
    SamplingParams(),
    SamplingParams(temperature=0.6),
    SamplingParams(temperature=1.8),
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=0.0, top_k=3),
    SamplingParams(temperature=0.9, top_p=0.7),
    SamplingParams(top_k=2),
    SamplingParams(temperature=1.3, top_k=5, top_p=0.9, min_p=0.05),
    SamplingParams(repetition_penalty=1.3),
    SamplingParams(temperature=0.0, repetition_penalty=1.1, frequency_penalty=0.4, presence_penalty=-0.3),
    SamplingParams(temperature=0.8, top_p=0.8, presence_penalty=0.6, logit_bias={0: 1.5, 1: -2.0}),
    SamplingParams(temperature=0.7, allowed_token_ids=(0, 1)),
)
"""Of the target: all that compiled rounds know."""
MOST_WRITTEN = 90  # tokens of a text: a law that counts them keeps the last few apart
RULES = ("traversal", "coupled")
Decided = tuple[Verdict, tuple[tuple[float, ...], tuple[float, ...]]]
"""A verdict, and the logarithms of its tokens before and after the transforms."""


class Looked:
    """Rows that show p and can do nothing else: a rule then decides step by step."""

    def __init__(self, rows: Rows, vocab_size: int) -> None:
        self._rows, self.vocab_size = rows, vocab_size

    def __getitem__(self, row: int) -> Floats:
        return self._rows[row]


@dataclass(frozen=True, slots=True)
class AnyRound:
    """One round; `logits` [1 + nodes, vocab] are equal where the texts are."""

    law: SamplingLaw
    proposal: Proposal
    logits: Logits
    chance: PhiloxRandomness

    def rows(self, means: Means | None = None) -> LawRows:
        """That nobody has looked at."""
        return LawRows(self.law, self.proposal, Scores(self.logits), means)

    def step_by_step(self, rule: str) -> Decided:
        """By the rule's own code."""
        shown = Looked(self.rows(), self.logits.shape[1])
        verdict = find("verifiers", rule)()(self.proposal, shown, self.chance, POSITION)
        return verdict, self.rows().logprobs(verdict.tokens)

    def at_once(self, rule: str, means: Means) -> Decided | None:
        """By compiled code; None where it leaves the round to the rule."""
        rows = self.rows(means)
        verdict = rows.decide(rule == "coupled", self.proposal, self.chance, POSITION)
        return None if verdict is None else (verdict, rows.logprobs(verdict.tokens))

    def plainly(self, rule: str, means: Means) -> Decided | None:
        """By the call that decides many texts without drafts, beside its twin; of a round that has none."""
        law = self.law.fused
        if law is None:
            return None
        asked = Asked(self.logits[0], law.how, self.chance.name, POSITION, rule == "coupled", self.law.edits())
        found, twin = means.plain_rounds.decide((asked, asked))
        if found is None or found != twin:
            return None
        return found.verdict, (found.logprobs, found.sampling_logprobs)

    def without_drafts(self) -> AnyRound:
        """The same, of the committed text alone."""
        return replace(self, proposal=NOTHING, logits=self.logits[:1])


def any_round(rng: np.random.Generator, params: SamplingParams) -> AnyRound:
    """A tree of chains and siblings, some of them equal, drawn from laws of all kinds, or certain."""
    vocab, n = int(rng.choice(SIZES)), int(rng.integers(0, MOST_NODES + 1))
    usual = rng.normal(0, 2, vocab)
    parents = [i - 1 if rng.random() < 0.5 else int(rng.integers(ROOT, i)) for i in range(n)]
    drawn = [draft(rng, usual) for _ in range(n)]
    tokens = np.array([token for token, _ in drawn], np.int64)
    proposal = Proposal(tokens, np.array(parents, np.int64), tuple(law for _, law in drawn))
    mark_checked(proposal, vocab)  # as the guard of a drafter does
    texts: dict[tuple[int, ...], Floats] = {}
    rows = [texts.setdefault(text, 0.7 * usual + rng.normal(0, 1, vocab)) for text in spelled(proposal)]
    chance = PhiloxRandomness(int(rng.integers(1 << 62)), int(rng.integers(9)))
    return AnyRound(law_of(rng, params, vocab), proposal, np.array(rows, np.float32), chance)


def law_of(rng: np.random.Generator, params: SamplingParams, vocab: int) -> SamplingLaw:
    """Behind any prompt, and any text."""
    prompt, text = (rng.integers(0, vocab, rng.integers(0, MOST_WRITTEN)).tolist() for _ in range(2))
    law = SamplingLaw(params, Opening(tuple(prompt), vocab))
    for token in text:
        law = law.after(token)
    return law


def draft(rng: np.random.Generator, usual: Floats) -> tuple[int, DraftLaw | None]:
    """A token, and the law that it was drawn from."""
    near = np.exp(usual - usual.max())
    q = 0.5 * rng.dirichlet(np.full(len(usual), 0.5)) + 0.5 * near / near.sum()
    kind = rng.choice(["certain", "sparse", "dense"])
    if kind == "certain":
        return int(rng.integers(len(q))), None
    if kind == "dense":
        return int(rng.choice(len(q), p=q / q.sum())), q / q.sum()
    ids = np.sort(rng.choice(len(q), int(rng.integers(1, len(q) + 1)), replace=False))
    weights = q[ids] / q[ids].sum()
    return int(rng.choice(ids, p=weights)), SparseLaw(ids, weights, len(q))


def spelled(proposal: Proposal) -> list[tuple[int, ...]]:
    """The text that each row stands behind."""
    texts: list[tuple[int, ...]] = [()]
    for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
        texts.append((*texts[1 + parent], token))
    return texts
