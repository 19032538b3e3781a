"""Forms of constants: what is kept as stored, what is rounded, what can be stacked."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import PLAIN, Decoder, RandomWeights, expected_rows, tiny_engine, tv
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw.engine.constants.matrix import dense
from truedraw.engine.constants.rounding import codes_of, quantise
from truedraw.engine.constants.weights import ConvertedConstants, stacks, vectors
from truedraw.engine.cpu import CPUEngine
from truedraw.models import open_checkpoint
from truedraw.models.layout import EMBEDDING, expected_shapes
from truedraw.protocol import Proposal, Work

TEXT = np.random.default_rng(6).integers(0, PLAIN.vocab_size, 60).tolist()
QKV = tuple(f"model.layers.0.self_attn.{part}_proj.weight" for part in "qkv")


class HalfWeights(RandomWeights):
    """Every matrix in a 16-bit type."""

    def __init__(self, config, kind):
        super().__init__(config)
        self.kind = kind

    def stored_as(self, name):
        return self.kind

    def dense(self, name):
        values = super().dense(name)
        if self.kind == "F16":
            return values.astype(np.float16).astype(np.float32)
        return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


class MixedWeights(RandomWeights):
    """Values of V and of the embedding in 4-bit groups, the rest in float32."""

    def packed(self, name):
        return super().packed(name) if "v_proj" in name or name == EMBEDDING else None

    def stored_as(self, name):
        return "F32" if self.packed(name) is None else "Q4_0"


def check(cache, weights, monkeypatch, policy):
    """Constants in that form, computed in float32, give the law of the weights themselves."""
    monkeypatch.setattr("truedraw.engine.cpu.engine.weights_policy", lambda weights, arithmetic: weights)
    engine = tiny_engine(cache, random_weights=weights, weights=policy)
    sequence, proposal = engine.open(TEXT), Proposal.chain([1, 2])
    found = engine.forward([Work(sequence, proposal)])[0].logits
    assert tv(found, expected_rows(Decoder(PLAIN, weights), TEXT, proposal)) < 1e-4
    engine.close()


class InParts(RandomWeights):
    """Says what it has a few rows at a time."""

    def parts(self, name, rows):
        whole = self.dense(name)
        return len(whole), (whole[at : at + rows] for at in range(0, len(whole), rows))


@pytest.mark.parametrize("name", [EMBEDDING, QKV[0]])
def test_a_matrix_in_parts_has_the_codes_of_the_whole(monkeypatch, name):
    for module in ("rounding", "weights"):
        monkeypatch.setattr(f"truedraw.engine.constants.{module}.PART_ROWS", 7)
    whole, parts = (ConvertedConstants(kind(PLAIN), "grouped").matrix((name,)) for kind in (RandomWeights, InParts))
    for one, other in ((whole.values, parts.values), (whole.scales, parts.scales)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("factor", "short"), [(1.0, True), (1e-6, False), (1e9, False)])
def test_scales_are_float16_where_that_loses_nothing(factor, short):
    """No code leaves its range, and a scale that float16 has no bits for stays as it is."""
    values = (RandomWeights(PLAIN).dense(EMBEDDING) * np.float32(factor)).astype(np.float32)
    values[0] *= np.float32(1e-4)
    found = codes_of(values, short=True)
    with np.errstate(over="ignore"):
        assert (found.scales.astype(np.float16) == found.scales).all() == short
    assert np.abs(found.values.astype(int)).max() == 127
    assert np.abs(dense(found) - values).max() <= 0.51 * np.abs(values).max() / 127


@pytest.mark.parametrize("kind", ["F16", "BF16"])
def test_half_precision_is_kept(tmp_path, monkeypatch, kind):
    weights = HalfWeights(PLAIN, kind)
    matrix = ConvertedConstants(weights, "stored").matrix(QKV)
    assert matrix.values.itemsize == 2
    check(tmp_path, weights, monkeypatch, "stored")


def test_matrices_of_different_forms_are_multiplied_apart(tmp_path, monkeypatch):
    weights = MixedWeights(PLAIN, packed_bits=4)
    constants = ConvertedConstants(weights, "stored")
    assert constants.matrix(QKV) is None
    assert constants.matrix(QKV[:2]) is not None
    check(tmp_path, weights, monkeypatch, "stored")


FORMS = [
    ("auto", 8, np.int8),
    ("auto", 4, np.uint8),
    ("int8", 4, np.int8),
    ("stored", 4, np.uint8),
    ("float32", 8, np.float32),
]


@pytest.mark.parametrize(("policy", "bits", "dtype"), FORMS)
def test_the_form_that_each_policy_chooses(policy, bits, dtype):
    matrix = ConvertedConstants(RandomWeights(PLAIN, packed_bits=bits), policy).matrix(QKV)
    assert matrix.values.dtype == dtype
    assert matrix.width == PLAIN.hidden_size
    assert len(matrix.values) == (PLAIN.num_heads + 2 * PLAIN.num_kv_heads) * PLAIN.head_dim


def test_auto_rounds_half_precision_to_int8():
    assert ConvertedConstants(HalfWeights(PLAIN, "F16"), "auto").matrix(QKV).values.dtype == np.int8


def test_int8_rounds_to_nearest_and_survives_empty_rows():
    values = np.array([[1.0, -0.5, 0.004, 0.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    matrix = quantise(values)
    np.testing.assert_array_equal(matrix.values, [[127, -64, 1, 0], [0, 0, 0, 0]])
    assert np.abs(matrix.values * matrix.scales - values).max() <= 1 / 254


def test_every_tensor_is_stored_once():
    names = [name for stack in stacks(PLAIN) for name in stack] + vectors(PLAIN)
    assert sorted(names) == sorted(expected_shapes(PLAIN))


def test_a_file_that_was_mended_is_converted_again(tmp_path, monkeypatch):
    """Also where nobody samples it for its fingerprint."""
    monkeypatch.setattr("truedraw.models.fingerprint.SAMPLES", 2)
    monkeypatch.setattr("truedraw.models.fingerprint.BLOCK_BYTES", 16)
    config = tiny_config()
    path = write_gguf(tmp_path / "m.gguf", config, random_tensors(config))
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4 * 4

    def logits():
        engine = CPUEngine.load(open_checkpoint(path), cache=tmp_path / "cache", cache_bytes=8 << 20)
        found = engine.forward([Work(engine.open([1, 2, 3]))])[0].logits.copy()
        engine.close()
        return found

    before = logits()
    path.write_bytes(whole[:middle] + bytes(64_000) + whole[middle + 64_000 :])
    assert not np.array_equal(logits(), before)
    path.write_bytes(whole)
    assert np.array_equal(logits(), before)
