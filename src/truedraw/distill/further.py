"""A head that is trained further: whose network it has, and where its training begins.

A recurrent head may go on as an attentive one, with what it lacks as where a training begins: it says at first what it
said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truedraw.distill.before import Before
from truedraw.distill.checkpoint import Arrays
from truedraw.distill.network import Network, Sizes, inverse
from truedraw.distill.plan import HeadPlan
from truedraw.draft.head.file import HeadFile
from truedraw.engine.constants.matrix import dense
from truedraw.errors import BadParameter
from truedraw.protocol import Ints

if TYPE_CHECKING:
    from truedraw.generate.model import Model

TOLD = ("texts", "tokens", "trained_tokens", "seed")  # of a card, in that of the head that goes on from it
INIT = "init_from"
CODES = ".codes"  # behind the name of a matrix, in a file


def check_init(plan: HeadPlan, model: Model) -> None:
    """Raises BadParameter, BadFile for a head that is damaged, another model's or not to be learnt, before hours go
    by."""
    from truedraw.draft.head.opening import head_of

    if plan.before is None:
        return
    file = plan.before.file
    try:
        head_of(file, file.path, model.drafts)
    except BadParameter as error:
        raise BadParameter("--init-from", error.reason) from error
    _check_known(plan, file)


def _check_known(plan: HeadPlan, file: HeadFile) -> None:
    """Raises BadParameter for a head that has more than is learnt here."""
    from truedraw.distill.kinds import network_of

    arrays, known = file.arrays, network_of(plan).matrices
    more = sorted(name for name in arrays if name.endswith(CODES) and name.removesuffix(CODES) not in known)
    if more:
        raise BadParameter("--init-from", f"{file.path} has {more[0]}, which no training here has; train anew")


def learnt_before(file: HeadFile, network: Network, scale: NDArray[np.float32], seed: int) -> tuple[Arrays, Ints]:
    """A head's weights for features multiplied by `scale` [streams], and the tokens that it knows.

    What a head learnt while it drafted (draft/head/refit/) is left out: it corrects the network as that was.
    """
    anew = _begun_anew(file, network, seed)
    there = [name for name in network.matrices if name not in anew]
    matrices = {name: dense(file.matrix(name, file.arrays[name + CODES].shape)) for name in there}
    vectors = {name: file.arrays[name] for name in network.vectors if name not in anew}
    return network.folded({**anew, **matrices, **vectors}, inverse(scale)), file.tokens


def _begun_anew(file: HeadFile, network: Network, seed: int) -> Arrays:
    """What a head of another kind lacks of this network."""
    if file.card.kind == network.kind:
        return {}
    drawn = network.beginning(Sizes(file.card.width, file.card.streams, 0), seed)
    return {name: values.numpy() for name, values in drawn.items() if not {name, name + CODES} & file.arrays.keys()}


def begun_from(head: Before | None) -> dict[str, Any]:
    """For the card of what was trained further: the head it was, by name, and what that had learnt from."""
    if head is None:
        return {}
    found = head.file.card.training
    before = {INIT: found[INIT]} if isinstance(found.get(INIT), dict) else {}
    return {INIT: {"file": head.file.path.name, **{name: found[name] for name in TOLD if name in found}, **before}}
