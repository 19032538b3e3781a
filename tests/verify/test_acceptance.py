"""How much is kept: closed forms at one node, the optimal-transport line above them, and which rule keeps more."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from enumeration import total_variation
from sibling_drafts import Shape, Tables, chain, flat, paths, tree
from truedraw.protocol import ROOT
from truedraw.registry import find
from truedraw.verify import multipath
from verify import closed_forms
from verify.cases import ALL, CERTAIN, CHAINS, FLAT, ORDERED, PATHS, TABLES, TAKES, affordable, drawn
from verify.nested_shapes import nested, shape_of
from verify.one_round import TEXT, distance, emitted, expected_tokens, verdicts
from verify.tree_mutants import MUTANTS

ROUNDING = 1e-12
CLEAR = 1e-3
ONE_NODE = [flat("q"), flat(*"qq"), flat(*"qqq"), *FLAT]


def law(name: str, tables: Tables, shape: Shape) -> dict[tuple[int, ...], float]:
    return emitted(tables, shape, find("verifiers", name)())


def tokens(name: str, tables: Tables, shape: Shape) -> float:
    return expected_tokens(law(name, tables, shape))


def accepted(name: str, tables: Tables, shape: Shape) -> float:
    return tokens(name, tables, shape) - 1.0


def rows(tables: Tables) -> tuple[list[float], list[float], list[float]]:
    p, q, r = (tables.row(table, TEXT).tolist() for table in ("target", "q", "r"))
    return p, q, r


@pytest.mark.parametrize("tables", TABLES, ids=str)
def test_one_draft_is_kept_with_one_minus_the_total_variation(tables: Tables) -> None:
    p, q, _ = rows(tables)
    for name in set(TAKES) - {"coupled"}:
        assert accepted(name, tables, flat("q")) == pytest.approx(closed_forms.overlap(p, q), abs=ROUNDING)


@pytest.mark.parametrize("tables", TABLES, ids=str)
@pytest.mark.parametrize("name", ["recursive", "traversal"])
def test_siblings_are_kept_as_recursive_rejection_says(name: str, tables: Tables) -> None:
    p, q, r = rows(tables)
    for shape, laws in [(flat(*"qq"), [q, q]), (flat(*"qqq"), [q, q, q]), (flat(*"qrq"), [q, r, q])]:
        assert accepted(name, tables, shape) == pytest.approx(closed_forms.recursive(p, laws), abs=1e-9)
    for k in (2, 3):
        expected = closed_forms.without_replacement(p, q, k)
        assert accepted(name, tables, flat(*"w" * k)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("tables", TABLES, ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_seq_is_kept_as_its_paper_says_and_stays_within_reach_of_the_best(k: int, tables: Tables) -> None:
    p, q, _ = rows(tables)
    kept = accepted("kseq", tables, flat(*"q" * k))
    best = closed_forms.ceiling_of_independent_drafts(p, q, k)
    assert kept == pytest.approx(closed_forms.k_seq(p, q, k), abs=1e-9)
    assert (1 - 1 / math.e) * best - ROUNDING <= kept <= best + ROUNDING


@pytest.mark.parametrize("tables", TABLES, ids=str)
def test_greedy_siblings_are_kept_as_their_paper_says_which_is_the_best_for_them(tables: Tables) -> None:
    p, q, _ = rows(tables)
    for certain in range(1, min(tables.vocab, 3)):
        shape = flat("h", *(f"t{i}" for i in range(certain)))
        kept = accepted("traversal", tables, shape)
        assert kept == pytest.approx(closed_forms.greedy_drafts(p, q, certain), abs=1e-9)
        assert kept == pytest.approx(closed_forms.ceiling(p, closed_forms.drafts_of(tables, shape)), abs=1e-9)


@pytest.mark.parametrize("tables", TABLES, ids=str)
@pytest.mark.parametrize("shape", ONE_NODE, ids=str)
def test_no_rule_is_above_the_optimal_transport_line(shape: Shape, tables: Tables) -> None:
    p, _, _ = rows(tables)
    best = closed_forms.ceiling(p, closed_forms.drafts_of(tables, shape))
    for name, shapes in TAKES.items():
        if str(shape) in map(str, shapes):
            assert accepted(name, tables, shape) <= best + ROUNDING, name


@pytest.mark.parametrize("tables", TABLES, ids=str)
def test_the_line_needs_only_the_sets_of_least_gain(tables: Tables) -> None:
    p, q, _ = rows(tables)
    for k in (1, 2, 3):
        full = closed_forms.ceiling(p, closed_forms.drafts_of(tables, flat(*"q" * k)))
        assert closed_forms.ceiling_of_independent_drafts(p, q, k) == pytest.approx(full, abs=ROUNDING)


@pytest.mark.parametrize("shape", CHAINS, ids=str)
def test_block_verification_keeps_at_least_as_many_as_token_wise(shape: Shape) -> None:
    for tables in filter(lambda each: affordable(each, shape), TABLES):
        assert tokens("block", tables, shape) >= tokens("token", tables, shape) - ROUNDING, tables


@pytest.mark.parametrize("shape", ORDERED, ids=str)
def test_traversal_keeps_at_least_as_many_as_recursive_rejection(shape: Shape) -> None:
    for tables in filter(lambda each: affordable(each, shape), TABLES):
        assert tokens("traversal", tables, shape) >= tokens("recursive", tables, shape) - ROUNDING, tables


NESTED = nested(5, 3, 5)
SIBLINGS = [paths for paths in NESTED if any(path[-1] for path in paths)]


@pytest.mark.parametrize(
    ("source", "paths"), [*(("w", each) for each in NESTED), *(("q", each) for each in SIBLINGS)], ids=str
)
def test_and_in_every_shape_that_drafters_plan(source: str, paths: frozenset[tuple[int, ...]]) -> None:
    """With replacement where there are siblings: a chain is the same with and without."""
    shape = shape_of(paths, lambda path: source)
    for tables in filter(lambda each: affordable(each, shape), TABLES):
        assert tokens("traversal", tables, shape) >= tokens("recursive", tables, shape) - ROUNDING, tables


DEEP = [paths for paths in SIBLINGS if any(len(path) > 2 for path in paths)]


def stopping(paths: frozenset[tuple[int, ...]], token: int) -> Shape:
    """Drafted no further below a draft than behind this token."""
    return Shape(
        "ends but behind one token", shape_of(paths, lambda path: "w").nodes,
        lambda drawing, node, above: len(drawing.path(above)) < 2 or drawing.tokens[above] == token,
    )  # fmt: skip


@pytest.mark.parametrize("token", [0, 1])
@pytest.mark.parametrize("paths", DEEP, ids=str)
def test_and_where_a_candidates_own_token_says_whether_it_is_drafted_further(
    paths: frozenset[tuple[int, ...]], token: int
) -> None:
    """As where a draft stops behind those that leave it unsure: a later sibling may reach deeper then."""
    shape = stopping(paths, token)
    for tables in filter(lambda each: affordable(each, shape), TABLES):
        assert tokens("traversal", tables, shape) >= tokens("recursive", tables, shape) - ROUNDING, tables


def test_the_page_on_exactness_says_how_many_cases_these_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "exactness.md").read_text()
    planned = [shape_of(paths, lambda _: "w") for paths in NESTED] + [
        shape_of(paths, lambda _: "q") for paths in SIBLINGS
    ]
    stopped = [stopping(paths, token) for paths in DEEP for token in (0, 1)]
    cases = [sum(affordable(tables, shape) for shape in shapes for tables in TABLES) for shapes in (planned, stopped)]
    assert f"all {cases[0]} enumerated cases, {len(NESTED)} shapes" in page
    assert f"all {cases[1]} in which" in page


def test_where_a_later_sibling_is_drafted_further_recursive_rejection_may_keep_more() -> None:
    """Deciding the node above first would keep as much, and is no way out: see the mutant."""
    tables = drawn("two tokens", 2, 3, 43)
    leaf_first = tree("a leaf, then its sibling drafted on", (ROOT, "q"), (0, "w"), (0, "w"), (2, "q"))
    assert distance(tables, law("traversal", tables, leaf_first)) < ROUNDING
    more = tokens("recursive", tables, leaf_first) - tokens("traversal", tables, leaf_first)
    assert more == pytest.approx(0.130, abs=5e-4)
    first = emitted(tables, leaf_first, MUTANTS["DecidesFirstWhereLaterSiblingsReachDeeper"])
    assert distance(tables, first) < ROUNDING
    assert expected_tokens(first) == pytest.approx(tokens("recursive", tables, leaf_first), abs=ROUNDING)


def test_for_independent_drafts_other_rules_may_keep_more_than_traversal() -> None:
    for name, tables, shape, more in [
        ("kseq", TABLES[2], paths(2, 2), 0.043),
        ("multipath", TABLES[1], paths(2, 3), 0.313),
    ]:
        assert tokens(name, tables, shape) - tokens("traversal", tables, shape) == pytest.approx(more, abs=5e-4)


def test_the_gains_are_real() -> None:
    tables = TABLES[2]
    assert tokens("block", tables, chain(*"qqqq")) > tokens("token", tables, chain(*"qqqq")) + CLEAR
    pairs = next(shape for shape in ALL if shape.name == "caterpillar")
    assert tokens("traversal", TABLES[0], pairs) > tokens("recursive", TABLES[0], pairs) + CLEAR
    below = tree("a sampled one below a certain one", (ROOT, "t0"), (ROOT, "q"), (0, "q"))
    assert tokens("traversal", TABLES[1], below) > tokens("recursive", TABLES[1], below) + CLEAR


def test_the_example_of_the_paper_on_block_verification() -> None:
    """Two tokens, no context, drafts of two: 10/9 accepted token by token, 11/9 as a block (2403.10444, section 2)."""
    tables = Tables("paper", {(): [1 / 3, 2 / 3]}, {(): [2 / 3, 1 / 3]}, {(): [1, 0]})
    assert accepted("token", tables, chain(*"qq")) == pytest.approx(10 / 9, abs=ROUNDING)
    for name in ("block", "traversal", "multipath"):
        assert accepted(name, tables, chain(*"qq")) == pytest.approx(11 / 9, abs=ROUNDING)


@pytest.mark.parametrize("shape", CHAINS, ids=str)
def test_on_a_chain_traversal_and_a_single_path_are_block_verification(shape: Shape) -> None:
    for tables in filter(lambda each: affordable(each, shape), TABLES):
        block = verdicts(tables, shape, find("verifiers", "block")())
        for name in ("traversal", "multipath"):
            assert total_variation(block, verdicts(tables, shape, find("verifiers", name)())) < ROUNDING


@pytest.mark.parametrize("tables", TABLES, ids=str)
def test_at_depth_one_traversal_is_recursive_rejection(tables: Tables) -> None:
    for shape in (flat(*"qqq"), flat(*"www"), flat("q", "r", "q"), flat("h", "t0", "t1")):
        assert total_variation(law("traversal", tables, shape), law("recursive", tables, shape)) < ROUNDING


@pytest.mark.parametrize("shape", CERTAIN, ids=str)
def test_certain_trees_are_walked_alike_by_all(shape: Shape) -> None:
    for tables in TABLES:
        walked = verdicts(tables, shape, find("verifiers", "coupled")())
        for name in ("traversal", "recursive"):
            assert total_variation(walked, verdicts(tables, shape, find("verifiers", name)())) < ROUNDING


@pytest.mark.parametrize("shape", PATHS, ids=str)
def test_going_on_with_the_other_paths_keeps_more(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [tables for tables in TABLES if affordable(tables, shape)]
    full = [tokens("multipath", tables, shape) for tables in chosen]
    monkeypatch.setattr(multipath, "going_on", lambda *_: [])
    once = [tokens("multipath", tables, shape) for tables in chosen]
    assert all(a >= b - ROUNDING for a, b in zip(full, once, strict=True))
    certain = shape.nodes[0][1] != "q"
    assert certain or max(a - b for a, b in zip(full, once, strict=True)) > CLEAR


def test_more_siblings_and_longer_chains_keep_more() -> None:
    tables = drawn("four tokens", 4, 1, 30)
    for name, shapes in {
        "traversal": [flat(*"q" * k) for k in (1, 2, 3)],
        "kseq": [flat(*"q" * k) for k in (1, 2, 3)],
        "block": [chain(*"q" * k) for k in (1, 2, 3)],
        "recursive": [paths(1, 2), paths(2, 2)],
    }.items():
        kept = [tokens(name, tables, shape) for shape in shapes]
        assert kept == sorted(kept)
        assert kept[-1] > kept[0] + CLEAR
