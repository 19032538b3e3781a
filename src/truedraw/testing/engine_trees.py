"""Checks of an engine: trees that are wide or come path by path, tokens behind one that no path has, forks of forks."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import ROOT, Proposal, Sequence, Work
from truedraw.testing.bench import Bench, woven_tree
from truedraw.testing.checks import require
from truedraw.testing.engine_drafts import path_to
from truedraw.testing.engine_rows import require_paths

WIDTHS = (16, 9, 5)  # siblings: the most that there is room for
GENERATIONS = 4  # of forks
DRAFT = Proposal.chain([1, 0])


def wide_tree(vocab_size: int, width: int) -> Proposal:
    """So many siblings, each with a child, and as many behind the first child."""
    parents = [ROOT] * width + list(range(width)) + [width] * width
    tokens = (np.arange(len(parents)) + np.array(parents) // width) % vocab_size
    return Proposal(tokens, np.array(parents), (None,) * len(parents))


def path_tree(vocab_size: int) -> Proposal:
    """Two paths one behind the other, then a sibling of an inner node, and one at the root that equals the first."""
    tokens = np.array([1, 0, 1, 0, 1, 0, 1, 1, 1]) % vocab_size
    return Proposal(tokens, np.array([ROOT, 0, 1, ROOT, 3, 4, 0, ROOT, 7]), (None,) * len(tokens))


def by_paths(bench: Bench) -> None:
    """Every row is that of its path, and any path may be committed."""
    text, tree = bench.text(), path_tree(bench.engine.vocab_size)
    require_paths(bench, text, tree)
    for leaf in (2, 5, 8):
        _commit(bench, text, tree, tree.tokens[path_to(tree, leaf)].tolist())


def wide(bench: Bench) -> None:
    """Every row of a wide tree is the row of its path as a chain."""
    text = bench.text()
    trees = (wide_tree(bench.engine.vocab_size, width) for width in WIDTHS)
    tree = next((tree for tree in trees if bench.has_room([text], tree)), None)
    if tree is not None:
        require_paths(bench, text, tree)


def commits(bench: Bench) -> None:
    """Behind a pass with a tree any text may be committed: other tokens, and those of two paths."""
    text, tree = bench.text(), woven_tree(bench.engine.vocab_size)
    first, other = int(tree.tokens[0]), bench.engine.vocab_size - 1
    for tokens in ([other], [first, other], [first, int(tree.tokens[2]), other], [first, first, first, first], []):
        _commit(bench, text, tree, tokens)


def _commit(bench: Bench, text: list[int], tree: Proposal, tokens: list[int]) -> None:
    sequence = bench.engine.open(text)
    bench.engine.forward([Work(sequence, tree)])
    sequence.commit(tokens)
    _require_rows(bench, sequence, [*text, *tokens], f"a commit of {tokens} behind a tree of {tree.tokens.tolist()}")
    sequence.close()


def forks(bench: Bench) -> None:
    """Each generation is forked from the one before, goes its own way, and loses its parent in the end."""
    if not bench.has_room([bench.text()] * (1 + GENERATIONS), DRAFT):
        return
    family = _family(bench)
    for number in (*range(len(family)), *reversed(range(len(family)))):
        sequence, held = family[number]
        _require_rows(bench, sequence, held, f"generation {number} of forks of forks")
    while family:
        sequence, _ = family.pop(len(family) // 2)
        sequence.close()
        for other, text in family:
            _require_rows(bench, other, text, "one of several forks of which another was closed")


def _family(bench: Bench) -> list[tuple[Sequence, list[int]]]:
    """Generations, with what each should hold."""
    family: list[tuple[Sequence, list[int]]] = [(bench.engine.open(bench.text()), bench.text())]
    for number in range(GENERATIONS):
        parent, held = family[-1]
        (child,) = bench.engine.fork(parent, 1)
        require(list(child.tokens) == held, f"a fork of generation {number + 1} has another text than its parent")
        tokens = [number % bench.engine.vocab_size, 1]
        child.commit(tokens)
        bench.engine.forward([Work(child, DRAFT)])
        family.append((child, [*held, *tokens]))
    return family


def _require_rows(bench: Bench, sequence: Sequence, text: list[int], what: str) -> None:
    found = bench.engine.forward([Work(sequence, DRAFT)])[0].logits.copy()
    bench.require_equal(found, bench.rows(text, DRAFT), what)
