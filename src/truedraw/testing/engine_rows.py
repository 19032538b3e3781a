"""Checks of an engine: what a row is must not depend on how it was computed."""

from __future__ import annotations

import numpy as np

from truedraw.protocol import Proposal, Work
from truedraw.testing.bench import Bench, refused, woven_tree
from truedraw.testing.checks import require
from truedraw.testing.engine_drafts import path_to, plainly

DRAFTED = (1, 6, 7, 15, 64)
"""Lengths of chains: 7 if nothing is said, 64 where so many tokens have to come."""
COMMITTED = (7, 15)


def sizes(bench: Bench) -> None:
    """A row a node, finite somewhere, over the stated vocabulary."""
    engine = bench.engine
    require(engine.vocab_size > 1, f"vocab_size is {engine.vocab_size}")
    require(engine.context_length > 1, f"context_length is {engine.context_length}")
    logits = bench.rows(bench.text(), Proposal.chain([0, 1]))
    require(isinstance(logits, np.ndarray), f"logits are a {type(logits).__name__}; give an array of numpy")
    require(logits.dtype in (np.float32, np.float64), f"logits are {logits.dtype}; give float32 or float64")
    require(logits.shape == (3, engine.vocab_size), f"2 draft tokens gave logits {logits.shape}")
    require(bool(np.isfinite(logits.max(-1)).all()), "a row has no finite logit")
    require(not np.isnan(logits).any(), "a row holds NaN")


def bad_texts(bench: Bench) -> None:
    """None, and ids outside the vocabulary."""
    for text in ([], [-1], [bench.engine.vocab_size]):
        with refused(f"the text {text}"):
            bench.engine.open(text)


def tokens(bench: Bench) -> None:
    """What was opened and committed."""
    text = bench.text(5)
    sequence = bench.engine.open(text)
    sequence.commit([1, 0])
    found = list(sequence.tokens)
    require(found == [*text, 1, 0], f"the text {text} and a commit of [1, 0] became {found}")
    sequence.close()


def empty(bench: Bench) -> None:
    """Nothing in, nothing out."""
    require(list(bench.engine.forward([])) == [], "a pass without work has scores")
    require(bench.engine.fits([]), "a pass without work has no room")
    sequence = bench.engine.open(bench.text(3))
    require(list(bench.engine.fork(sequence, 0)) == [], "a fork into 0 texts gave some")
    sequence.close()


def twice(bench: Bench) -> None:
    """A pass leaves no trace."""
    sequence = bench.engine.open(bench.text())
    first, second = (bench.engine.forward([Work(sequence)])[0].logits.copy() for _ in range(2))
    bench.require_equal(second, first, "the second of two equal passes")
    sequence.close()


def chains(bench: Bench) -> None:
    """Every row of a chain is the row of plain decoding."""
    text, (*shorter, draft) = bench.text(), _drafts(bench)
    rows = plainly(bench, text, draft)
    for each in (*shorter, draft):
        bench.require_equal(bench.rows(text, Proposal.chain(each)), rows[: 1 + len(each)], f"a chain of {len(each)}")


def _drafts(bench: Bench, lengths: tuple[int, ...] = DRAFTED) -> list[list[int]]:
    """Of these lengths, as far as there is room, each the beginning of the next."""
    text = bench.text()
    ids = np.random.default_rng(1).integers(0, bench.engine.vocab_size, max(lengths)).tolist()
    return [ids[:length] for length in lengths if bench.has_room([text], Proposal.chain(ids[:length]))]


def trees(bench: Bench) -> None:
    """Every row of a tree is the row of its path as a chain."""
    require_paths(bench, bench.text(), woven_tree(bench.engine.vocab_size))


def require_paths(bench: Bench, text: list[int], tree: Proposal) -> None:
    """Each row of a tree is that of its path."""
    logits = bench.rows(text, tree)
    for node in range(len(tree)):
        path = tree.tokens[path_to(tree, node)].tolist()
        expected = bench.rows(text, Proposal.chain(path))[-1:]
        bench.require_equal(logits[1 + node : 2 + node], expected, f"node {node} of a tree of {len(tree)}")


def commits(bench: Bench) -> None:
    """After a pass with drafts any text may be committed."""
    text, draft = bench.text(), bench.text(5, seed=2)
    other = (draft[2] + 1) % bench.engine.vocab_size
    cases = {"all of a chain": draft, "a part of it": draft[:2], "a part and another token": [*draft[:2], other],
             "another token": [(draft[0] + 1) % bench.engine.vocab_size], "more": [*draft, other]}  # fmt: skip
    for name, tokens in cases.items():
        sequence = bench.engine.open(text)
        bench.engine.forward([Work(sequence, Proposal.chain(draft))])
        sequence.commit(tokens)
        found = bench.engine.forward([Work(sequence, Proposal.chain(draft[:2]))])[0].logits.copy()
        sequence.close()
        bench.require_equal(found, bench.rows([*text, *tokens], Proposal.chain(draft[:2])), f"a commit of {name}")
    for each in _drafts(bench, COMMITTED):
        _commits_of_all_lengths(bench, text, each)
    _commit_of_a_branch(bench, text)


def _commits_of_all_lengths(bench: Bench, text: list[int], draft: list[int]) -> None:
    for kept in range(len(draft) + 1):
        tokens = [*draft[:kept], (draft[kept % len(draft)] + 1) % bench.engine.vocab_size]
        sequence = bench.engine.open(text)
        bench.engine.forward([Work(sequence, Proposal.chain(draft))])
        sequence.commit(tokens)
        found = bench.engine.forward([Work(sequence)])[0].logits.copy()
        sequence.close()
        bench.require_equal(found, bench.rows([*text, *tokens]), f"a commit of {kept} of {len(draft)} drafts and one")


def _commit_of_a_branch(bench: Bench, text: list[int]) -> None:
    tree = woven_tree(bench.engine.vocab_size)
    sequence = bench.engine.open(text)
    bench.engine.forward([Work(sequence, tree)])
    branch = [int(tree.tokens[node]) for node in (1, 4, 6)]
    sequence.commit(branch)
    found = bench.engine.forward([Work(sequence)])[0].logits.copy()
    sequence.close()
    bench.require_equal(found, bench.rows([*text, *branch]), "a commit of a tree's side branch")
