"""Suffix decoding: what followed the longest suffix of the text that is known (Oliaro et al., 2411.04975).

Known is the text itself and what the other samples of its prompt wrote, in one suffix automaton (draft/automaton.py;
SAM decoding, 2411.10666), and, where a file of them is given, any texts of the past (draft/index/; a datastore as in
REST, 2311.08252). Let s be the longest suffix that something followed, and count(.) how often a string occurred. A
draft token x behind s has the estimated chance

    count(s x) / sum over y of count(s y),

a draft the product of its tokens' chances, and it is grown while that is at least `suffix_decoding_min_token_prob`, to
at most `suffix_decoding_max_spec_factor` |s| tokens: where much agrees, much is drafted. Every token is certain
(q None), so it is accepted with probability p(x), whoever wrote it first, and a text never depends on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truedraw.draft.shared_index import Shelf, Source, View, fingerprint
from truedraw.draft.site import Models
from truedraw.draft.suffix_settings import ALL, CACHED_BYTES, CACHED_TEXTS, PROMPT, TEXT, check
from truedraw.home_folder import expanded
from truedraw.protocol import NOTHING, Floats, Ints, Law, Proposal, Randomness, Scores

if TYPE_CHECKING:
    from truedraw.draft.index.known_texts import KnownTexts

EVERYONE = b""  # the name of the automaton of all prompts
LEAST = 1e-3  # of a confidence, which is never 0 nor 1
DOUBT = 2.0  # agreeing tokens after which half of what is certain by its share is kept
Views = Sequence[tuple[Source, Any]]
"""What a text looks up and where it stands there, the nearest first."""


class Glance:
    """protocol.DraftState of a text that is only tried out: it reads the sources and enters nothing."""

    def __init__(self, views: Views) -> None:
        self.views = views

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Look from behind these tokens on."""
        self.views = self.ahead(tokens).views

    def ahead(self, tokens: Sequence[int]) -> Glance:
        """protocol.LooksAhead: the same sources, which the tokens do not enter."""
        return Glance([(source, source.behind(cursor, tokens)) for source, cursor in self.views])


class SuffixState(Glance):
    """protocol.DraftState: where the text stands in each source that it reads."""

    dozes = True  # see protocol.Dozes

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Append; the others see it from now on."""
        for source, cursor in self.views:
            source.write(cursor, tokens)


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
    suffix_decoding_index: a file that `truedraw index build` made, looked up beside all that by 32 tokens at most, the
    farthest source. `models` tells the tokenizer that its ids must be of. Raises BadFile for what is no such file.
    `trees` says whether the rule takes trees of certain tokens; None: not known.
    """

    def __init__(  # noqa: PLR0913 - its settings, all by name
        self,
        *,
        suffix_decoding_max_tree_depth: int = 24,
        suffix_decoding_max_cached_requests: int = CACHED_TEXTS,
        suffix_decoding_max_cached_bytes: int = CACHED_BYTES,
        suffix_decoding_max_spec_factor: float = 2.0,
        suffix_decoding_min_token_prob: float = 0.1,
        suffix_decoding_tree: bool = False,
        suffix_decoding_scope: str = PROMPT,
        suffix_decoding_index: str | Path | None = None,
        models: Models | None = None,
        trees: bool | None = None,
    ) -> None:
        check(locals())
        bounds = (suffix_decoding_max_cached_requests, suffix_decoding_max_cached_bytes)
        self._depth, self._bounds = suffix_decoding_max_tree_depth, bounds
        self._factor, self._floor = suffix_decoding_max_spec_factor, suffix_decoding_min_token_prob
        self._is_tree, self._scope = suffix_decoding_tree, suffix_decoding_scope
        self._prompts, self._everyone = Shelf(self._depth, *bounds), Shelf(self._depth, *bounds)
        self._index = (
            None if suffix_decoding_index is None else known(expanded(suffix_decoding_index), self._depth, models)
        )

    @property
    def num_bytes(self) -> int:
        """Memory kept for texts to come."""
        return self._prompts.num_bytes + self._everyone.num_bytes

    def open(self, tokens: Sequence[int], law: Law) -> SuffixState:
        """A text behind its prompt."""
        views: list[tuple[Source, Any]] = [*self._running(tokens)]
        if self._index is not None:
            views.append((self._index, self._index.behind(self._index.text(), tokens)))
        return SuffixState(views)

    def _running(self, tokens: Sequence[int]) -> list[View]:
        """Automata that the text is entered into."""
        prompt = fingerprint(tokens)
        if self._scope == TEXT or 0 in self._bounds:
            return [Shelf(self._depth, *self._bounds).open(prompt, prompt, tokens)]
        views = [self._prompts.open(prompt, prompt, tokens)]
        if self._scope == ALL:
            views.append(self._everyone.open(EVERYONE, prompt, tokens))
        return views

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One chain or tree of certain tokens a state."""
        return [self._draft(state.views, budget) for state, budget in zip(states, budgets, strict=True)]

    def _draft(self, views: Views, budget: int) -> Proposal:
        if budget <= 0:
            return NOTHING
        matches = [source.match(cursor) for source, cursor in views]
        best = int(np.argmax(matches)) if len(matches) > 1 else 0
        room = min(budget, int(self._factor * matches[best]))
        if room <= 0:
            return NOTHING
        source, cursor = views[best]
        tokens, parents, chances = source.draft(cursor, room, self._floor, self._is_tree)
        return Proposal(tokens, parents, (None,) * len(tokens), confidence(parents, chances, matches[best]))


def confidence(parents: Ints, chances: Floats, matched: int) -> Floats:
    """Of each node: its share of what followed its parent, times m / (m + DOUBT) where m tokens agree up to it.

    On prose, problems with their solutions and task prompts this orders drafts by acceptance better than the share
    alone (area under the curve 0.74 against 0.70) or the match alone (0.67), and is near the rate itself.
    """
    shares = chances / np.append(chances, 1.0)[parents]  # ROOT is -1
    agreeing = np.empty(len(parents) + 1)
    agreeing[-1] = matched
    for node, parent in enumerate(parents.tolist()):
        agreeing[node] = agreeing[parent] + 1
    before = agreeing[parents]
    likely: Floats = np.clip(shares * before / (before + DOUBT), LEAST, 1 - LEAST)
    return likely


def known(path: Path, depth: int, models: Models | None) -> KnownTexts:
    """The texts of an index; raises BadFile for one of another tokenizer."""
    from truedraw.draft.index.header import check_tokenizer
    from truedraw.draft.index.known_texts import KnownTexts
    from truedraw.draft.index.mapping import open_index

    index = open_index(path)
    if models is not None:
        check_tokenizer(index.header, models.tokenizer.fingerprint, path)
    return KnownTexts(index, depth)
