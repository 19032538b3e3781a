"""A text given by the user as draft: what the answer will probably be, a file to be edited for instance.

The draft is what stands next in the prediction while the text agrees with it. After a mismatch the longest suffix of
what was written that occurs in the prediction, of at most LONGEST tokens, says where to go on: at the next such place
ahead of where the two parted, or the last one behind it where there is none ahead. Until a token occurs there nothing
is drafted. Every token is certain (q None), so it is accepted with probability p(x), whatever was predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truedraw.draft.site import Models
from truedraw.errors import BadParameter
from truedraw.protocol import NOTHING, Ints, Law, Proposal, Randomness, Scores
from truedraw.sampling.ranges import check_utf8, ids
from truedraw.sampling.values import shown

LONGEST = 16  # tokens of a suffix that is looked for: places that agree in more are told apart by their order alone
TRUSTED = 3  # tokens in a row: where fewer agreed, the place was found by chance, and is none to look ahead from


class PredictionState:
    """protocol.DraftState: the end of what was written, and the place in the prediction that it has come to."""

    dozes = True  # see protocol.Dozes

    def __init__(self, predicted: Ints) -> None:
        self._predicted = predicted
        self._written: list[int] = []  # the last LONGEST tokens
        self._next: int | None = 0  # place in the prediction, None = lost
        self._parted = 0  # the last place where text and prediction surely agreed
        self._agreed = 0  # tokens in a row

    def commit(self, tokens: Sequence[int], scores: Scores | None = None) -> None:
        """Follow the text, and look for it where the prediction says something else."""
        self._written = [*self._written, *tokens][-LONGEST:]
        for token in tokens:
            self._follow(token)
        if self._next is None:
            self._next, self._agreed = found(self._predicted, self._written, self._parted)

    def ahead(self, tokens: Sequence[int]) -> PredictionState:
        """protocol.LooksAhead."""
        state = PredictionState(self._predicted)
        state._written, state._next, state._parted = self._written, self._next, self._parted
        state._agreed = self._agreed
        state.commit(tokens)
        return state

    def proposal(self, budget: int) -> Proposal:
        """The next tokens of the prediction; each is trusted the more, the more agreed before it."""
        if self._next is None or budget <= 0:
            return NOTHING
        tokens = self._predicted[self._next : self._next + budget].tolist()
        agreed = self._agreed + np.arange(len(tokens))
        return Proposal.chain(tokens, confidence=(agreed + 1) / (agreed + 2))  # the rule of succession

    def _follow(self, token: int) -> None:
        if self._next is None:
            return
        if self._next < len(self._predicted) and self._predicted[self._next] == token:
            self._next, self._agreed = self._next + 1, self._agreed + 1
        else:
            self._parted = self._next if self._agreed >= TRUSTED else self._parted
            self._next, self._agreed = None, 0


class PredictionDrafter:
    """protocol.Drafter by a given text; for the tokenizer and the vocabulary of the target in `models`.

    prediction: a text, or token ids. Raises BadParameter.
    """

    def __init__(self, models: Models, *, prediction: str | Sequence[int] | None = None) -> None:
        self._predicted = np.array(predicted_ids(prediction, models), np.int64)

    def open(self, tokens: Sequence[int], law: Law) -> PredictionState:
        """The prediction is of what follows the prompt."""
        return PredictionState(self._predicted)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """One chain of certain tokens a state."""
        return [state.proposal(budget) for state, budget in zip(states, budgets, strict=True)]


def found(predicted: Ints, written: Sequence[int], parted: int) -> tuple[int | None, int]:
    """(the place behind the longest suffix of `written`, its tokens); (None, 0) where the last token does not occur.

    Of equally long ones the first ahead of the place `parted`, else the last one before it.
    """
    if not written:
        return None, 0
    ends = np.flatnonzero(predicted == written[-1]) + 1  # places behind the suffix
    if not len(ends):
        return None, 0
    length = 1
    while length < len(written):
        longer = ends[ends > length]
        longer = longer[predicted[longer - length - 1] == written[-length - 1]]
        if not len(longer):
            break
        ends, length = longer, length + 1
    ahead = int(np.searchsorted(ends, parted, side="right"))
    return int(ends[min(ahead, len(ends) - 1)]), length


def predicted_ids(given: object, models: Models) -> Sequence[int]:
    """Token ids of a prediction; raises BadParameter."""
    if isinstance(given, str):
        check_utf8("prediction", given)
        tokens: Sequence[int] = models.tokenizer.encode(given, add_special=False)
    else:
        tokens = ids("prediction", given)
    if not tokens:
        raise BadParameter("prediction", "there is none; give a text, or token ids, that the answer will resemble")
    if max(tokens) >= models.vocab_size:
        raise BadParameter(
            "prediction", f"holds the token {shown(max(tokens))}; the model's are 0 to {models.vocab_size - 1}"
        )
    return tokens
