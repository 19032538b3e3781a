"""What the tensors of a draft are called, format by format.

    EAGLE, EAGLE-2   fc, layers.0.*, the head is the target's                        (repository of the papers)
    EAGLE-3          fc, midlayer.*, norm, lm_head, d2t, t2d                         (the same)
    "eagle"          fusion_fc, transformer.*, with three more norms or without      (speculators)
    "eagle3"         fc, layers.0.*, norm, lm_head, d2t, t2d, input_norm or not      (speculators)
    EAGLE-3.1        as these, with fc_norm.0, fc_norm.1 and so on                   (SpecForge, speculators)
    MTP              model.mtp_layers.0.*, with the fusion input_proj and three more norms, beside the model (MiMo)

Whether the repository's own EAGLE-3 calls its layer midlayer or layers.0, and whether model. stands in front of names,
depends on who converted it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from truedraw.draft.folder_tensors import TO_TARGET
from truedraw.models.mtp import PREFIX

FIRST, THIRD, MTP = 1, 3, 0  # versions; EAGLE-2 is another tree over a draft of the first, 0 is none of EAGLE
OF_THIRD = "midlayer."
LAYERS = (OF_THIRD, "layers.0.", "transformer.")
OUTER = "model."  # before the names of some conversions
FUSIONS = ("fc", "fusion_fc")
EMBEDDING, HEAD, NORM = "embed_tokens.weight", "lm_head.weight", "norm.weight"
TEXT_NORM, READ_NORM, LAST_NORM = "embedding_layernorm.weight", "input_norm.weight", "pre_lm_head_layernorm.weight"
STREAM_NORM = "fc_norm.{}.weight"  # of one of the streams, from 0
UNREAD = ("verifier_norm.weight", "verifier_lm_head.weight")
"""Copies of the target's that training leaves there."""


class Names(NamedTuple):
    """How one folder calls them."""

    version: int
    layer: str  # what stands before the names of the decoder layer's tensors
    fusion: str

    def of(self, part: str) -> str:
        """The name of a tensor of the layer."""
        return self.layer + part


MTP_NAMES = Names(MTP, f"{PREFIX}0.", f"{PREFIX}0.input_proj")


def find_names(present: Collection[str], said: str | None, *, fewer: bool = False) -> Names | None:
    """`said` is speculators_model_type, `fewer` that not all tokens are drafted; None: no tensors of an EAGLE draft."""
    layer = next((each for each in LAYERS if each + "self_attn.q_proj.weight" in present), None)
    fusion = next((each for each in FUSIONS if each + ".weight" in present), None)
    if layer is None or fusion is None:
        return None
    own = fewer or layer == OF_THIRD or layer + "hidden_norm.weight" in present or TO_TARGET in present
    third = own if said is None else said == "eagle3"
    return Names(THIRD if third else FIRST, layer, fusion)
