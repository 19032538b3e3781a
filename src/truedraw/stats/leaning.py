"""The event that nearly every bug of speculation leans towards or away from: that the text follows the draft.

For a draft drawn from q the event is {x : p(x) > q(x)}, the tokens that corrections come from; for a certain draft it
is the draft token itself. Both are known before the token is decided, so under exact sampling the event happens with
exactly its probability under p, given everything before it. Other events of the same kind would be as valid. One is
looked at besides: that the text follows another sibling than the first, where all of them are certain.

Certain drafts are looked at only where nothing drawn stands before them but what they follow: they may be there because
of what was drawn elsewhere, below a sibling of theirs or below an equal text, and whoever knows that knows something of
the token.

Under a coupled rule a draft without a law may have been drawn with the very noise that its token is drawn with, to be
equal more often than p says. Then nothing about the draft is known before the token, and no event may look at it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truedraw.protocol import ROOT, DraftLaw, Floats, Proposal, Rows, Verdict
from truedraw.verify.proposals import written_out

TINY = 1e-300  # keeps a division by nothing from being one


@dataclass(frozen=True, slots=True)
class Draft:
    """What was drafted at one place: the first child's token and its law q, None = certain; and the others' tokens.

    There are others only where they are known before the token is decided, whatever the rule.
    """

    token: int
    law: DraftLaw | None
    others: tuple[int, ...] = ()
    is_known: bool = True  # before the token is decided, whatever the rule


def event(p: Floats, draft: Draft, token: int) -> tuple[bool, float]:
    """(whether it happened with `token`, its probability under p [vocab])."""
    q = written_out(draft.law)
    if q is None:
        return token == draft.token, float(p[draft.token])
    above = p > q
    return bool(above[token]), float(p[above].sum())


def places(proposal: Proposal, tokens: Sequence[int]) -> Iterator[tuple[int, int, Draft | None]]:
    """(row, token, draft) for every token of a verdict; None where nothing was drafted.

    Equal siblings are one text; the first of them stands for all.
    """
    here, path = np.array([ROOT]), set[int]()
    for token in tokens:
        below = np.flatnonzero(proposal.parents == here[0])
        path.update(here.tolist())
        yield 1 + int(here[0]), token, _draft(proposal, below.tolist(), path)
        here = np.flatnonzero(np.isin(proposal.parents, here) & (proposal.tokens == token))


def _draft(proposal: Proposal, siblings: Sequence[int], path: Collection[int]) -> Draft | None:
    """`path`: the nodes that they follow."""
    if not siblings:
        return None
    first, *others = dict.fromkeys(proposal.tokens[siblings].tolist())
    law = proposal.laws[siblings[0]]
    drawn = next((node for node, q in enumerate(proposal.laws) if q is not None and node not in path), len(proposal))
    return Draft(first, law, tuple(others) if drawn > siblings[-1] else (), law is not None or drawn > siblings[0])


def may_be_seen(draft: Draft, verdict: Verdict) -> bool:
    """Whether the draft is known before its token; it may have been drawn with the very noise of it."""
    return draft.is_known and not (verdict.coupled and draft.law is None)


def observed(proposal: Proposal, rows: Rows, verdict: Verdict) -> Iterator[tuple[bool, float]]:
    """The events of a verdict; the rows are those that the verifier looked at.

    Where the draft may not be looked at the event is the token that p likes best.
    """
    for row, token, draft in places(proposal, verdict.tokens):
        if draft is not None:
            p = rows[row]
            known = draft if may_be_seen(draft, verdict) else Draft(int(p.argmax()), None)
            happened, chance = event(p, known, token)
            yield happened, chance
            if known.others and not happened:
                yield token in known.others, instead(float(p[list(known.others)].sum()), chance)


def is_possible(proposal: Proposal, rows: Rows, verdict: Verdict) -> bool:
    """Whether p allows each token of a verdict that had a draft."""
    shares = [rows[row][token] for row, token, draft in places(proposal, verdict.tokens) if draft is not None]
    return not shares or bool(min(shares) > 0.0)


def instead(others: float, first: float) -> float:
    """The probability of one of the other siblings, given that the first did not come, by those under p."""
    return min(1.0, others / max(1.0 - first, TINY))
