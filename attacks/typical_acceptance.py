"""Drafts that are not unlikely are kept: Medusa's rule, an option elsewhere, here fenced (truedraw/verify/lossy)."""

from attacks.attack import Attack, enumerated
from truedraw.verify.lossy.typical import TypicalVerifier

ATTACK = Attack(
    "lossy on purpose: typical acceptance",
    enumerated(TypicalVerifier()),
    "an option in [vLLM #5131](https://github.com/vllm-project/vllm/pull/5131)",
)
