"""A head learns as it will be read: with some matrices in codes of four bits (draft/head/four_bits.py).

Codes have no gradient; what is learnt is moved as if it were not rounded (the straight-through estimator, Bengio et
al., 1308.3432), so that a head settles where rounding costs it little.
"""

from __future__ import annotations

from typing import Any

from truedraw.distill.head import Head
from truedraw.draft.head.four_bits import IN_FOUR_BITS, TOP, WRITTEN
from truedraw.engine.constants.rounding import INT4_GROUP

Tensor = Any  # torch.Tensor


def as_if_read(head: Head) -> Head:
    """The head with such matrices rounded; gradients reach its own weights."""
    rounded = IN_FOUR_BITS.get(head.network.kind, ())
    weights = {name: passed(each) if name in rounded else each for name, each in head.weights.items()}
    return head._replace(weights=weights)


def written_as_read(head: Head) -> Head:
    """The head whose output rows, which nobody learns, are rounded once."""
    if WRITTEN not in IN_FOUR_BITS.get(head.network.kind, ()):
        return head
    return head._replace(known=head.known._replace(readout=in_four_bits(head.known.readout)))


def passed(values: Tensor) -> Tensor:
    """Rounded, with the gradient of what is not."""
    return values + (in_four_bits(values.detach()) - values.detach())


def in_four_bits(values: Tensor) -> Tensor:
    """[out, in] with a scale and a least value, its ends, for each INT4_GROUP inputs; as it is where they are no whole
    groups."""
    if values.shape[-1] % INT4_GROUP:
        return values
    groups = values.view(-1, INT4_GROUP)
    least = groups.amin(-1, keepdim=True)
    scale = ((groups.amax(-1, keepdim=True) - least) / float(TOP)).clamp_min(1e-12)
    return ((groups - least).div_(scale).round_() * scale).add_(least).view_as(values)
