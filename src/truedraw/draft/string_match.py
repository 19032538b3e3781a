"""String-level matching: a draft model with any other tokenizer writes text (Timor et al., 2502.05202, algorithm 2).

The draft model goes on in tokens of its own, the likeliest ones. What it wrote is spelled in the target's tokens, and
those are the draft: certain ones (q None), so each is kept with probability p(x), whatever the draft model's law was.
Nothing is asked of the two vocabularies.

Where the text may go on inside a word, the spelling of its end may still change: a token is offered only if it ends
before the last token of the draft model begins, which costs the round one pass more. Spelling is done over a few words
at a time (draft/string_match_text.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from truedraw.draft.knobs import GREEDY, Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.draft.respelling import respelling, speller
from truedraw.draft.site import Models
from truedraw.draft.string_match_text import Beginning, StringMatchState, Written, offered
from truedraw.protocol import Law, Proposal, Randomness
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams

HELD_BACK = 1  # token of the draft model, behind which the spelling is settled


class StringMatchDrafter:
    """protocol.Drafter over the model `model_name`, whatever its tokenizer. Raises BadParameter.

    draft_stop_below, draft_stop_entropy: as in draft/knobs.py.
    """

    def __init__(
        self,
        models: Models,
        model_name: str,
        draft_stop_below: float | None = None,
        draft_stop_entropy: float | None = None,
    ) -> None:
        knobs = Knobs(
            draft_sample_method=GREEDY, draft_stop_below=draft_stop_below, draft_stop_entropy=draft_stop_entropy
        )
        draft = models.any(model_name)
        self._writer = ModelDrafter(draft.engine, knobs=knobs)
        self._target, self._draft = models.tokenizer, draft.tokenizer
        self._vocab_size, self._rows = models.vocab_size, draft.engine.vocab_size
        self._beginning: Beginning | None = None

    def open(self, tokens: Sequence[int], law: Law) -> StringMatchState:
        """Nothing is computed yet; samples of one prompt share its pages. `law` is over tokens it does not draw."""
        if self._beginning is None or self._beginning.tokens != tuple(tokens):
            way = respelling(self._target, self._draft, self._rows)
            self._beginning = Beginning(way, self._target, tokens)
        begins = self._beginning
        return StringMatchState(begins, self._writer.open(begins.settled, SamplingLaw(SamplingParams())), begins.open)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` certain tokens a state; one pass for each token that is written."""
        lengths = [self._length(*each) for each in zip(states, budgets, strict=True)]
        drafts = self._writer.propose([state.writing() for state in states], lengths, randomness)
        return [self._spelled(*each) for each in zip(states, drafts, budgets, strict=True)]

    def close(self) -> None:
        """Give back what all texts hold."""
        self._writer.close()

    def _length(self, state: StringMatchState, budget: int) -> int:
        """Tokens to write."""
        return math.ceil(budget * state.begins.ratio) + HELD_BACK if budget > 0 else 0

    def _spelled(self, state: StringMatchState, draft: Proposal, budget: int) -> Proposal:
        written = Written(self._draft, draft)
        tokens = offered(speller(self._target), self._target, state.tail, written)[:budget]
        known = next((i for i, token in enumerate(tokens) if token >= self._vocab_size), len(tokens))
        return Proposal.chain(tokens[:known], confidence=written.confidence(self._target, tokens[:known]))
