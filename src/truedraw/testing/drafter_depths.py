"""Long proposals over few tokens: every draft that can be drawn, against the law that it came with.

No rule judges them here, so ten drafts of two tokens, or seven of three, are enumerated where whole rounds would have
too many branches: as many as a drafter can be asked for in MOST branches.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import ROOT, Drafter, DraftState, Floats, Proposal, Randomness, SparseLaw
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import Check, fresh, require
from truedraw.testing.drafter_draws import LAST, Asked, behind, looked, opinions
from truedraw.testing.enumeration import Walker, law_of

MOST = 2500  # branches
BUDGETS = (10, 7, 6, 5, 4, 3, 2)  # the largest that can be enumerated is
SETTINGS = {"plain": Asked(0), "cold": Asked(0, 0.6), "looking ahead": Asked(0, ahead=True)}
FOLLOWED = (0, 1, 0, 0, 2, 0, 1, 1, 0, 0, 1, 0)  # of every token more than one other, and not equally often
MUCH = FOLLOWED * 25  # long enough for whatever a drafter counts by, windows and pages
FEWER = 8  # times fewer branches of it
OTHERS = (3, 7, 0, 5, 2)  # budgets of the texts before the one that is looked at
ROUNDING = 1e-9  # of a law, given what was drawn before
SMALLEST = 1e-9  # chance of a draft, below which its rounding shows

Key = tuple[tuple[int, ...], tuple[int, ...], bytes, float | None]
"""The path to a draft, its earlier siblings, its law, and its confidence, which must be known before it is drawn."""
Text = tuple[int, ...]
Weighed = dict[Key, tuple[Floats, Floats]]  # the law, and the chances of the tokens
Branches = list[tuple[Proposal, float]]


class TooMany(Exception):
    """Branches."""


def depth_checks(make: Callable[[], Drafter], vocab_size: int) -> list[Check]:
    """Of one text, as it is asked in several ways, of a long one, and of one that is the last of many."""
    checks = [
        Check(f"long drafts follow their laws, {name}", partial(_alone, make, vocab_size, asked))
        for name, asked in SETTINGS.items()
    ]
    much = Check("drafts behind a long text follow their laws", partial(_behind_much, make, vocab_size))
    return [*checks, much, Check("the last of many texts follows its laws", partial(_last, make, vocab_size))]


def _alone(make: Callable[[], Drafter], vocab: int, asked: Asked) -> None:
    _look(make, vocab, asked, (), MOST)


def _behind_much(make: Callable[[], Drafter], vocab: int) -> None:
    _look(make, vocab, Asked(0), (), MOST // FEWER, MUCH)


def _last(make: Callable[[], Drafter], vocab: int) -> None:
    _look(make, vocab, Asked(0), OTHERS, MOST // (1 + len(OTHERS)))


def _look(
    make: Callable[[], Drafter], vocab: int, asked: Asked, others: Sequence[int], most: int, text: Text = FOLLOWED
) -> None:
    with fresh(make) as drafter:
        for budget in BUDGETS:
            try:
                branches = _branches(drafter, vocab, asked._replace(budget=budget), others, most, text)
            except TooMany:
                continue
            _require_laws(budget, branches)
            return


def _branches(drafter: Drafter, vocab: int, asked: Asked, others: Sequence[int], most: int, text: Text) -> Branches:
    """Of the last text, with their chances; the others have real chance."""
    found: Branches = []
    chances: list[Randomness] = [PhiloxRandomness(61, number) for number in range(len(others))]

    def once(walker: Walker) -> None:
        states = [_state(drafter, vocab, asked, number, text) for number in range(1 + len(others))]
        looking = [looked(state, asked) for state in states]
        proposals = drafter.propose(looking, [*others, asked.budget], [*chances, walker.sample(0)])
        found.append((proposals[-1], walker.probability))
        for state in states:
            close(state)
        if len(found) > most or math.prod(map(len, walker.options)) > most:
            raise TooMany

    law_of(once)
    return found


def _state(drafter: Drafter, vocab: int, asked: Asked, number: int, text: Text) -> DraftState:
    """Each text is a little longer than the one before; the last is the one that is looked at."""
    return behind(drafter, [token % vocab for token in (*text, *text[:number], LAST)], asked, vocab)


def _require_laws(budget: int, branches: Branches) -> None:
    weighed: Weighed = {}
    for proposal, chance in branches:
        for key, law, token in _drawn(proposal):
            weighed.setdefault(key, (law, np.zeros(len(law))))[1][token] += chance
    for (path, siblings, _, sure), (law, weights) in weighed.items():
        found = weights / max(weights.sum(), SMALLEST)
        wrong = 0.5 * float(np.abs(found - law).sum())
        require(
            wrong < ROUNDING or weights.sum() < SMALLEST,
            f"with a budget of {budget}, draft number {1 + len(path)} of a path, behind the drafts {list(path)} and "
            f"the siblings {list(siblings)}, is drawn with the law {found.tolist()} and came with {law.tolist()}"
            + ("" if sure is None else f", given its confidence of {sure:.3g}, in which its token may have no part"),
        )


def _drawn(proposal: Proposal) -> Iterator[tuple[Key, Floats, int]]:
    paths: dict[int, tuple[int, ...]] = {ROOT: ()}
    children: dict[int, tuple[int, ...]] = defaultdict(tuple)
    sure = opinions(proposal)
    nodes = zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    for node, (token, parent, law) in enumerate(nodes):
        if law is not None:
            dense = law.dense() if isinstance(law, SparseLaw) else np.asarray(law, np.float64)
            yield (paths[parent], children[parent], dense.tobytes(), sure[node]), dense, token
        paths[node] = (*paths[parent], token)
        children[parent] += (token,)
