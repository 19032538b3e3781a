"""Laws that are none, which every rule that believes laws must refuse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from truedraw.protocol import DraftLaw, Proposal, SparseLaw, Verifier
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import Check

BAD_LAWS = {
    "a law that sums to 1.5": [0.5, 0.5, 0.5],
    "a law with a negative entry": [1.5, -0.5, 0.0],
    "a law with NaN": [0.5, float("nan"), 0.5],
    "a law that excludes its own token": [0.0, 0.5, 0.5],
    "a law over another vocabulary": [0.5, 0.5],
}
BAD_SPARSE_LAWS: dict[str, tuple[list[int], list[float], int]] = {  # tokens, weights, vocabulary
    "a sparse law that sums to 1.5": ([0, 2], [0.5, 1.0], 3),
    "a sparse law with a negative entry": ([0, 1, 2], [0.5, -0.5, 1.0], 3),
    "a sparse law with NaN": ([0, 1], [0.5, float("nan")], 3),
    "a sparse law that excludes its own token": ([1, 2], [0.5, 0.5], 3),
    "a sparse law over another vocabulary": ([0, 1], [0.5, 0.5], 4),
    "a sparse law with a token that does not exist": ([0, 3], [0.5, 0.5], 3),
    "a sparse law that names a token twice": ([0, 0], [0.5, 0.5], 3),
}


def refusals(make: Callable[[], Verifier]) -> list[Check]:
    """A check for each of them."""
    bad: dict[str, DraftLaw] = {name: np.array(law) for name, law in BAD_LAWS.items()}
    for name, (tokens, weights, vocab) in BAD_SPARSE_LAWS.items():
        bad[name] = SparseLaw(np.array(tokens, np.int64), np.array(weights), vocab)
    return [Check(f"refuses {name}", partial(_refuses, make, law)) for name, law in bad.items()]


def _refuses(make: Callable[[], Verifier], law: DraftLaw) -> None:
    proposal, rows = Proposal.chain([0], [law]), [np.array([0.2, 0.3, 0.5])] * 2
    try:
        make()(proposal, rows, PhiloxRandomness(0), 3)
    except ValueError:
        return
    raise AssertionError(f"the law {law} of a draft token 0 was accepted; raise BadProposal before anything is drawn")
