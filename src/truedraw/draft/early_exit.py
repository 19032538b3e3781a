"""The target's own first layers as drafter (Zhang et al., 2309.08168; Elhoushi et al., LayerSkip, 2404.16710).

    q(x | c) = softmax(head(norm(stream of c after the first layers)))

with the target's final norm and head. These layers compute for a draft what the target computes for it anyway, so they
read the target's own cache: no prompt is computed twice, and what the target has kept costs a draft nothing. A draft's
rows go to pages of the round's own, for the target writes all layers of them when it scores the draft. A prompt that
the target has not read yet is not drafted for: it reads it in the pass that follows.

How a token is drawn, and when a draft ends, is as in model.py; the draft_ settings are those of knobs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truedraw.draft.borrowed_text import BorrowedText
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter, ModelState
from truedraw.draft.site import ANOTHER, Layered, Models
from truedraw.draft.tempering import Tempering
from truedraw.errors import BadParameter, EngineError
from truedraw.protocol import Engine, Law, Proposal, Randomness
from truedraw.protocol.able import is_able
from truedraw.sampling.ranges import Wholes

SHARE = 8
"""By default one layer in so many. Of 30 layers that were not trained for it the first 1 to 9 keep 2 to 9 % of their
drafts and 24 a quarter (SmolLM2-135M, temperatures 0, 0.7 and 1). They take .18 to .4 and .83 of a pass: none pays, and
the fewest lose the least."""


class EarlyExitDrafter:
    """protocol.Drafter over the first `early_exit_layers` layers of `models.target`; None takes an eighth of them.

    Raises BadParameter where the target's engine cannot run its first layers alone, or has no more than that many.
    """

    def __init__(
        self,
        models: Models,
        vocab_size: int | None = None,
        knobs: Knobs | None = None,
        coupled: bool = False,
        early_exit_layers: int | None = None,
        tempering: Tempering | None = None,
    ) -> None:
        self._engine = first_layers(models, early_exit_layers)
        self._drafting = ModelDrafter(self._engine, vocab_size, knobs, coupled, tempering=tempering)

    def open(self, tokens: Sequence[int], law: Law) -> ModelState:
        """Nothing is computed, and nothing held."""
        return self._drafting.state(BorrowedText(self._engine, tokens), law)

    def propose(
        self, states: Sequence[Any], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """At most `budget` tokens a state; one pass of the first layers a token for all of them."""
        try:
            return self._drafting.propose(states, budgets, randomness)
        finally:
            for state in states:
                state.text.close()


def first_layers(models: Models, layers: int | None) -> Engine:
    """The engine that drafts; raises BadParameter."""
    name, target = "early_exit_layers", models.target
    if layers is not None:
        Wholes(1, "1 or more").check(name, layers)
    if not is_able(target, Layered):
        raise BadParameter(
            "method",
            f"early-exit runs the first layers alone, which the engine of {models.name} cannot {ANOTHER}",
        )
    wanted = max(1, target.num_layers // SHARE) if layers is None else layers
    if wanted >= target.num_layers:
        raise BadParameter(name, f"got {wanted}; {models.name} has {target.num_layers} layers, give fewer than these")
    try:
        return target.shallow(wanted)
    except EngineError as error:
        raise BadParameter("method", f"early-exit cannot draft for {models.name}: {error}") from error
