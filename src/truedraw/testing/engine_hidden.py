"""Checks of an engine that shows hidden states: each row is that of its own node."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.protocol import NOTHING, Proposal, Scores, Work
from truedraw.testing.bench import Bench, woven_tree
from truedraw.testing.checks import require
from truedraw.testing.engine_drafts import path_to


def check(bench: Bench) -> None:
    """Of a tree alone, of two texts in a pass, and behind a commit; nothing of engines that show none."""
    texts, tree = [bench.text(), bench.text(9, seed=1)], woven_tree(bench.engine.vocab_size)
    sequences = [bench.engine.open(text) for text in texts]
    works = [Work(sequences[0], tree), Work(sequences[1], Proposal.chain([1, 0, 1]))]
    if not bench.engine.fits(works):
        return
    for number, scores in enumerate(bench.engine.forward(works)):
        if scores.hidden is not None:
            _require_own(bench, texts[number], works[number].proposal, scores, f"text {number} of two in a pass")
    sequences[0].commit(tree.tokens[[1, 4]].tolist())
    (scores,) = bench.engine.forward([Work(sequences[0], tree)])
    if scores.hidden is not None:
        _require_own(bench, [*texts[0], *tree.tokens[[1, 4]].tolist()], tree, scores, "a text behind a commit")
    for sequence in sequences:
        sequence.close()


def _require_own(bench: Bench, text: list[int], proposal: Proposal, scores: Scores, what: str) -> None:
    """Equal where rows of logits are, and otherwise nearer to its own row by itself than to any other one."""
    found: Any = scores.hidden
    rows = 1 + len(proposal)
    require(found.ndim == 3 and len(found) == rows, f"{what}: hidden states {found.shape}, expected {rows} rows")
    paths = [proposal.tokens[path_to(proposal, node)].tolist() if node >= 0 else [] for node in range(-1, rows - 1)]
    found, expected = found.copy(), np.stack([_alone(bench, [*text, *path]) for path in paths])
    for row, own in enumerate(found):
        apart = np.sqrt(((expected - own) ** 2).sum((1, 2)))
        right = np.array_equal(own, expected[row]) if bench.tolerance == 0 else apart[row] <= apart.min()
        nearest = f"by {apart[row]:.3g}, and from that of row {int(apart.argmin())} by {apart.min():.3g}"
        require(bool(right), f"{what}: the hidden state of row {row} differs from its own {nearest}")


def _alone(bench: Bench, text: list[int]) -> Any:
    sequence = bench.engine.open(text)
    hidden = bench.engine.forward([Work(sequence, NOTHING)])[0].hidden
    sequence.close()
    require(hidden is not None, "hidden states come with some scores, and not with others")
    return np.array(hidden)[0]
