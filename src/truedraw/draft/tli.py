"""Token-level intersection: a draft model with another tokenizer (Timor et al., 2502.05202, algorithm 4).

A token of the target and one of the draft model that stand for the same bytes are one token. q is the draft model's
law restricted to such tokens and renormalised, over the target's ids and zero elsewhere:

    q(x) = q_draft(x) / sum over shared y of q_draft(y)        for a shared token x

which is what any law makes of logits that are -inf elsewhere. From there on everything is as for a model with the
target's tokenizer (draft/model.py), and exact for the same reason: q is the very vector that was drawn from. What only
the draft model can say is never drafted, and what only the target can say is what a residual is for.

The draft model reads the prompt in its own spelling. Behind it a shared token is read as itself, and a token that it
lacks is spelled out, so the text in the cache only grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter, ModelState
from truedraw.draft.respelling import PAIRS, ordinary, respelling
from truedraw.draft.site import Models
from truedraw.draft.tempering import Tempering
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Law, Logits, Proposal, Randomness
from truedraw.text import Tokenizer


class SharedTokens:
    """draft.vocabulary.Vocabulary over tokens of equal bytes; the target has `vocab_size` rows, the draft `rows`."""

    def __init__(self, target: Tokenizer, draft: Tokenizer, vocab_size: int, rows: int) -> None:
        self._respelling, self._vocab_size = respelling(target, draft, rows), vocab_size
        self._read = {token: i for token, i in read_as(target, draft).items() if i < rows}
        self.num_shared = sum(not target.is_special(token) for token in self._read)
        drawn = {i: token for token, i in self._read.items() if token < vocab_size}
        self._from = np.fromiter(drawn, np.int64, len(drawn))  # [shared] ids of the draft model
        self._to = np.fromiter(drawn.values(), np.int64, len(drawn))  # [shared] tokens of the target
        self._spelled: dict[int, list[int]] = {}

    def opening(self, tokens: Sequence[int]) -> Sequence[int]:
        """In the draft model's own spelling."""
        return self._respelling.opening(tokens)

    def ids(self, tokens: Sequence[int]) -> Sequence[int]:
        """Token by token."""
        return [i for token in tokens for i in self._ids(token)]

    def row(self, logits: Logits) -> Logits:
        """[vocab] of the target, -inf for what is not shared; raises EngineError where nothing shared is possible."""
        row, shared = np.full(self._vocab_size, -np.inf, dtype=logits.dtype), logits[self._from]
        if np.maximum.reduce(shared, initial=-np.inf) == -np.inf < np.maximum.reduce(logits):
            raise EngineError("the draft model gives probability 0 to all tokens that it shares with the target")
        row[self._to] = shared
        return row

    def _ids(self, token: int) -> Sequence[int]:
        if token in self._read:
            return (self._read[token],)
        if token not in self._spelled:
            self._spelled[token] = self._respelling.text([token])
        return self._spelled[token]


class TliDrafter:
    """protocol.Drafter over the model `model_name`, whose tokenizer may be any that shares a token with the target's.

    `knobs`, `coupled` and `tempering` as for the method model. Raises BadParameter where no token is shared.
    """

    def __init__(
        self, models: Models, model_name: str, knobs: Knobs | None = None, coupled: bool = False, *,
        tempering: Tempering | None = None,
    ) -> None:  # fmt: skip
        draft = models.any(model_name)
        shared = shared_tokens(models.tokenizer, draft.tokenizer, models.vocab_size, draft.engine.vocab_size)
        if not shared.num_shared:
            raise BadParameter(
                "model",
                f"the vocabulary of {model_name} has no token of {models.name}: no two of them stand for the same "
                'bytes; take a model of another family, or the method "string-match"',
            )
        self._drafter = ModelDrafter.reading(draft.engine, shared, knobs or Knobs(), coupled, tempering=tempering)

    def open(self, tokens: Sequence[int], law: Law) -> ModelState:
        """Nothing is computed yet; samples of one prompt share its pages."""
        return self._drafter.open(tokens, law)

    def propose(
        self, states: Sequence[ModelState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` tokens a state; one pass a token for all of them."""
        return self._drafter.propose(states, budgets, randomness)

    def close(self) -> None:
        """Give back what all texts hold."""
        self._drafter.close()


@lru_cache(PAIRS)
def shared_tokens(target: Tokenizer, draft: Tokenizer, vocab_size: int, rows: int) -> SharedTokens:
    """Kept, for every run has a drafter of its own."""
    return SharedTokens(target, draft, vocab_size, rows)


def read_as(target: Tokenizer, draft: Tokenizer) -> dict[int, int]:
    """Token of the target -> id of the draft model: equal bytes, or control tokens that mean the same.

    Of several tokens of the target that read as one id, the one to be drafted stands last.
    """
    ids = {data: i for i, data in ordinary(draft)}
    found = {token: ids[data] for token, data in ordinary(target) if data in ids}
    controls = respelling(target, draft).controls
    ends = [token for token in controls if token in target.eos_ids[:1]]
    for token in (*(token for token in controls if token not in ends), *ends):
        if controls[token]:
            found[token] = controls[token][0]
    return found
