"""The tables and the shapes that every rule is enumerated over."""

from __future__ import annotations

from known_laws import random_table
from sibling_drafts import Shape, Tables, chain, flat, paths, tree
from truedraw.protocol import ROOT

HALF = 0.5


def drawn(name: str, vocab: int, order: int, seed: int, zeros: float = 0.0) -> Tables:
    """Random tables: a target of this order, a draft of order 1, and one that knows no context."""
    return Tables(
        name,
        random_table(vocab, order, seed, zeros),
        random_table(vocab, 1, seed + 1),
        random_table(vocab, 0, seed + 2),
    )


SAME = random_table(3, 1, 60)
TABLES = [
    drawn("two tokens, long memory", 2, 3, 1),
    drawn("two tokens, far apart", 2, 1, 9),
    drawn("three tokens", 3, 1, 10),
    drawn("three tokens, long memory", 3, 2, 14),
    drawn("zeros in p", 3, 1, 20, zeros=0.5),
    drawn("four tokens", 4, 1, 30),
    Tables("zeros in q", random_table(3, 1, 40), random_table(3, 1, 41, zeros=0.5), random_table(3, 1, 42, zeros=0.6)),
    Tables("disjoint supports", {(): [0.5, 0.5, 0, 0]}, {(): [0, 0, 0.5, 0.5]}, {(): [0, 0.3, 0.7, 0]}),
    Tables("p is q", SAME, SAME, SAME),
    Tables("certain target", {(): [0, 1, 0]}, {(): [0.2, 0.5, 0.3]}, {(): [0, 0, 1]}),
    Tables("certain drafts with a law", random_table(3, 1, 50), {(): [0, 1, 0], (1,): [1, 0, 0]}, {(): [0, 0, 1]}),
    Tables("near zero", {(): [1 - 1e-9, 1e-9, 0]}, {(): [1e-9, 1 - 2e-9, 1e-9]}, {(): [1e-12, 1e-12, 1 - 2e-12]}),
]

CHAINS = [
    chain(),
    chain("q"),
    chain(*"qqqq"),
    chain(*"qrqr"),
    chain("c0", "c1", "t0"),
    chain("q", "t0", "q", "c1"),
    Shape("chain that ends after an unlikely token", chain(*"qqqq").nodes,
          lambda drawing, node, above: above == ROOT or drawing.laws[above][drawing.tokens[above]] > HALF),
    Shape("chain that ends at token 1", chain(*"qqqq").nodes,
          lambda drawing, node, above: above == ROOT or drawing.tokens[above] != 1),
]  # fmt: skip

INDEPENDENT = [flat(*"qq"), flat(*"qqq"), paths(2, 2), paths(3, 2), paths(2, 1, "t0"), paths(2, 2, "t0")]
PATHS = [*INDEPENDENT, paths(2, 3)]
UNEVEN = [
    Shape("paths that end at token 1", paths(2, 3).nodes,
          lambda drawing, node, above: above == ROOT or drawing.tokens[above] != 1),
    Shape("paths that end after an unlikely token", paths(3, 2).nodes,
          lambda drawing, node, above: above == ROOT or drawing.laws[above][drawing.tokens[above]] > HALF),
]  # fmt: skip
TREE_OF_PAIRS = tree("independent pairs", (ROOT, "q"), (ROOT, "q"), (0, "q"), (0, "q"), (1, "q"), (1, "q"))

FLAT = [
    flat(*"ww"),
    flat(*"www"),
    flat("q", "r", "q"),
    flat("h", "t0"),
    flat("h", "t0", "t1"),
    flat("t0", "q"),
    flat("c0", "w", "n"),
    flat("q", "n", "w"),
    flat("c0", "c1"),
    flat("c1", "c1"),
]

CERTAIN = [
    flat("c0", "c1"),
    flat("t0", "t0"),
    tree("certain pairs", (ROOT, "c0"), (ROOT, "c1"), (0, "c0"), (0, "c1"), (1, "c1"), (3, "c0"), (5, "t0")),
]

TREES = [
    tree("pairs without replacement", (ROOT, "w"), (ROOT, "w"), (0, "w"), (0, "w"), (1, "q")),
    tree("caterpillar", (ROOT, "q"), (ROOT, "w"), (0, "q"), (0, "w"), (2, "q"), (2, "w")),
    tree("certain first", (ROOT, "t0"), (ROOT, "q"), (0, "q"), (0, "t1"), (1, "t0")),
    tree("certain last", (ROOT, "q"), (ROOT, "n"), (0, "q"), (0, "n"), (1, "n"), (1, "q")),
    tree("Hu's drafts on two floors", (ROOT, "h"), (ROOT, "t0"), (0, "h"), (0, "t0"), (1, "h"), (1, "t0")),
    tree("two models and a lookup", (ROOT, "q"), (ROOT, "r"), (ROOT, "c1"), (0, "r"), (2, "c0"), (4, "c1")),
    tree("ragged", (ROOT, "q"), (0, "q"), (1, "q"), (2, "q"), (ROOT, "w"), (ROOT, "w")),
    tree("lookup with samples below", (ROOT, "c0"), (0, "c1"), (1, "q"), (1, "w"), (ROOT, "q"), (4, "c0")),
    Shape("second sibling after an unlikely first", ((ROOT, "q"), (ROOT, "w"), (0, "q"), (1, "q")),
          lambda drawing, node, above: node != 1 or drawing.laws[0][drawing.tokens[0]] < HALF),
    Shape("the likelier sibling is expanded", ((ROOT, "q"), (ROOT, "q"), (0, "q"), (0, "w"), (1, "q"), (1, "w")),
          lambda drawing, node, above: above == ROOT or above == max(
              range(2), key=lambda i: (drawing.laws[i][drawing.tokens[i]], i))),
    Shape("equal paths merged", ((ROOT, "q"), (ROOT, "q"), (0, "q"), (0, "q"), (1, "q")),
          lambda drawing, node, above: node < 3 or (node == 3) == (drawing.tokens[0] == drawing.tokens[1])),
]  # fmt: skip

# Exact, but here the order of rules by tokens kept can turn (it can, too, where a later sibling is drafted further than
# an earlier one, see test_acceptance.py): a sibling appears because of what another one's subtree
# holds, which traversal has judged by then and a rule from the top has not.
ENTANGLED = [
    Shape("below a draft the likelier sibling is drafted on", ((ROOT, "q"), (0, "q"), (0, "q"), (1, "q"), (2, "q")),
          lambda drawing, node, above: node < 3 or above == max(
              (1, 2), key=lambda i: (drawing.laws[i][drawing.tokens[i]], i))),
    Shape("second sibling after what grew below the first", ((ROOT, "q"), (0, "q"), (ROOT, "w"), (2, "q")),
          lambda drawing, node, above: node != 2 or drawing.tokens[1] == 1),
    Shape("sibling after what was drawn below a certain one", ((ROOT, "c0"), (0, "q"), (ROOT, "q"), (2, "r")),
          lambda drawing, node, above: node != 2 or drawing.tokens[1] == 0),
    Shape("below a certain one after its sibling", ((ROOT, "c0"), (ROOT, "q"), (0, "q")),
          lambda drawing, node, above: node != 2 or drawing.tokens[1] == 0),
    Shape("below a certain one after what is below the next", ((ROOT, "c0"), (ROOT, "c1"), (1, "q"), (0, "q")),
          lambda drawing, node, above: node != 3 or drawing.tokens[2] == 0),
]  # fmt: skip

ORDERED = [*CHAINS, *PATHS, *UNEVEN, TREE_OF_PAIRS, *FLAT, *CERTAIN, *TREES]
ALL = [*ORDERED, *ENTANGLED]
TAKES = {
    "traversal": ALL,
    "recursive": ALL,
    "coupled": ALL,
    "token": CHAINS,
    "block": CHAINS,
    "kseq": [*CHAINS, *INDEPENDENT, *UNEVEN, TREE_OF_PAIRS],
    "multipath": [*CHAINS, *PATHS, *UNEVEN],
}
MAX_BRANCHES = 300  # drafts of one shape; keeps the enumeration short


def affordable(tables: Tables, shape: Shape) -> bool:
    """Whether the drafts of a shape are few enough over this vocabulary."""
    sampled = sum(source[0] not in "tcn" for _, source in shape.nodes)
    return tables.vocab**sampled <= MAX_BRANCHES
