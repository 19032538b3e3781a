"""A smaller model as drafter (Leviathan et al., 2211.17192; Chen et al., 2302.01318), in an engine of its own.

The draft model reads the same tokens as the target. In a round all texts draft together, one pass of the draft model a
token. The first pass computes what the last round committed and says the law of the first token; then each text goes
on in a fork of its own, one row a pass, which is dropped at the end: nothing has to be rolled back.

q is the target's law applied to the draft's logits with the hypothetical prefix, or a law of its own (knobs.py), and
the token's law is the very vector it was drawn from, zeros included. How it is drawn depends on who judges it:

* under the p/q rules from q, with noise that nothing else sees ("probabilistic");
* under coupled verification from q with the noise of the position that the target will draw with, argmin E / q beside
  argmin E / p (Daliri, Musco, Suresh, 2408.07978, "gumbel"): equal with probability
  sum_j 1 / sum_i max(p_i / p_j, q_i / q_j), at least (1 - TV) / (1 + TV). That noise is met again when the position is
  drafted once more, so such a token is no sample of q given the past, and no p/q rule may judge it by q: it is handed
  over as a certain token, which every rule can judge whatever it came from;
* "greedy" takes the likeliest tokens, as certain ones, under any rule.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truedraw.draft.cached_text import CachedText, SharedPrompt, Text
from truedraw.draft.growing import Branch, Draws
from truedraw.draft.knobs import GREEDY, GUMBEL, PROBABILISTIC, Knobs
from truedraw.draft.site import close_each
from truedraw.draft.tempering import OwnLaw, Tempering
from truedraw.draft.vocabulary import SameTokens, Vocabulary
from truedraw.errors import BadParameter, OutOfPages
from truedraw.protocol import Engine, Law, Logits, Proposal, Randomness, Scores


class ModelState:
    """protocol.DraftState: the text in the draft model's cache, tokens that are certain to follow, the law there."""

    def __init__(self, text: Text, law: OwnLaw, behind: tuple[int, ...] = ()) -> None:
        self.text, self.law, self.behind = text, law, behind
        self._said: Logits | None = None  # by the draft model behind the text, where that is to be learnt from

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """The text goes on; computed with the next pass."""
        said, self._said = self._said, None
        if said is not None and scores is not None:
            self.law.learn(scores.logits[0], lambda law: law(said))
        self.text.append(tokens)
        self.law = self.law.after(tokens)

    def ahead(self, tokens: Sequence[int]) -> ModelState:
        """protocol.LooksAhead: the tokens ride in the first pass of the round."""
        return ModelState(self.text, self.law.after(tokens), (*self.behind, *tokens))

    def hear(self, logits: Logits) -> None:
        """The draft model says logits [vocab] here."""
        if not self.behind and self.law.is_due():
            self._said = logits.copy()

    def close(self) -> None:
        """Give the pages back; the text can still go on, and be drafted for."""
        self.text.close()


@dataclass(slots=True)
class Draft:
    """What one text drafts in one round, and the law of the next token of it."""

    state: ModelState
    branch: Branch
    law: Law
    draws: Draws
    is_begun: bool = False

    def grown(self, logits: Logits, knobs: Knobs) -> bool:
        """One token more, from logits [vocab]; whether to go on."""
        if not self.is_begun:
            self.state.hear(logits)
            self.is_begun = True
        token = self.branch.grow(logits, self.law, self.draws, knobs)
        if token is None:
            return False
        self.law = self.law.after(token)
        self.branch.text.commit([token])
        return True


class ModelDrafter:
    """protocol.Drafter over the engine `model`, for a target of `vocab_size` rows (None: as many as the draft model).

    `coupled` says that the rule is a coupled one; `tempering` is what is known of the best temperature, which is then
    tuned (None: drafts have the target's). Raises BadParameter where "gumbel" is asked for without a coupled rule, or a
    law whose likeliest token alone is drafted. One run is one drafter; close() gives back what its texts hold, and the
    engine stays open.
    """

    def __init__(
        self, model: Engine, vocab_size: int | None = None, knobs: Knobs | None = None, coupled: bool = False, *,
        tempering: Tempering | None = None,
    ) -> None:  # fmt: skip
        self.knobs, self._tempering = knobs or Knobs(), tempering
        self.method = sample_method(self.knobs, coupled)
        self.knobs.check_likeliest()
        self._engine = model
        self._vocabulary: Vocabulary = SameTokens(vocab_size or model.vocab_size)
        self._prompt: SharedPrompt | None = None
        self._open: list[CachedText] = []
        weakref.finalize(self, close_all, self._open).atexit = False  # a run that nobody ended holds pages, too

    @classmethod
    def reading(
        cls, model: Engine, vocabulary: Vocabulary, knobs: Knobs, coupled: bool, *, tempering: Tempering | None = None
    ) -> ModelDrafter:
        """A draft model that does not have the target's tokens."""
        drafter = cls(model, None, knobs, coupled, tempering=tempering)
        drafter._vocabulary = vocabulary
        return drafter

    def open(self, tokens: Sequence[int], law: Law) -> ModelState:
        """Nothing is computed yet; samples of one prompt share its pages."""
        if self._prompt is None or self._prompt.tokens != tuple(tokens):
            self._prompt = SharedPrompt(self._engine, tokens, self._vocabulary)
        text = CachedText(self._prompt)
        self._open.append(text)
        return self.state(text, law)

    def state(self, text: Text, law: Law) -> ModelState:
        """Of a text that somebody holds; `law` is the target's behind it."""
        return ModelState(text, OwnLaw.of(law, self.knobs, self._tempering))

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` tokens a state; one pass a token for all of them."""
        drafts = [self._begun(*each) for each in zip(states, budgets, randomness, strict=True)]
        try:
            self._grow(drafts, states)
            return [draft.branch.ended() for draft in drafts]
        finally:
            close_each(draft.branch.text for draft in drafts)

    def close(self) -> None:
        """Give back what all texts hold."""
        close_all(self._open)

    def _grow(self, drafts: Sequence[Draft], states: Sequence[Any]) -> None:
        """All of them to their ends."""
        live = [draft for draft in drafts if draft.branch.starts()]
        for state in states:
            state.text.begun()
        while live:
            rows = self._passed(live)
            live = [draft for draft, row in zip(live, rows, strict=True) if draft.grown(row, self.knobs)]

    def _begun(self, state: ModelState, budget: int, randomness: Randomness) -> Draft:
        position = len(state.text.tokens) + len(state.behind)
        branch = Branch(self._engine, state.text, state.behind, budget)
        return Draft(state, branch, state.law.now(), Draws(self.method, randomness, position))

    def _passed(self, live: list[Draft]) -> list[Logits]:
        """The rows of one pass; where the cache has no room for all, the last texts leave it and draft no further."""
        while live:
            try:
                scores = self._engine.forward([draft.branch.text.work() for draft in live])
                return [self._vocabulary.row(each.logits[-1]) for each in scores]
            except OutOfPages:
                live.pop().branch.text.leave()
        return []


def sample_method(knobs: Knobs, coupled: bool) -> str:
    """How drafts are drawn. The target's noise is for a rule that draws with it again, and for no other."""
    if knobs.draft_sample_method == GUMBEL and not coupled:
        raise BadParameter(
            "draft_sample_method",
            f'"{GUMBEL}" draws with the noise of the target, which only a coupled rule may judge; '
            f'give a seed or rejection_sample_method "coupled", or draw "{PROBABILISTIC}" or "{GREEDY}"',
        )
    return knobs.draft_sample_method or (GUMBEL if coupled else PROBABILISTIC)


def close_all(texts: Sequence[CachedText]) -> None:
    """Close every text."""
    for text in texts:
        text.close()
