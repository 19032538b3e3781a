"""Multi-path block verification: of K independent paths one is selected, and verified with the law of being selected.

After "multi-path block verification" (2602.16961); the selection rule, the law and the continuation are truedraw's own.

Order the tokens of every context by a key that no draft decides (here p / q, the greatest first). The selected path
is the first of the K in the lexicographic order this makes. Let b be the q-mass of all paths before the prefix c and
m = q(c): all K paths come at or after c with probability (1 - b)^K, after it with (1 - b - m)^K, so the selected one
begins with c with probability (1 - b)^K - (1 - b - m)^K. Put s = m / (1 - b), F(x) = q-mass of the tokens before x
after c, t = 1 - s F(x), d = s q(x); then, given c, the selected path goes on with

    q~(x|c) = [t^K - (t - d)^K] / [1 - (1 - s)^K] = q(x) sum_j t^(K-1-j) (t - d)^j / sum_j (1 - s)^j,   j = 0 .. K-1

(no cancellation, and never 0 where q is not), and s becomes d / t. Block verification with q~ is exact, since the
selected path was drawn from it. Continuation: when the token y that it emits after c differs from the selected path's,
the other paths through c y were compared with the selected one above y only, so below y they still are independent
draws from q, and the rule starts again there with them.

A path may end where its text says so: then all that are equal so far end there, and block verification allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from truedraw.errors import BadInput
from truedraw.protocol import ROOT, DraftLaw, Floats, Proposal, Randomness, Rows, Verdict
from truedraw.verify.block import Path, block
from truedraw.verify.draws import Draws
from truedraw.verify.proposals import check, children, dense

Nodes = tuple[int, ...]


class MultipathVerifier:
    """protocol.Verifier for K independent draws of a path: K chains from the root, prefixes repeated.

    Equal prefixes must report equal laws and end alike: where a path ends may depend on its own text alone. A single
    chain is block verification. Raises BadInput on other trees and BadProposal on an illegal law; both are ValueErrors.
    """

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """Select, verify, and again with the paths that are left."""
        check(proposal, rows)
        draws = Draws(randomness, position)
        paths, start = independent_paths(proposal, rows), ROOT
        text: tuple[int, ...] = ()
        while True:
            chosen = selected(proposal, start, paths, rows)
            kept, token = block(chosen, rows, draws)
            text = (*text, *chosen.tokens[:kept], token)
            left = going_on(proposal, paths, chosen, (*chosen.tokens[:kept], token))
            if not left:
                return Verdict(text, len(text) - 1, rejected=kept < len(chosen.nodes))
            start, paths = left[0][kept], [path[kept + 1 :] for path in left]


def going_on(proposal: Proposal, paths: Sequence[Nodes], chosen: Path, text: tuple[int, ...]) -> list[Nodes]:
    """The paths that begin with `text` where the chosen one does not; it does by rounding only, as its rejected token
    has nothing in (r p - q~)+."""
    n = len(text)
    if text == chosen.tokens[:n]:
        return []
    return [path for path in paths if spelt(proposal, path[:n]) == text]


def selected(proposal: Proposal, start: int, paths: Sequence[Nodes], rows: Rows) -> Path:
    """The lexicographically first path, and the law of each of its tokens as the first path's."""
    ids, k, share, node = proposal.tokens.tolist(), len(paths), 1.0, start
    if k == 1:
        return Path(start, paths[0], spelt(proposal, paths[0]), tuple(proposal.laws[node] for node in paths[0]))
    laws: list[DraftLaw | None] = []
    while longer := [path for path in paths if len(path) > len(laws)]:
        depth, p, draft = len(laws), rows[1 + node], longer[0][len(laws)]
        q = dense(proposal.laws[draft], len(p), ids[draft])
        rank, before = order(p, q)
        laws.append(first_law(q, before, share, k))
        token = min((ids[path[depth]] for path in longer), key=lambda token: float(rank[token]))
        paths = [path for path in longer if ids[path[depth]] == token]
        if p[token] == 0.0:
            break
        node = paths[0][depth]
        share = narrowed(share, float(q[token]), float(before[token]))
    return Path(start, paths[0], spelt(proposal, paths[0]), tuple(laws))


def spelt(proposal: Proposal, path: Nodes) -> tuple[int, ...]:
    """The tokens of a path."""
    return tuple(proposal.tokens[list(path)].tolist())


def narrowed(share: float, q: float, before: float) -> float:
    """s below a token, d / t."""
    mass = share * q
    return mass / max(1.0 - share * before, mass)


def order(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """(rank of each token, q-mass of the tokens before it), both [vocab]; the greatest p / q first."""
    with np.errstate(over="ignore"):  # q next to nothing: infinitely better is right
        gain = np.divide(p, q, out=np.full(len(p), -1.0), where=q > 0.0)
    ranked = np.argsort(-gain, kind="stable")
    rank, before = np.empty(len(p)), np.empty(len(p))
    rank[ranked] = np.arange(len(p))
    mass = q[ranked]
    before[ranked] = np.concatenate(([0.0], np.cumsum(mass)[:-1]))
    return rank, before


def first_law(q: Floats, before: Floats, share: float, k: int) -> Floats:
    """q~ [vocab]."""
    after = np.maximum(1.0 - share * before, share * q)
    without = after - share * q
    tilt = sum(after ** (k - 1 - j) * without**j for j in range(k))
    law: Floats = q * tilt / sum((1.0 - share) ** j for j in range(k))
    return law


def independent_paths(proposal: Proposal, rows: Rows) -> list[Nodes]:
    """The paths; raises BadInput where the tree is not made of independent draws of one path."""
    tree = children(proposal)
    paths: list[Nodes] = [(node,) for node in tree[ROOT]]
    while any(tree[path[-1]] for path in paths):
        if any(len(tree[path[-1]]) > 1 for path in paths):
            raise BadInput(
                f"multi-path verification takes chains from the root; the proposal's parents are "
                f'{proposal.parents.tolist()}. Verify other trees with "traversal"'
            )
        paths = [(*path, *tree[path[-1]]) for path in paths]
    check_alike(proposal, paths, len(rows[0]))
    return paths or [()]


def check_alike(proposal: Proposal, paths: Sequence[Nodes], vocab: int) -> None:
    """Raises BadInput where two paths report different laws after one prefix, or one of them ends there alone."""
    known: dict[tuple[int, ...], Floats] = {}
    for path in paths:
        tokens = spelt(proposal, path)
        for depth, node in enumerate(path):
            law = dense(proposal.laws[node], vocab, tokens[depth])
            first = known.setdefault(tokens[:depth], law)
            if law is not first and not np.array_equal(law, first):
                raise BadInput(
                    f"multi-path verification takes independent draws of one path; after {list(tokens[:depth])} "
                    f'draft node {node} has another law than the paths before. Verify it with "traversal"'
                )
    if ended := [tokens for path in paths if path and (tokens := spelt(proposal, path)) in known]:
        raise BadInput(
            f"multi-path verification takes independent draws of one path; after {list(ended[0])} one path ends and "
            'another goes on, though where a path ends may depend on its text alone. Verify it with "traversal"'
        )
