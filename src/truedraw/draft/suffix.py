"""Suffix decoding: what followed the longest suffix of the text that is known (Oliaro et al., 2411.04975).

Known is the text itself and what the other samples of its prompt wrote, in one suffix automaton (draft/automaton.py;
SAM decoding, 2411.10666). Let s be the longest suffix that something followed, and count(.) how often a string
occurred. A draft token x behind s has the estimated chance

    count(s x) / sum over y of count(s y),

a draft the product of its tokens' chances, and it is grown while that is at least `suffix_decoding_min_token_prob`, to
at most `suffix_decoding_max_spec_factor` |s| tokens: where much agrees, much is drafted. Every token is certain
(q None), so it is accepted with probability p(x), whoever wrote it first, and a text never depends on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truedraw.draft.shared_index import Shelf, View, fingerprint
from truedraw.errors import BadParameter
from truedraw.protocol import NOTHING, Law, Proposal, Randomness, Scores
from truedraw.sampling.ranges import NOT_NEGATIVE, SHARE, Numbers, Wholes

TEXT, PROMPT, ALL = "text", "prompt", "all"
SCOPES = (TEXT, PROMPT, ALL)
EVERYONE = b""  # the name of the automaton of all prompts
CACHED_BYTES = 4 << 20  # 1 % of a model of 135 M parameters and its cache at work, the smallest that is served
RANGES: dict[str, Numbers | Wholes] = {
    "suffix_decoding_max_tree_depth": Wholes(2, "2 or more: a token to look up and one to draft"),
    "suffix_decoding_max_cached_requests": Wholes(0, "0 or more; 0 keeps nothing for other texts"),
    "suffix_decoding_max_cached_bytes": Wholes(0, "0 or more; 0 keeps nothing for other texts"),
    "suffix_decoding_max_spec_factor": NOT_NEGATIVE,
    "suffix_decoding_min_token_prob": SHARE,
}


class SuffixState:
    """protocol.DraftState: where the text stands in each automaton it reads, the nearest first."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Append; the others see it from now on."""
        for automaton, cursor in self.views:
            automaton.write(cursor, tokens)

    def ahead(self, tokens: Sequence[int]) -> Glance:
        """protocol.LooksAhead: the same automata, which the tokens do not enter."""
        return Glance([(automaton, automaton.behind(cursor, tokens)) for automaton, cursor in self.views])


class Glance:
    """protocol.DraftState of a text that is only tried out: it reads the automata and enters nothing."""

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Look from behind these tokens on."""
        self.views = self.ahead(tokens).views

    def ahead(self, tokens: Sequence[int]) -> Glance:
        """protocol.LooksAhead."""
        return Glance([(automaton, automaton.behind(cursor, tokens)) for automaton, cursor in self.views])


class SuffixDrafter:
    """protocol.Drafter by suffix decoding; the names are vLLM's where it has one. Raises BadParameter.

    suffix_decoding_max_tree_depth: tokens of the longest string whose frequency is known, one more than are looked up.
    suffix_decoding_max_cached_requests, suffix_decoding_max_cached_bytes: how many texts, and memory for them, are kept
    for texts that open later.
    suffix_decoding_max_spec_factor: draft tokens at most for each token of the suffix found; 2 suits an engine
    whose rows cost a few per cent of a pass, 1 one whose rows cost a tenth or more.
    suffix_decoding_min_token_prob: the estimated chance below which nothing is drafted.
    suffix_decoding_tree: draft the likeliest tokens that followed, best first, in place of the likeliest chain.
    suffix_decoding_scope: what a text looks up beside itself: "text" nothing, "prompt" the texts of the same prompt,
    "all" those of other prompts as well; the nearest source wins where suffixes are equally long.
    """

    def __init__(
        self,
        *,
        suffix_decoding_max_tree_depth: int = 24,
        suffix_decoding_max_cached_requests: int = 10_000,
        suffix_decoding_max_cached_bytes: int = CACHED_BYTES,
        suffix_decoding_max_spec_factor: float = 2.0,
        suffix_decoding_min_token_prob: float = 0.1,
        suffix_decoding_tree: bool = False,
        suffix_decoding_scope: str = PROMPT,
    ) -> None:
        check(locals())
        bounds = (suffix_decoding_max_cached_requests, suffix_decoding_max_cached_bytes)
        self._depth, self._bounds = suffix_decoding_max_tree_depth, bounds
        self._factor, self._floor = suffix_decoding_max_spec_factor, suffix_decoding_min_token_prob
        self._is_tree, self._scope = suffix_decoding_tree, suffix_decoding_scope
        self._prompts, self._everyone = Shelf(self._depth, *bounds), Shelf(self._depth, *bounds)

    @property
    def num_bytes(self) -> int:
        """Memory kept for texts to come."""
        return self._prompts.num_bytes + self._everyone.num_bytes

    def open(self, tokens: Sequence[int], law: Law) -> SuffixState:
        """A text behind its prompt."""
        prompt = fingerprint(tokens)
        if self._scope == TEXT or 0 in self._bounds:
            return SuffixState([Shelf(self._depth, *self._bounds).open(prompt, prompt, tokens)])
        views = [self._prompts.open(prompt, prompt, tokens)]
        if self._scope == ALL:
            views.append(self._everyone.open(EVERYONE, prompt, tokens))
        return SuffixState(views)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One chain or tree of certain tokens a state."""
        return [self._draft(state.views, budget) for state, budget in zip(states, budgets, strict=True)]

    def _draft(self, views: Sequence[View], budget: int) -> Proposal:
        if budget <= 0:
            return NOTHING
        matches = [automaton.match(cursor) for automaton, cursor in views]
        best = int(np.argmax(matches)) if len(matches) > 1 else 0
        room = min(budget, int(self._factor * matches[best]))
        if room <= 0:
            return NOTHING
        automaton, cursor = views[best]
        tokens, parents, _ = automaton.draft(cursor, room, self._floor, self._is_tree)
        return Proposal(tokens, parents, (None,) * len(tokens))


def check(given: Mapping[str, Any]) -> None:
    """The drafter's settings by name; raises BadParameter."""
    for name, allowed in RANGES.items():
        allowed.check(name, given[name])
    if given["suffix_decoding_scope"] not in SCOPES:
        scope = given["suffix_decoding_scope"]
        raise BadParameter("suffix_decoding_scope", f"got {scope!r}; give one of: {', '.join(SCOPES)}")
    if not isinstance(given["suffix_decoding_tree"], bool):
        tree = given["suffix_decoding_tree"]
        raise BadParameter("suffix_decoding_tree", f"got {tree!r}; give true or false")
