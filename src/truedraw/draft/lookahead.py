"""Lookahead decoding: n-grams that the target wrote beside the text, in rows that cost next to nothing (2402.02057).

A proposal has two parts. The *candidates* are n-grams of the pool that begin with the last token of the text, the
latest first. The *window* (lookahead_window.py) holds guesses further ahead; what the model finds likeliest behind them
makes the next guesses and new n-grams for the pool, as do the rows behind candidates and the text itself. Both are
tokens that were picked without chance, hence certain drafts (q None), accepted with probability p(x): in a tree of
drafts there is no need to keep them apart, and a guess of the window that comes true is kept as well.

Where the rule takes chains only, the draft is one n-gram with the guesses for the places behind it, the chain of plain
Jacobi decoding. Differences from the paper: the pool also takes n-grams of the prompt and of the text; what begins
the window are tokens of the text in their order, not random ones; and at T > 0 the pass is verified by the rule of the
run and not by its algorithm 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truedraw.draft.handed_down import PROMPT, HandedDown, check_scope, check_tree
from truedraw.draft.lookahead_board import Board
from truedraw.draft.lookahead_pool import NgramPool
from truedraw.draft.lookahead_window import Columns, Line, Path, prefixes
from truedraw.draft.scored import ScoredTree
from truedraw.errors import BadParameter
from truedraw.protocol import NOTHING, Law, Proposal, Randomness, Scores
from truedraw.sampling.ranges import Wholes
from truedraw.sampling.values import shown

TAIL = 256  # tokens of the text that begin windows
LIKELY, NEXT = 0.4, 0.6  # confidences of a candidate: of the latest one's first token, of each token behind its first
RANGES = {
    "lookahead_window": Wholes(0, "0 or more; 0 guesses nothing"),
    "lookahead_ngram": Wholes(2, "2 or more: a token to look up and one to draft"),
    "lookahead_pool": Wholes(1, "1 or more"),
}


class LookaheadState:
    """protocol.DraftState: the end of the text, its window, and the pool it fills and reads.

    Without a window it is a look ahead, which only reads.
    """

    def __init__(self, pool: NgramPool, text: Sequence[int], window: Columns | Line | None) -> None:
        self.pool, self.tail = pool, list(text[-TAIL:])
        self._window, self._drafted = window, NOTHING
        self._asked: list[Path] = []

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Append, and enter what the rows of the round say."""
        if self._window is not None:
            found = {} if scores is None else self._found(scores)
            for path, token in found.items():
                self._enter((*path, token))
            self._window.learn(found, len(tokens))
            for end in range(len(tokens)):
                self._enter(tuple(tokens[: end + 1]))
        self.tail = [*self.tail, *tokens][-TAIL:]
        self._drafted, self._asked = NOTHING, []

    def ahead(self, tokens: Sequence[int]) -> LookaheadState:
        """protocol.LooksAhead: the n-grams behind a longer text, and no window."""
        return LookaheadState(self.pool, [*self.tail, *tokens], None)

    def draft(self, budget: int, is_tree: bool) -> Proposal:
        """Candidates, for which half of the budget is kept, and the window."""
        board, start = Board(budget), tuple[int, ...]()
        self._asked, kept = [], 0 if self._window is None else self._window.num_rows(budget // 2)
        candidates = self.pool.behind(self.tail[-1])
        for rank, gram in enumerate(candidates if is_tree else candidates[:1]):
            if board.room <= kept:
                break
            start = gram[: board.room - kept]
            board.add(start, [LIKELY / (1 + rank), *[NEXT] * (len(start) - 1)])
            self._asked += prefixes(start)
        if self._window is not None and budget > 0:
            self._asked += self._window.place(board, start, self.tail)
        self._drafted = board.proposal()
        return self._drafted

    def _found(self, scores: Scores) -> dict[Path, int]:
        """The tokens that are likeliest behind the text itself and behind the paths asked for."""
        scored = ScoredTree(scores, self._drafted)
        nodes = {path: scored.path(path) for path in [(), *self._asked]}
        return {
            path: int(scores.logits[1 + along[-1] if along else 0].argmax())
            for path, along in nodes.items()
            if len(along) == len(path)
        }

    def _enter(self, path: Path) -> None:
        """The n-gram at the end of the text with a path behind it."""
        gram = (*self.tail[-self.pool.length :], *path)[-self.pool.length :]
        if len(gram) == self.pool.length:
            self.pool.add(gram)


class LookaheadDrafter:
    """protocol.Drafter by lookahead decoding. Raises BadParameter.

    lookahead_window: columns of guesses in a pass (guesses, where the rule takes chains only); 0 drafts from the text
    and from rows that are there anyway.
    lookahead_ngram: tokens of an n-gram, the one it is looked up by included.
    lookahead_pool: n-grams kept; the oldest go.
    lookahead_prompt: put the n-grams of the prompt into the pool.
    lookahead_tree: draft a tree, or one chain; left out, a tree where the rule takes one.
    lookahead_scope: who shares a pool: "prompt" the texts of one prompt, and the next prompt begins with a copy; "all"
    the texts of all prompts, at once.
    `trees` says whether the rule takes trees of certain tokens; None: not known.
    """

    def __init__(
        self,
        *,
        lookahead_window: int = 3,
        lookahead_ngram: int = 3,
        lookahead_pool: int = 4096,
        lookahead_prompt: bool = True,
        lookahead_tree: bool | None = None,
        lookahead_scope: str = PROMPT,
        trees: bool | None = None,
    ) -> None:
        check(locals())
        self._is_tree = bool(trees) if lookahead_tree is None else lookahead_tree
        self._window, self._length = lookahead_window, lookahead_ngram
        self._reads_prompts = lookahead_prompt
        self._pools = HandedDown(NgramPool(lookahead_ngram, lookahead_pool), NgramPool.copy, lookahead_scope)

    def open(self, tokens: Sequence[int], law: Law) -> LookaheadState:
        """A text behind its prompt."""
        pool, is_new = self._pools.open(tokens)
        if is_new and self._reads_prompts:
            pool.read(tokens)
        window = Columns(self._window, self._length - 1) if self._is_tree else Line(self._window)
        return LookaheadState(pool, tokens, window)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One tree or chain of certain tokens a state."""
        return [state.draft(budget, self._is_tree) for state, budget in zip(states, budgets, strict=True)]


def check(given: Mapping[str, Any]) -> None:
    """The drafter's settings by name; raises BadParameter."""
    for name, allowed in RANGES.items():
        allowed.check(name, given[name])
    if not isinstance(given["lookahead_prompt"], bool):
        raise BadParameter("lookahead_prompt", f"got {shown(given['lookahead_prompt'])}; give true or false")
    check_scope("lookahead_scope", given["lookahead_scope"])
    check_tree("lookahead_tree", given["lookahead_tree"], given["trees"])
