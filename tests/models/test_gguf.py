"""GGUF files: names, layout, quantisation, rope, and every way in which one can be broken."""

import struct

import gguf
import numpy as np
import pytest
from tiny_models import GGUFOptions, as_converted, random_tensors, tiny_config, write_gguf

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.models.gguf_file import read_gguf
from truedraw.models.gguf_packed import READERS
from truedraw.models.rope import inverse_frequencies, llama3_factors

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


@pytest.fixture
def config():
    return tiny_config()


@pytest.fixture
def tensors(config):
    return random_tensors(config)


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_unquantised_weights_come_back_bit_for_bit(tmp_path, architecture, tied):
    config = tiny_config(architecture, tie_embeddings=tied)
    tensors = random_tensors(config)
    checkpoint = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors))
    assert checkpoint.kind == "gguf"
    assert set(checkpoint.weights.names()) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(checkpoint.weights.dense(name), tensor, err_msg=name)
        assert checkpoint.weights.dense(name).dtype == np.float32
    found = checkpoint.config
    assert (found.architecture, found.tie_embeddings) == (architecture, tied)
    assert (found.num_heads, found.num_kv_heads, found.head_dim) == (4, 2, 16)
    assert found.rms_norm_eps == pytest.approx(1e-5)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "F16", "BF16"])
def test_quantised_weights_equal_the_gguf_package(tmp_path, config, tensors, kind):
    """Rows do not depend on each other, so quantising in Hugging Face's order gives the same numbers."""
    weights = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(kind=kind))).weights
    number = gguf.GGMLQuantizationType[kind]
    for name in ("model.layers.1.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight"):
        expected = gguf.quants.dequantize(gguf.quants.quantize(tensors[name], number), number)
        np.testing.assert_array_equal(weights.dense(name), expected)
        assert weights.stored_as(name) == kind
        assert (weights.packed(name) is not None) == (kind in ("Q8_0", "Q4_0", "Q4_1"))


@pytest.mark.parametrize(("kind", "bits", "zero"), [("Q8_0", 8, 0), ("Q4_0", 4, 8), ("Q4_1", 4, 0)])
def test_packed_is_dense(tmp_path, config, tensors, kind, bits, zero):
    weights = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(kind=kind))).weights
    for name in ("model.layers.0.self_attn.k_proj.weight", "model.embed_tokens.weight"):
        packed = weights.packed(name)
        assert (packed.bits, packed.zero) == (bits, zero)
        assert packed.scales.shape == (packed.codes.shape[0], packed.codes.shape[1] // 32)
        values = (packed.codes.astype(np.float32) - zero) * np.repeat(packed.scales, 32, axis=1)
        values += 0.0 if packed.least is None else np.repeat(packed.least, 32, axis=1)
        np.testing.assert_array_equal(values, weights.dense(name))
    assert weights.packed("model.norm.weight") is None


@pytest.mark.parametrize(
    ("kind", "size", "steps", "shares"),
    [("Q4_K", 144, (0, 2), 32), ("Q5_K", 176, (0, 2), 32), ("Q6_K", 210, (208, 1), 16)],
)
def test_nested_scales_are_packed_as_they_are_dequantised(monkeypatch, kind, size, steps, shares):
    """The package has no arithmetic to make some, so any bytes that hold finite numbers will do."""
    monkeypatch.setattr("truedraw.models.gguf_packed.ROWS_AT_ONCE", 4)
    chance, (first, count) = np.random.default_rng(5), steps
    blocks = chance.integers(0, 256, (6, 3, size)).astype(np.uint8)
    blocks[:, :, first : first + 2 * count] = chance.normal(size=(6, 3, count)).astype(np.float16).view(np.uint8)
    rows = blocks.reshape(6, -1)
    found = READERS[kind](rows)
    assert (found.codes.shape, found.scales.shape) == ((6, 768), (6, 768 // shares))
    assert (found.bits, found.zero) == {"Q4_K": (4, 0), "Q5_K": (5, 0), "Q6_K": (6, 32)}[kind]
    assert found.codes.max() < 2**found.bits
    expected = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType[kind])
    least = 0 if found.least is None else np.repeat(found.least, shares, axis=1)
    values = np.repeat(found.scales, shares, axis=1) * (found.codes.astype(np.float32) - found.zero) + least
    np.testing.assert_array_equal(values, expected)
    for small, step, whole in zip(found.nested[::2], found.nested[1::2], (found.scales, found.least), strict=False):
        np.testing.assert_array_equal(small * np.repeat(step.astype(np.float32), small.shape[1] // 3, axis=1), whole)


def test_the_rotary_rows_of_llama_move_and_no_others(config, tensors):
    q, v = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.v_proj.weight"
    assert not np.array_equal(as_converted(q, tensors[q], config), tensors[q])
    assert np.array_equal(as_converted(v, tensors[v], config), tensors[v])


def test_large_matrices_are_dequantised_in_parts(tmp_path, monkeypatch, config, tensors):
    monkeypatch.setattr("truedraw.models.gguf_weights.ROWS_AT_ONCE", 7)
    weights = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors)).weights
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(weights.dense(name), tensor, err_msg=name)


def test_a_missing_name_is_an_error(tmp_path, config, tensors):
    weights = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors)).weights
    for ask in (weights.dense, weights.packed, weights.stored_as):
        with pytest.raises(BadModelFile, match=r"no tensor 'lm_head\.weight'"):
            ask("lm_head.weight")


def test_the_fingerprint_is_of_the_contents(tmp_path, config, tensors):
    one = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors)).fingerprint
    (tmp_path / "elsewhere").mkdir()
    assert open_checkpoint(write_gguf(tmp_path / "elsewhere" / "m.gguf", config, tensors)).fingerprint == one
    other = random_tensors(config, seed=1)
    assert open_checkpoint(write_gguf(tmp_path / "elsewhere" / "m.gguf", config, other)).fingerprint != one


@pytest.mark.parametrize("version", [2, 3])
def test_versions_that_can_be_read(tmp_path, config, tensors, version):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    _patch(path, 4, version.to_bytes(4, "little"))
    assert open_checkpoint(path).config.num_layers == 2


# ------------------------------------------------------------------------------------------------------- rope


@pytest.mark.parametrize("metadata", [
    {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0},
    {"llama.rope.scaling.factor": 4.0},
    {"llama.rope.scale_linear": 4.0},
    {"llama.rope.scaling.factor": 4.0, "llama.rope.scale_linear": 2.0},
])  # fmt: skip
def test_linear_rope_scaling(tmp_path, config, tensors, metadata):
    """As llama.cpp reads it: a factor without a type is linear, and an older key holds it, too."""
    found = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(metadata=metadata)))
    assert found.config.rope_scaling == {"rope_type": "linear", "factor": 4.0}
    plain = inverse_frequencies(config)
    np.testing.assert_allclose(inverse_frequencies(found.config), plain / 4)
    np.testing.assert_allclose(plain, 10000.0 ** (-np.arange(8) / 8))


@pytest.mark.parametrize("metadata", [
    {"llama.rope.scaling.factor": 0.0, "llama.rope.scale_linear": 4.0},
    {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0},
    {"llama.rope.scale_linear": 1.0},
])  # fmt: skip
def test_no_rope_scaling(tmp_path, config, tensors, metadata):
    found = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(metadata=metadata)))
    assert found.config.rope_scaling is None


def test_llama3_factors_are_recognised(tmp_path, tensors):
    config = tiny_config(rope_theta=500000.0)
    factors = llama3_factors(inverse_frequencies(config), LLAMA3).astype(np.float32)
    assert factors[0] == 1
    assert factors[-1] == 32
    options = GGUFOptions(extra={"rope_freqs.weight": factors})
    found = open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))
    assert found.config.rope_scaling == LLAMA3
    assert "rope_freqs.weight" not in found.weights.names()


def test_other_factors_are_refused(tmp_path, config, tensors):
    options = GGUFOptions(extra={"rope_freqs.weight": np.linspace(1, 3, 8, dtype=np.float32)})
    with pytest.raises(UnsupportedModel, match="not the table of a Llama 3"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


def test_factors_beside_a_linear_one_are_refused(tmp_path, tensors):
    config = tiny_config(rope_theta=500000.0)
    factors = llama3_factors(inverse_frequencies(config), LLAMA3).astype(np.float32)
    options = GGUFOptions(metadata={"llama.rope.scaling.factor": 2.0}, extra={"rope_freqs.weight": factors})
    with pytest.raises(UnsupportedModel, match="beside a linear factor of 2"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


@pytest.mark.parametrize("factors", [np.ones(3, np.float32), np.ones(8, np.float16), np.ones((2, 8), np.float32)])
def test_factors_of_another_size_are_refused(tmp_path, config, tensors, factors):
    options = GGUFOptions(extra={"rope_freqs.weight": factors})
    with pytest.raises(BadModelFile, match=r"rope_freqs\.weight is not 8 float32 numbers"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


# -------------------------------------------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"llama.rope.scaling.type": "yarn"}, "yarn"),
        ({"llama.expert_count": 8}, "expert_count"),
        ({"llama.attention.sliding_window": 64}, "sliding window of 64"),
        ({"llama.rope.dimension_count": 8}, "full rotary"),
        ({"llama.attention.scale": 0.5}, "attention.scale"),
        ({"llama.rope.scaling.attn_factor": 1.5}, "attn_factor"),
        ({"split.count": 3}, "one part of several"),
    ],
)
def test_what_no_graph_honours_is_refused(tmp_path, config, tensors, metadata, message):
    with pytest.raises(UnsupportedModel, match=message):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(metadata=metadata)))


@pytest.mark.parametrize(
    "metadata",
    [
        {"llama.block_count": 4_000_000_000},
        {"llama.embedding_length": 4_000_000_000},
        {"llama.feed_forward_length": 4_000_000_000},
        {"llama.attention.head_count": 4_000_000_000},
        {"llama.attention.key_length": 4_000_000_000, "llama.attention.value_length": 4_000_000_000},
        {"tokenizer.ggml.eos_token_id": 1_000_000_000},
        {"tokenizer.ggml.eot_token_id": 1_000_000_000},
        {"tokenizer.ggml.eom_token_id": "x"},
        {"tokenizer.ggml.pre": 5},
        {"tokenizer.chat_template": 5},
        {"tokenizer.chat_template.tool_use": 5},
        {"tokenizer.ggml.token_type": "all"},
        {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": "wide"},
        {"llama.attention.sliding_window": "wide"},
        {"general.architecture": 7},
    ],
)
def test_a_setting_that_cannot_be_is_refused_at_once(tmp_path, config, tensors, metadata, monkeypatch):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    file = read_gguf(path)
    file.metadata.update(metadata)
    monkeypatch.setattr("truedraw.models.gguf.read_gguf", lambda _path: file)
    with pytest.raises((BadModelFile, UnsupportedModel)):
        open_checkpoint(path)


def test_another_architecture_is_refused_with_the_list(tmp_path, config, tensors):
    options = GGUFOptions(architecture="gemma3")
    with pytest.raises(UnsupportedModel, match=r"'gemma3'; supported: llama, qwen2, qwen3"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


def test_a_missing_tensor_is_named(tmp_path, config, tensors):
    options = GGUFOptions(without=("blk.1.ffn_up.weight",))
    with pytest.raises(BadModelFile, match=r"lacks model\.layers\.1\.mlp\.up_proj\.weight"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


def test_a_tensor_that_would_be_left_out_is_refused(tmp_path, config, tensors):
    options = GGUFOptions(extra={"blk.0.attn_output.bias": np.zeros(64, np.float32)})
    with pytest.raises(UnsupportedModel, match=r"self_attn\.o_proj\.bias"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


def test_a_tensor_of_another_shape_is_refused(tmp_path, config, tensors):
    tensors["model.layers.0.mlp.up_proj.weight"] = np.zeros((95, 64), np.float32)
    with pytest.raises(BadModelFile, match=r"up_proj\.weight \[95, 64\] \(expected \[96, 64\]\)"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors))


def test_every_truncation_is_noticed_at_once(tmp_path, config, tensors):
    whole = write_gguf(tmp_path / "m.gguf", config, tensors).read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in [0, 3, 4, 8, 16, 23, 24, 40, 100, 1000, 5000, 9000, len(whole) // 2, len(whole) - 1]:
        cut.write_bytes(whole[:size])
        with pytest.raises(BadModelFile, match=r"cut\.gguf"):
            open_checkpoint(cut)


@pytest.mark.parametrize("size", [4, 5, 7, 12, 30])
def test_a_number_that_is_cut_is_told_plainly(tmp_path, config, tensors, size):
    whole = write_gguf(tmp_path / "m.gguf", config, tensors).read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[:size])
    with pytest.raises(BadModelFile, match=rf"truncated: .* at byte \d+ of {size}; fetch it again"):
        open_checkpoint(cut)


@pytest.mark.parametrize(("cut", "said"), [
    (4 * 13 + 7, "a number at byte {place} of"),  # within the length of the fifth
    (4 * 13 + 10, "a text of 5 bytes at byte {after} of"),
])  # fmt: skip
def test_a_cut_within_many_texts_is_told_by_its_own_place(tmp_path, cut: int, said: str):
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    key = struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 8, 5)
    whole = head + key + 5 * (struct.pack("<Q", 5) + b"abcde")
    path, first = tmp_path / "m.gguf", len(head + key)
    path.write_bytes(whole[: first + cut])
    place = first + 4 * 13
    with pytest.raises(BadModelFile, match=said.format(place=place, after=place + 8)):
        read_gguf(path)


def test_damaged_heads_never_escape_as_other_errors(tmp_path, config, tensors):
    """Any byte of the head may be wrong: either the file still opens or one of our errors says why."""
    whole = bytearray(write_gguf(tmp_path / "m.gguf", config, tensors).read_bytes())
    rng = np.random.default_rng(5)
    bad, refused = tmp_path / "bad.gguf", 0
    for position in rng.integers(4, 2500, size=150):
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        bad.write_bytes(damaged)
        try:
            open_checkpoint(bad)
        except (BadModelFile, UnsupportedModel):
            refused += 1
    assert refused > 30


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip file", b"GGUF" + bytes(60), b"\xff" * 64])
def test_other_files_are_not_models(tmp_path, content):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(BadModelFile, match=r"m\.gguf"):
        open_checkpoint(path)


def test_an_unknown_tensor_type_is_named(tmp_path, config, tensors):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    name = b"output_norm.weight"
    position = path.read_bytes().index(name) + len(name) + 4 + 8  # one dimension: its count, its size, the type
    _patch(path, position, (2500).to_bytes(4, "little"))
    with pytest.raises(BadModelFile, match="type 2500"):
        open_checkpoint(path)
    for other in (31, 139, 399):  # of earlier versions of ggml, and of ik_llama.cpp
        _patch(path, position, other.to_bytes(4, "little"))
        with pytest.raises(
            UnsupportedModel, match=rf"m\.gguf: tensor .* type {other}, which the installed gguf .*; convert"
        ):
            open_checkpoint(path)


def _offset_at(path, name: str, dimensions: int) -> int:
    """Where the head has it."""
    return path.read_bytes().index(name.encode()) + len(name) + 4 + 8 * dimensions + 4


@pytest.mark.parametrize(("offset", "said"), [
    (lambda own, _: own + 34, r"'blk\.0\.attn_q\.weight' is no multiple of 32 bytes behind the head"),
    (lambda _, other: other, r"lies on '(blk\.0\.attn_q|token_embd)\.weight'"),
    (lambda own, _: own + 32, r"'blk\.0\.\w+\.weight' lies on 'blk\.0\.attn_q\.weight'"),
])  # fmt: skip
def test_a_tensor_that_is_not_where_it_may_be_is_refused(tmp_path, config, tensors, offset, said):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    places = [_offset_at(path, name, 2) for name in ("blk.0.attn_q.weight", "token_embd.weight")]
    given = [int.from_bytes(path.read_bytes()[place : place + 8], "little") for place in places]
    _patch(path, places[0], offset(*given).to_bytes(8, "little"))
    with pytest.raises(BadModelFile, match=said):
        open_checkpoint(path)


def test_a_tensor_that_comes_twice_is_refused(tmp_path, config, tensors):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    _patch(path, path.read_bytes().index(b"blk.1.attn_norm.weight"), b"blk.0.attn_norm.weight")
    with pytest.raises(BadModelFile, match=r"tensor 'blk\.0\.attn_norm\.weight' comes twice"):
        open_checkpoint(path)


def test_a_metadata_key_that_comes_twice_is_refused(tmp_path, config, tensors):
    path = write_gguf(tmp_path / "m.gguf", config, tensors, GGUFOptions(metadata={"llama.rope.scale_linearly": 1.0}))
    _patch(path, path.read_bytes().index(b"llama.rope.scale_linearly"), b"llama.feed_forward_length")
    with pytest.raises(BadModelFile, match=r"metadata key 'llama\.feed_forward_length' comes twice"):
        open_checkpoint(path)


def test_one_tensor_under_two_names_is_refused(tmp_path, config, tensors):
    options = GGUFOptions(extra={"model.norm.weight": np.ones(64, np.float32)})
    with pytest.raises(BadModelFile, match=r"norm\.weight' twice, the other as '"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options))


def test_more_tokens_than_the_model_knows_are_refused(tmp_path):
    config = tiny_config(vocab_size=200)
    tensors = random_tensors(config)
    with pytest.raises(BadModelFile, match=r"lists \d+ tokens, and its model knows 200"):
        open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors))


def test_a_licence_that_is_no_text_is_none(tmp_path, config, tensors):
    options = GGUFOptions(metadata={"general.license": float("nan")})
    assert open_checkpoint(write_gguf(tmp_path / "m.gguf", config, tensors, options)).licence is None


@pytest.mark.parametrize("key", ["block_count", "embedding_length", "attention.head_count"])
def test_zero_sizes_are_refused(tmp_path, config, tensors, key):
    path = write_gguf(tmp_path / "m.gguf", config, tensors)
    full = f"llama.{key}".encode()
    _patch(path, path.read_bytes().index(full) + len(full) + 4, bytes(4))
    with pytest.raises(BadModelFile, match=f"{key} is 0"):
        open_checkpoint(path)


def _patch(path, position, data):
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize(("number", "said"), [
    (b"\0\0\0\3", "in big-endian order"), (b"\0\0\0\2", "in big-endian order"), (b"\1\0\0\0", "of version 1"),
    (b"\4\0\0\0", "of version 4"),
])  # fmt: skip
def test_other_forms_of_the_format_are_told_apart_from_damage(tmp_path, number, said):
    whole = write_gguf(tmp_path / "m.gguf", tiny_config("qwen2"), random_tensors(tiny_config("qwen2"))).read_bytes()
    (tmp_path / "m.gguf").write_bytes(whole[:4] + number + whole[8:])
    with pytest.raises(UnsupportedModel, match=f"{said}; versions 2 and 3 in little-endian order can be read: fetch"):
        open_checkpoint(tmp_path / "m.gguf")


@pytest.mark.parametrize(("metadata", "said"), [
    ({"tokenizer.ggml.padding_token_id": 0xFFFFFFFF}, None), ({"tokenizer.ggml.padding_token_id": 10**6}, None),
    ({"tokenizer.ggml.eot_token_id": 0xFFFFFFFF}, None), ({"tokenizer.ggml.eot_token_id": 10**6}, "eot_token_id is"),
    ({"tokenizer.ggml.add_bos_token": "false"}, "add_bos_token of another type than it should be"),
    ({"qwen2.attention.causal": True}, None), ({"qwen2.attention.causal": False}, "attention.causal = False is not"),
    ({"split.count": 0}, None), ({"split.count": 1}, None), ({"split.count": 2}, "one part of several"),
])  # fmt: skip
def test_what_metadata_may_say(tmp_path, metadata, said):
    config = tiny_config("qwen2")
    path = write_gguf(tmp_path / "m.gguf", config, random_tensors(config), GGUFOptions(metadata=metadata))
    if said is None:
        assert open_checkpoint(path).text.eos_ids == (2, 0)
        return
    with pytest.raises((BadModelFile, UnsupportedModel), match=said):
        open_checkpoint(path)
