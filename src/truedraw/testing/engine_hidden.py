"""Checks of an engine that shows hidden states: each row is that of its own node."""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.protocol import NOTHING, Fill, Proposal, TextRows, Work
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
    for number, hidden in enumerate(_shown(bench, works)):
        require_own(bench, texts[number], works[number].proposal, hidden, f"text {number} of two in a pass")
    sequences[0].commit(tree.tokens[[1, 4]].tolist())
    for hidden in _shown(bench, [Work(sequences[0], tree)]):
        require_own(bench, [*texts[0], *tree.tokens[[1, 4]].tolist()], tree, hidden, "a text behind a commit")
    for sequence in sequences:
        sequence.close()


def prompts(bench: Bench) -> None:
    """A text's first scores, and no later ones, bring the rows before; nothing of engines that are not asked for it."""
    engine, text = bench.engine, bench.text(9, seed=2)
    whole, pieces, parent = (engine.open(text) for _ in range(3))
    if (count := min(4, pieces.num_uncached - 1)) > 0:
        engine.forward([], [Fill(pieces, count)])
    sequences = {"a text": whole, "a text computed in pieces": pieces}
    sequences |= dict(zip(("a fork", "another fork"), engine.fork(parent, 2), strict=True))
    works = [Work(sequence) for sequence in sequences.values()]
    shown = [scores.text for scores in engine.forward(works)] if engine.fits(works) else []
    if any(shown):
        expected = np.stack([_alone(bench, text[:end]) for end in range(1, len(text))])
        for what, rows in zip(sequences, shown, strict=True):
            _require_all(bench, what, rows, expected)
        whole.commit([0])
        require(engine.forward([Work(whole)])[0].text == (), "a text's second scores bring its prompt again")
    for sequence in (*sequences.values(), parent):
        sequence.close()


def _require_all(bench: Bench, what: str, rows: tuple[TextRows, ...], expected: Any) -> None:
    """Each place once, with the hidden state of that row by itself."""
    places = [place for each in rows for place in range(each.first, each.first + len(each.hidden))]
    require(places == list(range(len(expected))), f"{what}: hidden states of the places {places} come with its scores")
    for place, own in enumerate(np.concatenate([each.hidden for each in rows])):
        _require_nearest(bench, f"{what}: the hidden state of place {place}", own, expected, place)


def _shown(bench: Bench, works: list[Work]) -> list[Any]:
    """Copies: the next pass may write where scores lie."""
    found = [scores.hidden for scores in bench.engine.forward(works)]
    return [hidden.copy() for hidden in found if hidden is not None]


def require_own(bench: Bench, text: list[int], proposal: Proposal, found: Any, what: str) -> None:
    """Equal where rows of logits are, and otherwise nearer to its own row by itself than to any other one."""
    rows = 1 + len(proposal)
    require(found.ndim == 3 and len(found) == rows, f"{what}: hidden states {found.shape}, expected {rows} rows")
    paths = [proposal.tokens[path_to(proposal, node)].tolist() if node >= 0 else [] for node in range(-1, rows - 1)]
    expected = np.stack([_alone(bench, [*text, *path]) for path in paths])
    for row, own in enumerate(found):
        _require_nearest(bench, f"{what}: the hidden state of row {row}", own, expected, row)


def _require_nearest(bench: Bench, what: str, own: Any, expected: Any, row: int) -> None:
    apart = np.sqrt(((expected - own) ** 2).sum((1, 2)))
    right = np.array_equal(own, expected[row]) if bench.tolerance == 0 else apart[row] <= apart.min()
    nearest = f"by {apart[row]:.3g}, and from that of row {int(apart.argmin())} by {apart.min():.3g}"
    require(bool(right), f"{what} differs from its own {nearest}")


def _alone(bench: Bench, text: list[int]) -> Any:
    sequence = bench.engine.open(text)
    hidden = bench.engine.forward([Work(sequence, NOTHING)])[0].hidden
    sequence.close()
    require(hidden is not None, "hidden states come with some scores, and not with others")
    return np.array(hidden)[0]
