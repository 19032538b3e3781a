"""Four-bit constants: how they round, which matrices they hold, and the law that is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import CONFIGS, PLAIN, Decoder, RandomWeights, expected_rows, tiny_checkpoint, tiny_engine, tv
from invariance import need_invariance
from truedraw.engine.constants.rounding import INT4_GROUP, quantise, quantise4
from truedraw.engine.constants.weights import ConvertedConstants
from truedraw.engine.cpu import CPUEngine
from truedraw.models.layout import EMBEDDING, HEAD
from truedraw.protocol import Proposal, Work

TEXT = np.random.default_rng(6).integers(0, PLAIN.vocab_size, 60).tolist()
DOWN = "model.layers.1.mlp.down_proj.weight"


def values(matrix) -> np.ndarray:
    """[out, in] that the constant stands for."""
    codes = matrix.values.astype(np.float32)
    if matrix.values.dtype == np.uint8:
        codes = np.stack([matrix.values & 15, matrix.values >> 4], -1).reshape(len(codes), -1).astype(np.float32)
    groups = (codes - matrix.zero).reshape(*matrix.scales.shape, -1) * matrix.scales[:, :, None]
    return groups.reshape(len(codes), -1)


def test_what_four_bits_can_say_is_kept():
    rng = np.random.default_rng(1)
    codes = rng.integers(-8, 8, (5, 3, INT4_GROUP))
    codes[:, :, 7] = -8
    given = (codes * rng.choice([-0.5, 0.25, 3.0], (5, 3, 1))).reshape(5, -1).astype(np.float32)
    np.testing.assert_allclose(values(quantise4(given)), given, rtol=1e-6)


def test_zeros_and_single_values():
    given = np.zeros((3, 2 * INT4_GROUP), np.float32)
    given[1, 5], given[2, 40] = 2.5, -1e-30
    np.testing.assert_allclose(values(quantise4(given)), given, rtol=1e-6)


def test_the_error_is_less_than_that_of_rounding_to_equal_steps():
    given = np.random.default_rng(2).normal(size=(300, 256)).astype(np.float32)
    groups = given.reshape(300, -1, INT4_GROUP)
    steps = np.abs(groups).max(-1, keepdims=True) / 7
    usual = np.sqrt(((np.rint(groups / steps) * steps - groups) ** 2).mean())
    found = np.sqrt(((values(quantise4(given)) - given) ** 2).mean())
    assert 0.05 < found < 0.9 * usual


def test_many_rows_are_rounded_as_few_are(monkeypatch):
    given = np.random.default_rng(3).normal(size=(10, 64)).astype(np.float32)
    whole = quantise4(given)
    monkeypatch.setattr("truedraw.engine.constants.rounding.ROWS_AT_ONCE", 4)
    parts = quantise4(given)
    np.testing.assert_array_equal(parts.values, whole.values)
    np.testing.assert_array_equal(parts.scales, whole.scales)


@pytest.mark.parametrize(
    ("name", "bits", "dtype"),
    [(DOWN, 0, np.uint8), (DOWN, 4, np.uint8), (DOWN, 8, np.uint8), (HEAD, 0, np.uint8), (EMBEDDING, 0, np.int8),
     (EMBEDDING, 4, np.int8)],
)  # fmt: skip
def test_the_form_of_each_matrix(name, bits, dtype):
    weights = RandomWeights(replace(PLAIN, tie_embeddings=False), packed_bits=bits)
    matrix = ConvertedConstants(weights, "int4").matrix((name,))
    assert matrix.values.dtype == dtype
    if bits == 4:
        np.testing.assert_allclose(values(matrix), weights.dense(name), rtol=1e-5)


def test_features_that_are_no_whole_groups_stay_at_eight_bits():
    config = replace(PLAIN, intermediate_size=90)
    assert ConvertedConstants(RandomWeights(config), "int4").matrix((DOWN,)).values.dtype == np.int8


class Int4Weights(RandomWeights):
    """What is left of the weights."""

    def dense(self, name):
        given = super().dense(name)
        if given.ndim == 1:
            return given
        return values(quantise(given) if name == EMBEDDING else quantise4(given))


@pytest.mark.parametrize("name", ["llama", "llama, separate head", "qwen2", "one group a row"])
def test_int4_weights_are_rounded_and_nothing_else(tmp_path, name):
    config = replace(PLAIN, hidden_size=INT4_GROUP) if name == "one group a row" else CONFIGS[name]
    engine = tiny_engine(tmp_path, config, weights="int4")
    found = engine.forward([Work(engine.open(TEXT), Proposal.chain([1, 2]))])[0].logits
    assert tv(found, expected_rows(Decoder(config, Int4Weights(config)), TEXT, Proposal.chain([1, 2]))) < 1e-4
    engine.close()


def test_in_the_fast_arithmetic_rows_do_not_depend_on_the_pass(tmp_path):
    need_invariance(CPUEngine.load(tiny_checkpoint(), cache=tmp_path, numerics="runtime", cache_bytes=8 << 20))
    engine = CPUEngine.load(tiny_checkpoint(), cache=tmp_path, weights="int4", cache_bytes=8 << 20)
    assert engine.invariance.holds
    engine.close()
