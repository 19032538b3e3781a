"""Bans that need little or nothing of the text: allowed_token_ids and min_tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truedraw.protocol import Floats, Ints
from truedraw.sampling.edits import UNEDITED, Edits, fixed_bits
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import FixedEdits, Opening, Step


def allowed_token_ids(params: SamplingParams, opening: Opening) -> Step | None:
    """Only these tokens are possible (vLLM); None where all are."""
    if params.allowed_token_ids is None:
        return None
    allowed = np.zeros(opening.vocabulary(), np.bool_)
    allowed[opening.ids("allowed_token_ids", params.allowed_token_ids)] = True
    bits = fixed_bits(np.packbits(allowed, bitorder="little"))
    return FixedEdits(lambda edits: edits.allowing(bits), "allowed_token_ids")


@dataclass(frozen=True, slots=True)
class MinTokens:
    """End tokens are impossible before a text has min_tokens tokens (vLLM; Hugging Face's min_new_tokens).

    These are the model's own, also with ignore_eos, and stop_token_ids. A stop string may still end the text.
    """

    left: int
    end_ids: Ints

    @property
    def is_counted(self) -> bool:
        """See Editing."""
        return self.left <= 0

    def __call__(self, row: Row) -> None:
        """Ban the ends while tokens are missing."""
        if self.left > 0:
            row.edit(self.edited(UNEDITED), "min_tokens")

    def after(self, token: int, p: Floats | None) -> MinTokens:
        """One less is missing."""
        return MinTokens(self.left - 1, self.end_ids) if self.left > 0 else self

    def edited(self, edits: Edits) -> Edits:
        """As Editing."""
        return edits.banning(self.end_ids) if self.left > 0 else edits


def min_tokens(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where it is off or there is no end token."""
    if params.min_tokens == 0 or not opening.end_ids:
        return None
    known = tuple(token for token in opening.end_ids if token < opening.vocabulary())
    return MinTokens(params.min_tokens, opening.ids("min_tokens", known))
