"""Known bugs of drafting: each hands over a law that is not the law of what was submitted (algorithm L2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sibling_drafts import Drawing, without
from truedraw.protocol import ROOT, Floats, Proposal, Purpose

HALF = 0.5


def flat(tokens, laws) -> Proposal:
    return Proposal(np.array(tokens, dtype=np.int64), np.full(len(tokens), ROOT), tuple(laws))


def two_samples(drawing: Drawing) -> tuple[Floats, list[int]]:
    q = drawing.tables.row("q", drawing.text)
    return q, [drawing.randomness.choose(q, Purpose.DRAFT, len(drawing.text), node) for node in (0, 1)]


def best_of_two(drawing: Drawing) -> Proposal:
    """The likelier of two samples, with the law of one."""
    q, pair = two_samples(drawing)
    return flat([max(pair, key=lambda token: q[token])], [q])


def reordered(drawing: Drawing) -> Proposal:
    """Two samples, the likelier first."""
    q, pair = two_samples(drawing)
    return flat(sorted(pair, key=lambda token: -q[token]), [q, q])


def pruned(drawing: Drawing) -> Proposal:
    """Three siblings without replacement, the least likely dropped: a tree reranked by its samples."""
    q = drawing.tables.row("q", drawing.text)
    tokens, laws = [], []
    for node in range(3):
        law = without(q, tokens) if tokens else q
        if law is not None:
            tokens.append(drawing.randomness.choose(law, Purpose.DRAFT, len(drawing.text), node))
            laws.append(law)
    worst = min(range(len(tokens)), key=lambda i: q[tokens[i]])
    kept = [i for i in range(len(tokens)) if i != worst or len(tokens) < 3]
    return flat([tokens[i] for i in kept], [laws[i] for i in kept])


def without_duplicates(drawing: Drawing) -> Proposal:
    """Two independent samples; one that repeats the first is left out, otherwise both have the law q."""
    q, pair = two_samples(drawing)
    return flat(pair, [q, q]) if pair[0] != pair[1] else flat(pair[:1], [q])


def without_duplicates_and_its_law(drawing: Drawing) -> Proposal:
    """The exact twin: a second sample that is submitted differs from the first, and its law says so."""
    q, pair = two_samples(drawing)
    return flat(pair, [q, without(q, pair[:1])]) if pair[0] != pair[1] else flat(pair[:1], [q])


def without_replacement_as_with(drawing: Drawing) -> Proposal:
    """Sampled without replacement, reported with the law before anything was taken out."""
    q = drawing.tables.row("q", drawing.text)
    return replace(drawing.proposal(), laws=(q,) * len(drawing.tokens))


def confident_only(drawing: Drawing) -> Proposal:
    """A chain cut before a token that its own law found unlikely."""
    return cut_before(drawing.proposal(), lambda law, token: law[token] >= HALF)


def confident_only_and_its_law(drawing: Drawing) -> Proposal:
    """The exact twin: what is submitted was drawn from q restricted to the likely tokens."""
    proposal = confident_only(drawing)
    return replace(proposal, laws=tuple(without(law, np.flatnonzero(law < HALF).tolist()) for law in proposal.laws))


def legal_only(drawing: Drawing) -> Proposal:
    """A chain cut before a token that the target's mask forbids."""
    proposal = drawing.proposal()
    text = list(drawing.text)
    for i, token in enumerate(proposal.tokens.tolist()):
        if drawing.tables.row("target", text)[token] == 0:
            return Proposal.chain(proposal.tokens[:i].tolist(), proposal.laws[:i])
        text.append(token)
    return proposal


def cut_before(proposal: Proposal, good) -> Proposal:
    pairs = zip(proposal.laws, proposal.tokens.tolist(), strict=True)
    count = next((i for i, (law, token) in enumerate(pairs) if not good(law, token)), len(proposal))
    return Proposal.chain(proposal.tokens[:count].tolist(), proposal.laws[:count])


def greedy_with_softmax_law(drawing: Drawing) -> Proposal:
    """The likeliest tokens, reported with the law they were not drawn from."""
    q = drawing.tables.row("q", drawing.text)
    top = [int(token) for token in np.argsort(-q)[:2] if q[token] > 0]
    return flat(top, [q] * len(top))


def greedy_sample_with_full_law(drawing: Drawing) -> Proposal:
    """Hu's sample, which avoids the certain siblings, reported with a law that does not."""
    proposal = drawing.proposal()
    q = drawing.tables.row("q", drawing.text)
    return replace(proposal, laws=tuple(None if law is None else q for law in proposal.laws))


def law_of_another_node(drawing: Drawing) -> Proposal:
    """Every node has the law of the first."""
    proposal = drawing.proposal()
    return replace(proposal, laws=(proposal.laws[0],) * len(proposal))


MUTANTS = {
    best_of_two: "qq",
    reordered: "qq",
    pruned: "qq",
    without_duplicates: "qq",
    without_replacement_as_with: "ww",
    confident_only: "chain",
    legal_only: "chain",
    greedy_with_softmax_law: "qq",
    greedy_sample_with_full_law: "h t0",
    law_of_another_node: "chain",
}
TWINS = {without_duplicates_and_its_law: "qq", confident_only_and_its_law: "chain"}
