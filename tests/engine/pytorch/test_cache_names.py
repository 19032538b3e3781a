"""What a model keeps of earlier rows has had two names in transformers; a model without either is computed anew."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from truedraw.engine.pytorch.network import Network


def newer(input_ids, attention_mask=None, position_ids=None, cache=None, use_cache=None):
    pass


def older(input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None):
    pass


def other(input_ids, attention_mask=None, position_ids=None, cache_params=None, use_cache=None):
    pass


def without_positions(input_ids, attention_mask=None, cache=None, use_cache=None):
    pass


@pytest.mark.parametrize(
    ("forward", "name", "batches"),
    [
        (newer, "cache", True),
        (older, "past_key_values", True),
        (other, None, False),
        (without_positions, "cache", False),
    ],
)
def test_it_is_handed_over_under_the_name_that_the_model_has(forward, name, batches) -> None:
    network = Network(SimpleNamespace(forward=forward))
    assert (network._cache, network.takes_batches) == (name, batches)
