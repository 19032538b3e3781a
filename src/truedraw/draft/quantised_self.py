"""A copy of the target in lower precision as drafter (ML-SpecQD, Georganas et al., 2503.13565).

q is the law of the same checkpoint opened with fewer bits a weight, in an engine and a cache of its own; everything
else is as in model.py. It agrees with the target far more often than a smaller model does, and saves far less. For a
target in float32 arithmetic a copy with 8 bits takes under half the time and keeps above nine drafts in ten. For one
that computes with 8 bits already, 4 bits take about nine tenths of the time where a model is small (SmolLM2-135M), and
keep half to seven tenths: that loses. It can only pay where reading the weights is nearly all that a pass does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter, ModelState
from truedraw.draft.site import Models
from truedraw.draft.tempering import Tempering
from truedraw.errors import BadParameter
from truedraw.protocol import Law, Proposal, Randomness
from truedraw.sampling.values import is_one_of, shown

WEIGHTS = ("int4", "int8")
REFERENCE = "reference"  # the arithmetic for which 8 bits are few


class QuantisedSelfDrafter:
    """protocol.Drafter over a copy of the target with `quantised_self_weights`, one of WEIGHTS.

    None takes "int8" for a target in reference arithmetic and "int4" for any other. The copy is always in the fast
    arithmetic: a draft need not be right. Raises BadParameter where the target cannot be opened like that.
    """

    def __init__(
        self,
        models: Models,
        vocab_size: int | None = None,
        knobs: Knobs | None = None,
        coupled: bool = False,
        quantised_self_weights: str | None = None,
        tempering: Tempering | None = None,
    ) -> None:
        if not (quantised_self_weights is None or is_one_of(quantised_self_weights, WEIGHTS)):
            raise BadParameter(
                "quantised_self_weights", f"got {shown(quantised_self_weights)}; give one of: {', '.join(WEIGHTS)}"
            )
        usual = "int8" if getattr(models.target, "numerics", None) == REFERENCE else "int4"
        copy = models.copy(quantised_self_weights or usual)
        self._drafting = ModelDrafter(copy, vocab_size, knobs, coupled, tempering=tempering)

    def open(self, tokens: Sequence[int], law: Law) -> ModelState:
        """Nothing is computed yet; samples of one prompt share its pages."""
        return self._drafting.open(tokens, law)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` tokens a state; one pass of the copy a token for all of them."""
        return self._drafting.propose(states, budgets, randomness)

    def close(self) -> None:
        """Give back what all texts hold; the copy stays open for the next run."""
        self._drafting.close()
