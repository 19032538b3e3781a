"""Token recycling: what the model found likely behind each token the last time it saw it (Luo et al., 2408.08696).

Every pass says what may follow each token that stands in it, in rejected drafts as well. A table keeps the
`recycle_top_k` likeliest of each, x_1..x_k with their probabilities p(x_j | t) at temperature 1 in the latest context
of t, those of the text itself before those of drafts that were dropped. A draft is grown through the table from the
last token on, best first by the product of the probabilities along the path, which is what makes it a tree:

    chance(x_1..x_m) = product over i of p(x_i | x_{i-1})

Tokens that no row is known of yet use what followed them in the prompt. Every token is certain (q None): it is
accepted with probability p(x), whatever table it came from, so a stale, foreign or wrong entry costs acceptance only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truedraw.draft.handed_down import PROMPT, HandedDown, check_scope, check_tree
from truedraw.draft.recycle_table import RecycleTable
from truedraw.draft.scored import ScoredTree
from truedraw.protocol import NOTHING, ROOT, Floats, Law, Proposal, Randomness, Scores
from truedraw.sampling.ranges import SHARE, Numbers, Wholes

LEAST, MOST = 1e-3, 1 - 1e-3  # of a confidence: a table never knows
RANGES: dict[str, Numbers | Wholes] = {
    "recycle_top_k": Wholes(1, "1 to 64", 64),
    "recycle_min_token_prob": SHARE,
    "recycle_max_tokens": Wholes(1, "1 or more"),
}


class RecycleState:
    """protocol.DraftState: the last token of the text, and the table it teaches and reads."""

    def __init__(self, table: RecycleTable, last: int) -> None:
        self.table, self.last = table, last
        self.drafted = NOTHING

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Append, and enter what the rows of the round say."""
        if scores is not None:
            self.table.learn(self._rows(tokens, ScoredTree(scores, self.drafted)), scores.logits)
        self.last, self.drafted = tokens[-1], NOTHING

    def ahead(self, tokens: Sequence[int]) -> RecycleState:
        """protocol.LooksAhead: the same table behind a longer text."""
        return RecycleState(self.table, tokens[-1])

    def _rows(self, tokens: Sequence[int], scored: ScoredTree) -> dict[int, int]:
        """Token -> the row behind it; that of the text before one of a dropped draft, the later before the earlier."""
        rows = {token: 1 + node for node, token in enumerate(scored.tokens)}
        return rows | {self.last: 0} | {scored.tokens[node]: 1 + node for node in scored.path(tokens)}


class RecycleDrafter:
    """protocol.Drafter by token recycling. Raises BadParameter.

    recycle_top_k: followers kept of a token.
    recycle_tree: draft a tree, best first, or the likeliest chain; left out, a tree where the rule takes one.
    recycle_min_token_prob: the estimated chance at and below which nothing is drafted.
    recycle_max_tokens: tokens whose followers are kept; the oldest go first.
    recycle_scope: who shares a table: "prompt" the texts of one prompt, and the next prompt begins with a copy; "all"
    the texts of all prompts, at once.
    `trees` says whether the rule takes trees of certain tokens; None: not known.
    """

    def __init__(
        self,
        *,
        recycle_top_k: int = 8,
        recycle_tree: bool | None = None,
        recycle_min_token_prob: float = 0.02,
        recycle_max_tokens: int = 16384,
        recycle_scope: str = PROMPT,
        trees: bool | None = None,
    ) -> None:
        check(locals())
        self._is_tree = bool(trees) if recycle_tree is None else recycle_tree
        self._floor = recycle_min_token_prob
        self._tables = HandedDown(RecycleTable(recycle_top_k, recycle_max_tokens), RecycleTable.copy, recycle_scope)

    def open(self, tokens: Sequence[int], law: Law) -> RecycleState:
        """A text behind its prompt."""
        table, is_new = self._tables.open(tokens)
        if is_new:
            table.read(tokens)
        return RecycleState(table, tokens[-1])

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One tree or chain of certain tokens a state; a node's confidence is its probability in the table."""
        return [self._draft(state, budget) for state, budget in zip(states, budgets, strict=True)]

    def _draft(self, state: RecycleState, budget: int) -> Proposal:
        state.drafted = NOTHING
        if budget > 0:
            tokens, parents, chances = state.table.draft(state.last, budget, self._floor, self._is_tree)
            state.drafted = Proposal(tokens, parents, (None,) * len(tokens), confidence(parents, chances))
        return state.drafted


def confidence(parents: Any, chances: Floats) -> Floats:
    """[n]: a node's chance given its parent, from the chances of paths [n]."""
    above = np.where(parents == ROOT, 1.0, chances[parents])
    return np.clip(chances / above, LEAST, MOST)


def check(given: Mapping[str, Any]) -> None:
    """The drafter's settings by name; raises BadParameter."""
    for name, allowed in RANGES.items():
        allowed.check(name, given[name])
    check_scope("recycle_scope", given["recycle_scope"])
    check_tree("recycle_tree", given["recycle_tree"], given["trees"])
