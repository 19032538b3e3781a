"""Hugging Face and OpenVINO folders."""

import contextlib
import json
import os

import numpy as np
import pytest
from safetensors.numpy import save_file
from tiny_models import random_tensors, tiny_config, write_folder, write_openvino
from tokenizers import AddedToken, models
from tokenizers import Tokenizer as Tokenizers

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models import open_checkpoint
from truedraw.models.folder_text import folder_text
from truedraw.models.safetensors_weights import check_lengths
from truedraw.text import Tokenizer

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "m", tiny_config(), random_tensors(tiny_config()))


def change(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_config_come_back(tmp_path, architecture, tied):
    config = tiny_config(architecture, tie_embeddings=tied)
    tensors = random_tensors(config)
    checkpoint = open_checkpoint(write_folder(tmp_path / "m", config, tensors))
    assert checkpoint.kind == "huggingface"
    assert checkpoint.config == config
    assert set(checkpoint.weights.names()) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(checkpoint.weights.dense(name), tensor)
        assert checkpoint.weights.packed(name) is None
        assert checkpoint.weights.stored_as(name) == "F32"


def test_the_heads_of_qwen3_have_128_numbers_where_its_config_is_silent(tmp_path):
    config = tiny_config("qwen3", head_dim=128)
    folder = write_folder(tmp_path / "m", config, random_tensors(config), head_dim=None)
    assert open_checkpoint(folder).config == config


def test_half_precision(folder):
    tensors = {name: tensor.astype(np.float16) for name, tensor in random_tensors(tiny_config()).items()}
    save_file(tensors, folder / "model.safetensors")
    weights = open_checkpoint(folder).weights
    np.testing.assert_array_equal(weights.dense("model.norm.weight"), tensors["model.norm.weight"].astype(np.float32))
    assert weights.stored_as("model.norm.weight") == "F16"


def test_bfloat16_without_torch(folder):
    """bfloat16 is the upper half of float32."""
    tensors = random_tensors(tiny_config())
    upper = {name: (tensor.view(np.uint32) >> 16).astype(np.uint16) for name, tensor in tensors.items()}
    save_file(upper, folder / "model.safetensors")
    _change_header(folder / "model.safetensors", lambda header: header.replace(b'"U16"', b'"BF16"'))
    weights = open_checkpoint(folder).weights
    for name, tensor in tensors.items():
        expected = (tensor.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        np.testing.assert_array_equal(weights.dense(name), expected)
        assert weights.stored_as(name) == "BF16"


def test_shards(folder):
    tensors = random_tensors(tiny_config())
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    table = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)}
    for shard in set(table.values()):
        save_file({name: tensors[name] for name in names if table[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    weights = open_checkpoint(folder).weights
    for name in names:
        np.testing.assert_array_equal(weights.dense(name), tensors[name])
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(BadModelFile, match="lacks model-00002-of-00002"):
        open_checkpoint(folder)


@pytest.mark.parametrize("name", ["../m.safetensors", "/etc/passwd", 7])
def test_an_index_may_not_lead_elsewhere(folder, name):
    (folder / "model.safetensors").rename(folder / "m.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(BadModelFile, match="weight_map"):
        open_checkpoint(folder)


@pytest.mark.parametrize("stored", ["same", "other", "one number"])
def test_a_tied_head_that_is_stored_counts_where_it_is_another_one(folder, stored):
    """transformers ties two tensors that are both there only where they are equal."""
    tensors = random_tensors(tiny_config())
    head = tensors["model.embed_tokens.weight"] * (2 if stored == "other" else 1)
    if stored == "one number":
        head[-1, -1] = np.nextafter(head[-1, -1], np.float32(9))
    save_file({**tensors, "lm_head.weight": head}, folder / "model.safetensors")
    found = open_checkpoint(folder)
    assert ("lm_head.weight" in found.weights.names()) == (not found.config.tie_embeddings) == (stored != "same")


def test_what_lies_beside_the_model_is_no_part_of_it(folder):
    """Neither adapters nor the same weights for another program; an index counts where no file holds everything."""
    names = open_checkpoint(folder).weights.names()
    save_file({"lora.a": np.ones(2, np.float32)}, folder / "adapter_model.safetensors")
    save_file({names[0]: np.ones(2, np.float32)}, folder / "z.safetensors")
    assert open_checkpoint(folder).weights.names() == names
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    with pytest.raises(BadModelFile, match=r"is in .*model-1.safetensors and in z.safetensors; leave only"):
        open_checkpoint(folder)
    index = {"weight_map": dict.fromkeys(names, "model-1.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert open_checkpoint(folder).weights.names() == names
    save_file({names[0]: np.ones(2, np.float32), "other": np.ones(2, np.float32)}, folder / "model-2.safetensors")
    index["weight_map"]["other"] = "model-2.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UnsupportedModel, match="does not use: other"):  # of a tensor in two files the index names one
        open_checkpoint(folder)


@pytest.mark.parametrize("given", [{}, {"repetition_penalty": 1.3}])
def test_a_model_that_is_not_sampled_from(folder, given):
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": False, **given}))
    assert open_checkpoint(folder).sampling_defaults == {"temperature": 0.0, **given}


def test_bytes_behind_the_weights_are_refused(folder):
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"more")
    with pytest.raises(BadModelFile, match="by its header"):
        open_checkpoint(folder)


@pytest.mark.parametrize("moved", [-8, 8])
def test_tensors_that_share_bytes_or_leave_some_out_are_refused(folder, moved):
    """As the format says, and its own library does."""
    file = folder / "model.safetensors"
    size = int.from_bytes(file.read_bytes()[:8], "little")
    header, data = json.loads(file.read_bytes()[8 : 8 + size]), file.read_bytes()[8 + size :]
    last = max((name for name in header if name != "__metadata__"), key=lambda name: header[name]["data_offsets"][1])
    header[last]["data_offsets"] = [at + moved for at in header[last]["data_offsets"]]
    told = json.dumps(header).encode()
    file.write_bytes(len(told).to_bytes(8, "little") + told + (data + bytes(8) if moved > 0 else data[:-8]))
    with pytest.raises(BadModelFile, match=r"the data of .* begin at \d+, those before end at \d+"):
        open_checkpoint(folder)


@pytest.mark.parametrize(("beside", "inside", "expected"), [(64, 32, 64), (None, 32, 32), (None, None, 128)])
def test_the_length_that_a_model_was_trained_for_is_found_as_transformers_finds_it(folder, beside, inside, expected):
    rope = {**LLAMA3, "original_max_position_embeddings": inside}
    more = {"rope_parameters": rope, "original_max_position_embeddings": beside, "max_position_embeddings": 128}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **more}))
    assert open_checkpoint(folder).config.rope_scaling["original_max_position_embeddings"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2}}, {"rope_type": "linear", "factor": 2.0}),
        ({"rope_scaling": LLAMA3}, LLAMA3),
        ({"rope_scaling": {"rope_type": "default"}}, None),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}, None),
        ({"rope_parameters": {**LLAMA3, "rope_theta": 10000.0}}, LLAMA3),
        ({"rope_parameters": {}, "rope_scaling": LLAMA3}, LLAMA3),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "rope_scaling": LLAMA3}, LLAMA3),
        ({"rope_parameters": LLAMA3, "rope_scaling": {}}, LLAMA3),
    ],
)
def test_rope_scaling(folder, given, expected):
    change(folder, **given)
    config = open_checkpoint(folder).config
    assert config.rope_scaling == expected
    assert config.rope_theta == 10000.0


def test_rope_theta_of_newer_files(folder):
    change(folder, rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    assert open_checkpoint(folder).config.rope_theta == 5e5


def test_a_theta_beside_scaling_that_counts_first_is_no_guess(folder):
    """transformers takes the default then, which whoever wrote the file did not mean."""
    change(folder, rope_parameters={"rope_type": "default", "rope_theta": 5e5}, rope_scaling=LLAMA3)
    with pytest.raises(BadModelFile, match="rope_theta is 500000"):
        open_checkpoint(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"architectures": ["Gemma3ForCausalLM"]},
        {"architectures": None},
        {"architectures": ["MistralForCausalLM"], "sliding_window": 32},
        {"architectures": ["MistralForCausalLM"], "max_position_embeddings": 8192},  # 4,096 where the key is absent
        {"rope_parameters": {"rope_type": "default"}, "rope_scaling": {"rope_type": "yarn", "factor": 4}},
        {"hidden_act": "gelu"},
        {"mlp_bias": True},
        {"attention_bias": True},
        {"use_sliding_window": True},
        {"layer_types": ["full_attention", "sliding_attention"]},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4}},
        {"rope_scaling": {"rope_type": "dynamic", "factor": 4}},
        {"partial_rotary_factor": 0.5},
        {"is_causal": False},
        {"is_causal": None},
        {"model_type": "granite"},  # whose network has multipliers besides
        {"model_type": "qwen2"},
        {"model_type": ["llama"]},
        {"model_type": "mistral", "sliding_window": 32},
        {"model_type": "mistral", "max_position_embeddings": 8192},
        {"quantization_config": {"quant_method": "gptq"}},
    ],
)
def test_what_no_graph_honours_is_refused(folder, values):
    change(folder, **values)
    with pytest.raises(UnsupportedModel, match=r"config\.json"):
        open_checkpoint(folder)


@pytest.mark.parametrize("kind", ["llama", "mistral", None])
def test_mistral_without_a_window_is_llama(folder, kind):
    change(folder, architectures=["MistralForCausalLM"], model_type=kind, sliding_window=None)
    assert open_checkpoint(folder).config.architecture == "llama"


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 0},
        {"num_hidden_layers": "two"},
        {"vocab_size": None},
        {"rms_norm_eps": -1},
        {"num_attention_heads": True},
        {"rope_scaling": "linear"},
        {"rope_scaling": {"rope_type": "linear"}},
    ],
)
def test_senseless_values_are_named(folder, values):
    change(folder, **values)
    with pytest.raises(BadModelFile, match=r"config\.json"):
        open_checkpoint(folder)


@pytest.mark.parametrize("values", [{"num_key_value_heads": 3}, {"head_dim": 15}])
def test_heads_that_cannot_be_shared(folder, values):
    change(folder, **values)
    with pytest.raises(BadModelFile, match="share evenly"):
        open_checkpoint(folder)


@pytest.mark.parametrize("content", [b'{"a": "\xff\xfe"}', b"{", b"[1]", b"", b"[" * 100_000])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json"])
def test_broken_json(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(BadModelFile, match=name):
        open_checkpoint(folder)


def test_a_tokenizer_at_which_its_own_parser_breaks_down(folder):
    parts = json.loads((folder / "tokenizer.json").read_text())
    parts["model"]["continuing_subword_prefix"] = "a prefix longer than any token is"
    (folder / "tokenizer.json").write_text(json.dumps(parts))
    with pytest.raises(BadModelFile, match=r"tokenizer\.json is not a tokenizer: .*(range|bounds)"):
        open_checkpoint(folder).text.load_tokenizer()


def test_a_folder_whose_name_is_no_utf8(folder):
    try:
        moved = folder.rename(folder.with_name(os.fsdecode(b"model\xff")))
    except OSError:
        pytest.skip("this system has no such names")
    assert open_checkpoint(moved).text.load_tokenizer().get_vocab_size() > 0


def test_a_tokenizer_behind_a_byte_order_mark(folder):
    """As the other JSON of a folder is read."""
    file = folder / "tokenizer.json"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert open_checkpoint(folder).text.load_tokenizer().get_vocab_size() > 0


def test_json_that_is_not_utf8_is_called_so(folder):
    (folder / "config.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(BadModelFile, match=r"not UTF-8 text \(byte 7\)"):
        open_checkpoint(folder)


def test_truncated_safetensors(folder):
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    for size in [0, 4, 8, 100, 2000, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(BadModelFile, match=r"model\.safetensors"):
            open_checkpoint(folder)


def test_files_as_long_as_their_headers_say(folder):
    path = folder / "model.safetensors"
    _change_header(path, lambda header: header.replace(b'"F32"', b'"F8Z"'))  # whatever that may be
    check_lengths(folder)
    whole = path.read_bytes()
    for changed in (whole[:-1], whole + b"\0", whole[: len(whole) // 2], whole[:100], b""):
        path.write_bytes(changed)
        with pytest.raises(BadModelFile, match=r"model\.safetensors.*(fetch it again|truncated)"):
            check_lengths(folder)


def test_a_tensor_with_fewer_bytes_than_its_shape_is_refused(folder):
    def shortened(header):
        lines = json.loads(header)
        lines["model.norm.weight"]["data_offsets"][1] -= 4
        return json.dumps(lines).encode()

    _change_header(folder / "model.safetensors", shortened)
    with pytest.raises(BadModelFile, match=r"model\.norm\.weight"):
        open_checkpoint(folder)


def test_missing_pieces(folder, tmp_path):
    tensors = random_tensors(tiny_config())
    del tensors["model.layers.0.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(BadModelFile, match=r"lacks model\.layers\.0\.mlp\.up_proj\.weight"):
        open_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadModelFile, match=r"no \*\.safetensors"):
        open_checkpoint(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadModelFile, match="neither config"):
        open_checkpoint(tmp_path / "empty")


def test_a_folder_without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UnsupportedModel, match=r"no tokenizer\.json"):
        open_checkpoint(folder)


def test_another_dtype_is_refused(folder):
    tensors = {name: tensor.astype(np.float64) for name, tensor in random_tensors(tiny_config()).items()}
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(UnsupportedModel, match="F64; supported: F32, F16, BF16"):
        open_checkpoint(folder)


def test_text_side(folder):
    (folder / "generation_config.json").write_text(
        json.dumps({"temperature": 0.6, "top_p": 0.9, "do_sample": True, "eos_token_id": [2, 0]})
    )
    added = {"0": {"content": "<|endoftext|>"}, "2": {"content": "<|im_end|>"}}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}],
                "pad_token": "<|endoftext|>",
                "eos_token": {"content": "<|im_end|>"},
                "added_tokens_decoder": added,
            }
        )
    )
    checkpoint = open_checkpoint(folder)
    assert checkpoint.sampling_defaults == {"temperature": 0.6, "top_p": 0.9}
    assert (checkpoint.text.eos_ids, checkpoint.text.bos_id, checkpoint.text.pad_id) == ((2, 0), 1, 0)
    assert (checkpoint.text.chat_template, checkpoint.text.tool_template) == ("D", "T")
    (folder / "chat_template.jinja").write_text("J")
    found = open_checkpoint(folder).text
    assert (found.chat_template, found.tool_template) == ("J", None)
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("U")
    assert open_checkpoint(folder).text.tool_template == "U"


def test_tokens_that_only_the_settings_of_a_tokenizer_name(folder):
    plain = open_checkpoint(folder).text.load_tokenizer()
    new = plain.get_vocab_size()
    assert len(plain.encode("a<new>b").ids) > 3
    added = {
        str(new): {"content": "<new>", "special": True},
        str(new + 7): {"content": "<far>", "special": True},
        str(new + 1): {"content": "<beyond>", "special": True},
        "x": {"content": "<odd>"},
        "1": None,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
    text = folder_text(folder, {}, new + 1)
    found = Tokenizer(text.load_tokenizer())
    assert found.encode("a<new>b")[1] == new
    assert found.is_special(new)
    assert found.token_bytes(new) == b"<new>"
    assert found.encode("<far><beyond>") == Tokenizer(plain).encode("<far><beyond>")


def test_the_settings_of_a_tokenizer_describe_its_tokens(folder):
    plain = open_checkpoint(folder).text.load_tokenizer()
    plain.add_tokens([AddedToken("<new>", special=True, rstrip=True)])
    plain.save(str(folder / "tokenizer.json"))
    i = plain.token_to_id("<new>")
    entry = {"content": "<new>", "lstrip": True, "special": False, "normalized": False}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {str(i): entry}}))
    found = folder_text(folder, {}, i + 1).load_tokenizer()
    assert found.encode("a <new> b").ids == [*found.encode("a").ids, i, *found.encode(" b").ids]
    assert found.get_vocab_size() == plain.get_vocab_size()


@pytest.mark.parametrize("named", ["ab", {"content": "ab", "lstrip": True}])
def test_a_word_that_is_named_as_a_special_token_is_one(folder, named):
    tokenizer = Tokenizers(models.BPE({"a": 0, "b": 1, "ab": 2}, []))
    tokenizer.save(str(folder / "tokenizer.json"))
    assert tokenizer.encode("ab").ids == [0, 1]
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": named, "bos_token": "c"}))
    found = folder_text(folder, {}, 3).load_tokenizer()
    assert found.encode("aabb").ids == [0, 2, 1]
    assert found.decode([0, 2, 1], skip_special_tokens=True) == "a b"
    assert found.get_vocab_size() == 3


@pytest.mark.parametrize("described", [{}, {"added_tokens_decoder": {"2": {"content": "ab"}, "3": {"content": "ba"}}}])
def test_an_added_token_that_is_named_as_a_special_one_is_special(folder, described):
    tokenizer = Tokenizers(models.BPE({"a": 0, "b": 1, "ab": 2, "ba": 3}, []))
    tokenizer.add_tokens([AddedToken("ab", rstrip=True), AddedToken("ba")])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"sep_token": "ab", **described}))
    added = folder_text(folder, {}, 4).load_tokenizer().get_added_tokens_decoder()
    assert (added[2].special, added[3].special) == (True, False)
    assert added[2].rstrip == (not described)


@pytest.mark.parametrize(
    "settings",
    [
        {"additional_special_tokens": ["ab"], "extra_special_tokens": []},
        {"additional_special_tokens": ["ba"], "extra_special_tokens": ["ab", 1]},
        {"additional_special_tokens": [{"content": "ab", "special": True}]},
        {"extra_special_tokens": {"image_token": "ab"}},
        {"image_token": "ab", "add_bos_token": True},
    ],
)
def test_a_word_that_is_a_special_token_of_one_model_is_one(folder, settings):
    Tokenizers(models.BPE({"a": 0, "b": 1, "ab": 2, "ba": 3}, [])).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    found = folder_text(folder, {}, 4).load_tokenizer()
    assert found.encode("abab").ids == [2, 2]
    assert found.encode("ba").ids == [1, 0]
    assert [*found.get_added_tokens_decoder()] == [2]
    assert found.get_added_tokens_decoder()[2].special


# --------------------------------------------------------------------------------------------------- OpenVINO


def test_an_openvino_folder(tmp_path):
    checkpoint = open_checkpoint(write_openvino(tmp_path / "ir", tiny_config()))
    assert (checkpoint.kind, checkpoint.weights) == ("openvino", None)
    assert checkpoint.config.context_length == 128
    assert checkpoint.text.load_tokenizer().encode("hello").ids


@pytest.mark.parametrize("name", ["openvino_model.bin", "config.json"])
def test_an_openvino_folder_must_be_complete(tmp_path, name):
    folder = write_openvino(tmp_path / "ir", tiny_config())
    (folder / name).unlink()
    with pytest.raises(BadModelFile, match=f"lacks {name}"):
        open_checkpoint(folder)


def test_truncated_openvino_files(tmp_path):
    with pytest.raises(BadModelFile, match="63 bytes of at least 64"):
        open_checkpoint(write_openvino(tmp_path / "ir", tiny_config(), bin_bytes=63))
    folder = write_openvino(tmp_path / "ir", tiny_config())
    graph = folder / "openvino_model.xml"
    graph.write_text(graph.read_text()[:-10])
    with pytest.raises(BadModelFile, match="not a whole OpenVINO graph"):
        open_checkpoint(folder)


def _change_header(path, change):
    """Of a safetensors file; `change` takes and gives bytes."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = change(data[8 : 8 + size])
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("generation_config.json", {"top_k": "many"}, "top_k is 'many', not a number"),
        ("generation_config.json", {"temperature": True}, "temperature is True"),
        ("generation_config.json", {"min_p": [0.1]}, "min_p is"),
        ("generation_config.json", {"eos_token_id": "x"}, "eos_token_id is 'x'; token ids are 0 to"),
        ("generation_config.json", {"eos_token_id": [2, None, 10**9]}, "eos_token_id is 1000000000"),
        ("config.json", {"eos_token_id": "x"}, "eos_token_id is 'x'"),
        ("config.json", {"eos_token_id": 10**9}, "eos_token_id is 1000000000"),
        ("config.json", {"eos_token_id": True}, "eos_token_id is True"),
        ("config.json", {"bos_token_id": 1.5}, "bos_token_id is 1.5"),
        ("config.json", {"pad_token_id": {}}, "pad_token_id is"),
    ],
)
def test_a_default_that_cannot_be_is_refused_with_its_file(folder, name, values, words):
    path = folder / name
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | values))
    with pytest.raises(BadModelFile, match=words) as error:
        open_checkpoint(folder)
    assert name in str(error.value)


def test_none_and_minus_one_are_no_tokens_and_padding_may_lie_past_the_vocabulary(folder):
    change(folder, eos_token_id=[2, None, -1], bos_token_id=-1, pad_token_id=tiny_config().vocab_size)
    text = open_checkpoint(folder).text
    assert (text.eos_ids, text.bos_id, text.pad_id) == ((2,), None, tiny_config().vocab_size)


@pytest.mark.parametrize("layers", [50, 10**9, 10**300])
def test_a_number_of_layers_beyond_all_tensors_is_refused_before_they_are_listed(folder, monkeypatch, layers):
    monkeypatch.setattr("truedraw.models.layout.expected_shapes", lambda _config: pytest.fail("a table was made"))
    change(folder, num_hidden_layers=layers)
    with pytest.raises(BadModelFile, match="layers, and there are 20 tensors in all"):
        open_checkpoint(folder)


ABSURD = [None, 0, -1, 1.5, 10**9, 10**40, 10**400, True, False, "x", "", [], ["x"], [[]], {}, {"a": 1}]


@pytest.mark.parametrize("value", ABSURD)
def test_no_setting_of_a_folder_makes_it_crash(folder, value):
    """Either it can be opened or the one error is ours, and comes at once."""
    settings = json.loads((folder / "config.json").read_text())
    more = ("attention_bias", "layer_types", "sliding_window", "use_sliding_window", "partial_rotary_factor",
            "quantization_config", "mlp_bias", "rope_parameters", "text_config", "pad_token_id")  # fmt: skip
    for key in (*settings, *more):
        for kind in ("LlamaForCausalLM", "MistralForCausalLM"):
            new = settings | {"architectures": [kind]} | {key: value}
            (folder / "config.json").write_text(json.dumps(new))
            with contextlib.suppress(BadModelFile, UnsupportedModel):
                open_checkpoint(folder)
    scaled = settings | {"rope_scaling": {"rope_type": "linear", "factor": value}}
    (folder / "config.json").write_text(json.dumps(scaled))
    with contextlib.suppress(BadModelFile, UnsupportedModel):
        open_checkpoint(folder)


@pytest.mark.parametrize("value", ABSURD)
def test_no_setting_of_an_openvino_folder_makes_it_crash(tmp_path, value):
    folder = write_openvino(tmp_path / "m", tiny_config())
    settings = json.loads((folder / "config.json").read_text())
    for key in settings:
        (folder / "config.json").write_text(json.dumps(settings | {key: value}))
        with contextlib.suppress(BadModelFile, UnsupportedModel):
            open_checkpoint(folder)


@pytest.mark.parametrize("low", [4.0, 5.0])
def test_rope_factors_that_do_not_rise_are_refused(folder, low):
    change(folder, rope_scaling=LLAMA3 | {"low_freq_factor": low})
    with pytest.raises(BadModelFile, match="low_freq_factor is not below its high_freq_factor"):
        open_checkpoint(folder)
