"""The kinds of networks in torch, a file each, as in draft/head/kinds/, which has their formulas."""

from __future__ import annotations

from collections.abc import Callable

from truedraw.distill.kinds.attentive import Attentive
from truedraw.distill.kinds.hydra import Hydra
from truedraw.distill.kinds.medusa import Medusa
from truedraw.distill.kinds.parallel import Parallel
from truedraw.distill.kinds.recurrent import Recurrent
from truedraw.distill.network import Network
from truedraw.distill.plan import HeadPlan
from truedraw.draft.head.card import ATTENTIVE, HYDRA, MEDUSA, PARALLEL


def network_of(plan: HeadPlan) -> Network:
    """The network that is asked for."""
    bounded: dict[str, Callable[[int], Network]] = {MEDUSA: Medusa, HYDRA: Hydra, PARALLEL: Parallel}
    if plan.kind in bounded:
        assert plan.heads is not None
        return bounded[plan.kind](plan.heads)
    return Attentive() if plan.kind == ATTENTIVE else Recurrent()
