"""The law of one round, enumerated with its drafting, for every rule over every shape that it takes."""

from __future__ import annotations

import numpy as np
import pytest

from sibling_drafts import Shape
from truedraw.registry import find, names
from truedraw.verify import multipath
from verify.cases import PATHS, TABLES, TAKES, affordable
from verify.one_round import distance, emitted

ROUNDING = 1e-12
EVERY = [(rule, shape) for rule, shapes in TAKES.items() for shape in shapes]


def test_every_exact_rule_is_enumerated() -> None:
    assert set(TAKES) == {name for name in names("verifiers") if find("verifiers", name).exact}


@pytest.mark.parametrize(("name", "shape"), EVERY, ids=str)
def test_a_round_followed_by_fresh_samples_has_the_law_of_the_target(name: str, shape: Shape) -> None:
    rule = find("verifiers", name)()
    for tables in TABLES:
        if affordable(tables, shape):
            assert distance(tables, emitted(tables, shape, rule)) < ROUNDING, tables


def by_token(p, q):
    before = np.concatenate(([0.0], np.cumsum(q)[:-1]))
    return np.arange(len(p), dtype=float), before


def by_likeliest_draft(p, q):
    return original_order(q, np.ones(len(q)))[0], np.array([q[(q > w) | ((q == w) & (np.arange(len(q)) < i))].sum()
                                                           for i, w in enumerate(q)])  # fmt: skip


original_order = multipath.order


@pytest.mark.parametrize("order", [by_token, by_likeliest_draft])
@pytest.mark.parametrize("shape", PATHS, ids=str)
def test_multi_path_verification_is_exact_in_any_order_that_no_draft_decides(
    shape: Shape, order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipath, "order", order)
    rule = find("verifiers", "multipath")()
    for tables in TABLES:
        if affordable(tables, shape):
            assert distance(tables, emitted(tables, shape, rule)) < ROUNDING, tables
