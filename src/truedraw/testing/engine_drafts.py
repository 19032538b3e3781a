"""Checks of an engine: drafts behind long texts, large trees, and long texts side by side."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import NOTHING, ROOT, Logits, Proposal, Work
from truedraw.testing.bench import TEXT_TOKENS, Bench

LENGTHS = (700, 300, 100, TEXT_TOKENS)  # of texts that drafts stand behind, as far as there is room
PAIRS = ((700, 300), (300, 150), (110, 100))  # texts of one pass: the longest that there is room for
EVERY_LENGTH = 68  # tokens: past a page of most caches, or two
LEVELS = 7  # of the large tree, as many as a chain has if nothing is said
LEAVES = 4


def large_tree(vocab_size: int) -> Proposal:
    """Two nodes, four behind them, and a chain behind each of these: 26 in all, level by level."""
    first = [ROOT, ROOT, 0, 0, 1, 1]
    rest = [node - LEAVES for node in range(len(first), len(first) + LEAVES * (LEVELS - 2))]
    tokens = np.random.default_rng(5).integers(0, vocab_size, len(first) + len(rest))
    tokens[: len(first)] = [1, 0, 0, 1, 1, 0]
    return Proposal(tokens, np.array([*first, *rest]), (None,) * len(tokens))


def path_to(tree: Proposal, node: int) -> list[int]:
    """The nodes from the root down to this one."""
    nodes: list[int] = []
    while node != ROOT:
        nodes.insert(0, node)
        node = int(tree.parents[node])
    return nodes


def plainly(bench: Bench, text: list[int], tokens: list[int]) -> Logits:
    """The rows of plain decoding behind a fresh text, and behind each of the tokens as it is appended."""
    sequence = bench.engine.open(text)
    rows = []
    for token in [*tokens, None]:
        rows.append(bench.engine.forward([Work(sequence)])[0].logits[0].copy())
        sequence.commit([] if token is None else [token])
    sequence.close()
    return np.stack(rows)


def behind(bench: Bench) -> None:
    """Chains, large trees, commits and forks behind long texts are plain decoding."""
    tree = large_tree(bench.engine.vocab_size)
    for length in LENGTHS:
        text = bench.text(length, seed=length)
        if bench.has_room([text], tree):
            _tree(bench, text, tree)
            _commit(bench, text, tree)


def _tree(bench: Bench, text: list[int], tree: Proposal) -> None:
    found = bench.rows(text, tree)
    for leaf in range(len(tree) - LEAVES, len(tree)):
        nodes = path_to(tree, leaf)
        tokens = tree.tokens[nodes].tolist()
        expected, what = plainly(bench, text, tokens), f"behind a text of {len(text)} tokens"
        path = found[[0, *(1 + node for node in nodes)]]
        bench.require_equal(path, expected, f"a path of a tree of {len(tree)} nodes {what}")
        bench.require_equal(bench.rows(text, Proposal.chain(tokens)), expected, f"a chain of {len(tokens)} {what}")


def _commit(bench: Bench, text: list[int], tree: Proposal) -> None:
    """Of the tree's last path; then drafts, in the text and in a fork of it, and after an eviction."""
    tokens, draft = tree.tokens[path_to(tree, len(tree) - 1)].tolist(), [0, 1]
    expected = plainly(bench, [*text, *tokens], draft)
    forks = int(bench.has_room([[*text, *tokens]] * 2, Proposal.chain(draft)))
    sequence = bench.engine.open(text)
    bench.engine.forward([Work(sequence, tree)])
    sequence.commit(tokens)
    texts = [sequence, *bench.engine.fork(sequence, forks)]
    for name, each in zip(("a commit of a path", "a fork"), texts, strict=False):
        for when in ("", ", evicted,"):
            found = bench.engine.forward([Work(each, Proposal.chain(draft))])[0].logits.copy()
            bench.require_equal(found, expected, f"{name}{when} behind a text of {len(text)} tokens")
            each.evict()
    for each in texts:
        each.close()


def every_length(bench: Bench) -> None:
    """A text that grows token by token, with a tree behind it each time: wherever its pages end."""
    text = bench.text(EVERY_LENGTH + 2, seed=6)
    rows = plainly(bench, text[:1], text[1:])
    sequence = bench.engine.open(text[:1])
    for length in range(1, len(text) - 1):
        coming = text[length : length + 2]
        tree = Proposal(np.array([1 - min(coming[0], 1), *coming]), np.array([ROOT, ROOT, 1]), (None,) * 3)
        found = bench.engine.forward([Work(sequence, tree)])[0].logits[[0, 2, 3]].copy()
        bench.require_equal(found, rows[length - 1 : length + 2], f"a tree behind a text grown to {length} tokens")
        sequence.commit(coming[:1])
    sequence.close()


def side_by_side(bench: Bench) -> None:
    """Two long texts in a pass, with drafts and without."""
    draft = Proposal.chain([1, 0])
    pairs = ([bench.text(length, seed=length) for length in lengths] for lengths in PAIRS)
    texts = next((pair for pair in pairs if bench.has_room(pair, draft)), [])
    for proposal in (NOTHING, draft):
        sequences = [bench.engine.open(text) for text in texts]
        found = [scores.logits.copy() for scores in bench.engine.forward([Work(each, proposal) for each in sequences])]
        for sequence in sequences:
            sequence.close()
        for text, logits in zip(texts, found, strict=True):
            bench.require_equal(
                logits, bench.rows(text, proposal), f"one of two texts, of {len(text)} tokens, in one pass"
            )
