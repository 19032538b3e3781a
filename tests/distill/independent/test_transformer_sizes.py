"""The sizes of a draft, and where its training begins."""

from dataclasses import replace

import numpy as np
import pytest

from distill.conftest import SHAPE, VOCAB, tables
from truedraw.distill.independent.plan import TransformerPlan, draft_config
from truedraw.distill.independent.starting import first_weights, input_matrix, names_of, output_matrix
from truedraw.errors import BadParameter
from truedraw.models.layout import expected_shapes


def test_sizes_follow_the_target():
    config = draft_config(TransformerPlan(), 49152, 2048, 576)
    assert (config.hidden_size, config.num_heads, config.head_dim, config.intermediate_size) == (192, 3, 64, 768)
    assert (config.vocab_size, config.context_length, config.num_layers) == (49152, 2048, 2)
    small = draft_config(TransformerPlan(), 200, 100, 48)
    assert (small.hidden_size, small.num_heads) == (48, 1)
    given = draft_config(TransformerPlan(width=96, depth=3, heads=4, hidden=100), 200, 100, 48)
    assert (given.hidden_size, given.num_heads, given.head_dim, given.intermediate_size, given.num_layers) == (
        96, 4, 24, 100, 3)  # fmt: skip


@pytest.mark.parametrize(("width", "heads"), [(96, 5), (96, 32), (7, 7)])
def test_sizes_that_do_not_go_together(width, heads):
    with pytest.raises(BadParameter, match=f"heads: got {heads} for a width of {width}; give a number of heads"):
        draft_config(TransformerPlan(width=width, heads=heads), 200, 100, 48)


@pytest.mark.parametrize(("width", "heads"), [(130, 1), (200, 2), (300, 3), (500, 5), (2, 1), (640, 10)])
def test_heads_part_any_even_width_where_nobody_says_how_many(width, heads):
    config = draft_config(TransformerPlan(width=width), 200, 100, 48)
    assert (config.num_heads, config.head_dim * config.num_heads) == (heads, width)
    assert config.head_dim % 2 == 0


@pytest.mark.parametrize(("width", "target"), [(33, 48), (None, 33)])
def test_an_odd_width_is_told_by_its_own_flag(width, target):
    with pytest.raises(BadParameter, match="--width: 33 numbers cannot be parted"):
        draft_config(TransformerPlan(width=width), 200, 100, target)


def test_the_output_says_what_can_be_said_in_so_few_numbers():
    """Final states of a plane are all there; of states in all directions, as much as the best of that rank has."""
    chance = np.random.default_rng(0)
    rows, plane = chance.normal(size=(40, 16)).astype(np.float32), chance.normal(size=(3, 16))
    finals = chance.normal(size=(500, 3)) @ plane
    found = rows @ output_matrix(rows, finals, 3, chance)
    logits = finals @ rows.T
    left = logits.T - found @ np.linalg.lstsq(found, logits.T, rcond=None)[0]
    assert np.abs(left).max() < 1e-3 * np.abs(logits).max()
    finals = chance.normal(size=(500, 16)) * np.geomspace(1, 0.01, 16)
    logits = finals @ rows.T
    found = rows @ output_matrix(rows, finals, 4, chance)
    left = logits.T - found @ np.linalg.lstsq(found, logits.T, rcond=None)[0]
    best = np.linalg.svd(logits, compute_uv=False)[4:]
    assert np.square(left).sum() == pytest.approx(np.square(best).sum(), rel=0.01)


def test_the_input_keeps_the_main_directions():
    chance = np.random.default_rng(0)
    rows = (chance.normal(size=(300, 12)) * np.geomspace(1, 0.01, 12)).astype(np.float32)
    read = rows / np.sqrt(np.square(rows).mean()) @ input_matrix(rows, 5, chance)
    assert np.square(read).mean() == pytest.approx(1)
    left = rows - read @ np.linalg.lstsq(read, rows, rcond=None)[0]
    assert np.square(left).sum() < 0.03 * np.square(rows).sum()


@pytest.mark.parametrize("width", [4, 8, 20])
def test_a_draft_may_be_wider_than_its_target(texts, width):
    config = draft_config(TransformerPlan(width=width, heads=2), VOCAB, 100, SHAPE.width)
    found = first_weights(config, tables(), texts.data, np.arange(7), seed=1)
    assert set(found) == set(names_of(config))
    shapes = expected_shapes(config)
    assert {name: values.shape for name, values in found.items() if name in shapes} == {
        name: shape for name, shape in shapes.items() if name.startswith("model.") and "embed" not in name
    }
    assert found["embedding"].shape == found["output"].shape == (SHAPE.width, width)
    assert found["embedding.own"].shape == found["output.own"].shape == (7, width)
    assert all(np.isfinite(values).all() and values.dtype == np.float32 for values in found.values())
    again = first_weights(config, tables(), texts.data, np.arange(7), seed=1)
    assert all((again[name] == values).all() for name, values in found.items())
    other = first_weights(replace(config), tables(), texts.data, np.arange(7), seed=2)
    assert (other["model.layers.0.mlp.up_proj.weight"] != found["model.layers.0.mlp.up_proj.weight"]).any()
