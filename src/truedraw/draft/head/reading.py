"""What is read of a round: the target's hidden states where the text now ends, and a law in what the head says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.knobs import Knobs
from truedraw.draft.known import law_over
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import ROOT, Floats, Ints, Law, Logits, Scores, SparseLaw


class Reading(NamedTuple):
    """How the logits of a head over some of a target's tokens are read."""

    tokens: Ints  # [known] rising
    vocab_size: int  # of the target

    def weights(self, logits: Logits, law: Law) -> Floats:
        """q [known], all other tokens have 0; raises BadParameter where the law rules out all that the head knows."""
        return law_over(self.tokens, logits, law, self.vocab_size)

    def law(self, logits: Logits, law: Law) -> SparseLaw:
        """The same, to draw from."""
        return SparseLaw(self.tokens, self.weights(logits, law), self.vocab_size)

    def offered(self, logits: Logits, law: Law, knobs: Knobs) -> SparseLaw | None:
        """The same, None where there is nothing to draw."""
        if knobs.ends(logits):
            return None
        try:
            return self.law(logits, law)
        except (BadParameter, EngineError):  # the law rules out all that is known, or the logits are no numbers
            return None


def features_along(tokens: Sequence[int], scores: Scores, last: bool = False) -> NDArray[np.float32] | None:
    """Hidden states [len(tokens), streams, width] of the rows that `tokens` were drawn from, or [1, ...] of the `last`
    one's; None where there are none."""
    hidden, rows = scores.hidden, _rows_along(tokens, scores)
    if hidden is None or rows is None:
        return None
    rows = rows[-1:] if last else rows
    first, end = rows[0], rows[-1] + 1
    if end - first == len(rows):  # as nearly always; a copy of a slice is made sooner
        return hidden[first:end].copy()
    found: NDArray[np.float32] = hidden[rows]
    return found


def _rows_along(tokens: Sequence[int], scores: Scores) -> list[int] | None:
    """Two nodes may spell the same; the path is that of the first one that all tokens lead to."""
    if len(tokens) == 1:
        return [0]
    if scores.proposal is None:
        return None
    parents, ids, drafts = scores.proposal.parents.tolist(), scores.proposal.tokens.tolist(), len(tokens) - 1
    if ids[:drafts] == [*tokens[:drafts]] and parents[:drafts] == [*range(ROOT, ROOT + drafts)]:
        return [*range(drafts + 1)]  # a chain, as nearly always
    here = {ROOT}
    for token in tokens[:-1]:
        here = {node for node, parent in enumerate(parents) if parent in here and ids[node] == token}
    return _up_from(min(here), parents) if here else None


def _up_from(node: int, parents: Sequence[int]) -> list[int]:
    """Rows from the text's own to that of a node."""
    found = []
    while node != ROOT:
        found.append(1 + node)
        node = parents[node]
    return [0, *reversed(found)]
