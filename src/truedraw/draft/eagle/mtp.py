"""A checkpoint's own layer for multi-token prediction as drafter (method "mtp"; MiMo, 2505.07608).

Such a layer was trained with the model to say the token after the next one: it reads the last hidden state of a token
and the token drawn behind it, as an EAGLE draft does, and it is drawn from as one. For further tokens it goes on with
its own normed state, as vLLM and FastMTP (2509.18362) do; where a checkpoint has several layers, all places are drafted
by the first, the only one that implementations of this model run.
"""

from __future__ import annotations

from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Known, Settled
from truedraw.draft.site import Models, unrolls
from truedraw.draft.tempering import Tempering
from truedraw.draft.trees import Trees
from truedraw.sampling.ranges import Wholes

DEEPEST = 3  # levels: what such layers are trained further for, where they are at all; the first is what they are for


class MtpDrafter(EagleDrafter):
    """protocol.Drafter for the target `models.target`, which was loaded for its MTP layers.

    mtp_depth: levels of the tree at most. `siblings`: what is known of how often candidates are kept. `trees`: whether
    the rule takes more than chains. Raises BadParameter and BadFile.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        models: Models,
        mtp_depth: int = DEEPEST,
        knobs: Knobs | None = None,
        coupled: bool = False,
        trees: bool = False,
        tempering: Tempering | None = None,
        siblings: Known = Settled,
    ) -> None:
        Wholes(1, "1 or more").check("mtp_depth", mtp_depth)
        draft, own = models.mtp(), knobs or Knobs()
        known, narrow = siblings(draft.siblings), unrolls(models.target)
        shapes = Trees(known, mtp_depth, own.draft_siblings, chains=not trees, narrow=narrow)
        self._set(draft.network, shapes, vocab_size, own, coupled)
        self._tempering = tempering
