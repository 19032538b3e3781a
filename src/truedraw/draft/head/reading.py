"""What is read of a round: the target's hidden states where the text now ends, and a law in what the head says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.knobs import Knobs
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import ROOT, Floats, Ints, Law, Logits, Scores, SparseLaw


class Reading(NamedTuple):
    """How the logits of a head over some of a target's tokens are read."""

    tokens: Ints  # [known] rising
    vocab_size: int  # of the target

    def weights(self, logits: Logits, law: Law) -> Floats:
        """q [known], all other tokens have 0; raises BadParameter where the law rules out all that the head knows."""
        if getattr(law, "transform", None) is not None:  # it does not ask which tokens it is applied to
            return law(logits)
        whole = np.full(self.vocab_size, -np.inf, np.float32)
        whole[self.tokens] = logits
        return law(whole)[self.tokens]

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


def features_behind(tokens: Sequence[int], scores: Scores) -> NDArray[np.float32] | None:
    """Hidden states [streams, width] of the row that the last of `tokens` was drawn from; None where there are none."""
    if scores.hidden is None:
        return None
    here = {ROOT}
    if len(tokens) > 1:
        if scores.proposal is None:
            return None
        parents, ids = scores.proposal.parents.tolist(), scores.proposal.tokens.tolist()
        for token in tokens[:-1]:
            here = {node for node, parent in enumerate(parents) if parent in here and ids[node] == token}
    return scores.hidden[1 + min(here)].copy() if here else None
