"""Prompt lookup: what followed the last time the text ended like this (Saxena 2023; Yang et al., 2304.04487).

The longest suffix of `prompt_lookup_max` down to `prompt_lookup_min` tokens that stood in the text before is looked
up, its most recent place wins, and the tokens after that place are the draft. Every token is certain (q None), so it
is accepted with probability p(x).

The index maps an n-gram to the position after its latest occurrence. A token adds one entry for each n, a look-up
reads one entry for each n: both cost O(1), whatever the length of the text. A copy that reaches the end of the text
goes on reading what it wrote itself, so a period shorter than the budget is drafted in full.

How likely a token is kept grows with the number m of tokens before it that agree, drafts included: m / (m + DOUBT).
On prose, problems with their solutions and task prompts that number orders drafts by acceptance better than the length
of the n-gram that was looked up (area under the curve 0.675 against 0.633), and the fraction is near the rate itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import NOTHING, Law, Proposal, Randomness, Scores
from truedraw.sampling.ranges import Wholes

DOUBT = 4.0  # agreeing tokens after which half of the drafts are kept
MOST_COMPARED = 32  # tokens
MOST_LOOKED_UP = 64  # tokens: each length is an entry for every token of the text


class NgramState:
    """protocol.DraftState: the text and its index."""

    dozes = True  # see protocol.Dozes

    def __init__(self, shortest: int, longest: int) -> None:
        self._lengths = range(longest, shortest - 1, -1)
        self._text: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Append, and enter each n-gram that now has a successor."""
        for token in tokens:
            end = len(self._text)
            for n in self._lengths:
                if n <= end:
                    self._after[tuple(self._text[end - n :])] = end
            self._text.append(token)

    def draft(self, budget: int) -> Proposal:
        """At most `budget` tokens that followed the longest known suffix, as a chain of certain ones."""
        start = self._known()
        if start is None or budget <= 0:
            return NOTHING
        agreeing = self._agreeing(start) + np.arange(budget)
        return Proposal.chain(self._copy(start, budget), confidence=agreeing / (agreeing + DOUBT))

    def _known(self) -> int | None:
        """Where what followed the longest known suffix begins."""
        for n in self._lengths:
            start = self._after.get(tuple(self._text[-n:])) if n <= len(self._text) else None
            if start is not None:
                return start
        return None

    def _agreeing(self, start: int) -> int:
        """Tokens before `start` that are the end of the text, MOST_COMPARED at most."""
        most = min(start, MOST_COMPARED)
        for n in range(1, most + 1):
            if self._text[start - n] != self._text[-n]:
                return n - 1
        return most

    def ahead(self, tokens: Sequence[int]) -> NgramState:
        """protocol.LooksAhead: the same index, which the tokens have not entered yet, after a longer text."""
        state = NgramState(self._lengths[-1], self._lengths[0])
        state._text, state._after = [*self._text, *tokens], self._after
        return state

    def _copy(self, start: int, budget: int) -> list[int]:
        period = len(self._text) - start
        return [self._text[start + step % period] for step in range(budget)]


class NgramDrafter:
    """protocol.Drafter by prompt lookup; the names are vLLM's."""

    def __init__(self, prompt_lookup_min: int = 1, prompt_lookup_max: int = 4) -> None:
        for name in ("prompt_lookup_min", "prompt_lookup_max"):
            Wholes(1, f"1 to {MOST_LOOKED_UP}", MOST_LOOKED_UP).check(name, locals()[name])
        if not prompt_lookup_min <= prompt_lookup_max:
            raise BadParameter(
                "prompt_lookup_min",
                f"got {prompt_lookup_min} with prompt_lookup_max {prompt_lookup_max}; give 1 <= min <= max",
            )
        self._lengths = (prompt_lookup_min, prompt_lookup_max)

    def open(self, tokens: Sequence[int], law: Law) -> NgramState:
        """An index over the prompt."""
        state = NgramState(*self._lengths)
        state.commit(tokens)
        return state

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One chain of certain tokens a state."""
        return [state.draft(budget) for state, budget in zip(states, budgets, strict=True)]
