"""What is asked for when a draft is trained, and what stands where nobody says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truedraw.distill.independent.plan import TransformerPlan, draft_config, usual_heads
from truedraw.distill.plan import (
    EAGLE3,
    FEATURE_BYTES,
    HIDDEN,
    TRANSFORMER,
    HeadPlan,
    Limits,
    Sizes,
    TextPlan,
    beside,
    checked_layers,
    default_layers,
    shape_of,
)
from truedraw.errors import BadParameter


@pytest.mark.parametrize(("layers", "kind", "found"), [
    (30, "recurrent", (8, 15, 22, 26)), (32, "recurrent", (9, 16, 23, 28)), (2, "recurrent", (1,)), (1, "hydra", (0,)),
    (30, EAGLE3, (1, 14, 26)), (32, EAGLE3, (1, 15, 28)), (4, EAGLE3, (0, 1)), (3, EAGLE3, (0, 1)), (1, EAGLE3, (0,)),
])  # fmt: skip
def test_the_layers_that_a_draft_reads(layers: int, kind: str, found: tuple[int, ...]) -> None:
    assert default_layers(layers, kind) == found


def test_layers_are_put_in_order_and_are_those_of_the_model() -> None:
    assert checked_layers((5, 0, 5, 2), 6) == (0, 2, 5)
    for odd in ((), (6,), (-1, 2)):
        with pytest.raises(BadParameter, match="--layers"):
            checked_layers(odd, 6)


@pytest.mark.parametrize(("output", "found"), [
    ("a/b.safetensors", "a/b.work"), ("a/b.1", "a/b.1.work"), ("b.safetensors.old", "b.safetensors.old.work"),
])  # fmt: skip
def test_what_stands_beside_a_head(output: str, found: str) -> None:
    assert beside(Path(output), ".work") == Path(found)


@pytest.mark.parametrize(("kind", "asked", "found"), [
    ("recurrent", (None, None), (HIDDEN, None)), ("recurrent", (64, None), (64, None)),
    ("hydra", (None, None), (HIDDEN, 4)), ("medusa", (None, None), (None, 4)), ("parallel", (16, 6), (16, 6)),
    (TRANSFORMER, (None, None), (None, None)), (EAGLE3, (None, None), (HIDDEN, None)),
])  # fmt: skip
def test_the_sizes_of_a_head(kind: str, asked: tuple[Any, Any], found: tuple[Any, Any]) -> None:
    assert shape_of(kind, *asked) == found


def test_texts_that_are_given_and_room_that_is_not() -> None:
    assert [plan.are_given for plan in (TextPlan(), TextPlan(prompts=()), TextPlan(documents=(Path("a"),)))] == [
        False, True, True,
    ]  # fmt: skip
    assert [Limits(feature_bytes=each).disk_bytes for each in (None, 0, 9)] == [FEATURE_BYTES, 0, 9]


@pytest.mark.parametrize(("width", "heads"), [(192, 3), (64, 1), (2, 1), (130, 1), (128, 2), (20, 1), (576, 9)])
def test_heads_of_attention_part_a_width_evenly(width: int, heads: int) -> None:
    assert usual_heads(width) == heads


def test_a_transformer_is_as_wide_as_it_need_be_and_as_it_was_asked_for() -> None:
    plan = TransformerPlan.of(HeadPlan(None, 77, "kl", 5, 0.5), Sizes())
    assert plan == TransformerPlan(vocabulary=77, loss="kl", seed=5, rate=0.5)
    for target, width in ((64, 64), (576, 192)):
        config = draft_config(plan, 100, 32, target)
        assert (config.hidden_size, config.intermediate_size, config.num_layers) == (width, 4 * width, 2)
    config = draft_config(TransformerPlan.of(HeadPlan(30), Sizes(24, 3, 4)), 100, 32, 576)
    assert (config.hidden_size, config.intermediate_size, config.num_layers) == (24, 30, 3)
    assert (config.num_heads, config.num_kv_heads, config.head_dim) == (4, 4, 6)
    for odd in (Sizes(7), Sizes(24, heads=5), Sizes(12, heads=12)):
        with pytest.raises(BadParameter):
            draft_config(TransformerPlan.of(HeadPlan(), odd), 100, 32, 576)
