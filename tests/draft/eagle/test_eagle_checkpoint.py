"""Folders with EAGLE drafts: what is read of each format, and one clear error for whatever is damaged or foreign."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from draft.eagle.random_eagles import FORMATS, LAYER, Shape, shapes, tensors, write
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw.draft.eagle.checkpoint import EagleFolder, is_eagle
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.draft.eagle.opening import streams_of
from truedraw.engine.constants.matrix import Matrix
from truedraw.errors import BadFile, BadInput, BadParameter

NUM_LAYERS = 8
SHAPES = {each: Shape(each, layer_ids=(2, 4, 5) if each in ("EAGLE-3", "eagle3") else None) for each in FORMATS}


def whole(folder) -> CompiledNetwork:
    """All of a folder."""
    found = EagleFolder(folder)
    rows = Matrix(np.ones((found.config.vocab_size, found.config.hidden_size), np.float32))
    return CompiledNetwork(found, (rows, rows), streams_of(found, NUM_LAYERS, found.layers(NUM_LAYERS)), 1)


def say(folder, **changes):
    """Other settings, None = without; `layer` are those of speculators' layer."""
    path = folder / "config.json"
    said = json.loads(path.read_text())
    said.get("transformer_layer_config", said).update(changes.pop("layer", {}))
    said |= changes
    path.write_text(json.dumps({key: value for key, value in said.items() if value is not None}))
    return folder


@pytest.fixture(params=FORMATS)
def shape(request) -> Shape:
    return SHAPES[request.param]


@pytest.fixture
def folder(tmp_path, shape):
    return write(tmp_path / "Entwürfe ✂", shape)


@pytest.fixture
def third(tmp_path):
    return write(tmp_path / "third", SHAPES["eagle3"])


# -------------------------------------------------------------------------------------------------- what is read


def test_every_format_says_what_it_is(folder, shape) -> None:
    found = EagleFolder(folder)
    assert is_eagle(folder)
    assert found.is_third == shape.third
    assert found.config.hidden_size == found.target_width == shape.width
    assert found.layers(NUM_LAYERS) == ((1, 3, 4) if shape.third else (7,))
    network = whole(folder)
    assert len(network.tokens) == (shape.known if shape.third else shape.vocab)
    assert (np.diff(network.tokens) > 0).all()


def test_the_layers_of_the_papers_where_none_are_named(tmp_path) -> None:
    found = EagleFolder(write(tmp_path / "eagle", replace(SHAPES["EAGLE-3"], layer_ids=None)))
    assert found.layers(32) == (1, 15, 28)  # what enters the layers 2, 16 and 29
    for few in (2, 4, 6):
        with pytest.raises(BadParameter, match=f"draft: .* a target of {few} layers cannot show that"):
            found.layers(few)


@pytest.mark.parametrize("inner", [False, True])
def test_layers_that_are_not_said_and_those_of_either_count(tmp_path, inner) -> None:
    """By what enters them where vLLM and speculators write them, by what puts out where SpecForge does."""
    folder = write(tmp_path / "eagle", SHAPES["eagle3"])
    told = json.loads((folder / "config.json").read_text())
    del told["eagle_aux_hidden_state_layer_ids"]
    for given, expected in (([], (1, 3, 4)), ([1, 3, 5], (1, 3, 5) if inner else (0, 2, 4))):
        ids = {"eagle_aux_hidden_state_layer_ids": given}
        more = {"eagle_config": {**ids, "use_aux_hidden_state": True}} if inner else ids
        (folder / "config.json").write_text(json.dumps({**told, **more}))
        assert EagleFolder(folder).layers(8) == expected


def test_a_first_draft_is_as_wide_as_its_target(tmp_path) -> None:
    with pytest.raises(BadFile, match="target_hidden_size is 64 and hidden_size 32"):
        EagleFolder(write(tmp_path / "eagle", replace(SHAPES["EAGLE"], more={"target_hidden_size": 64})))


@pytest.mark.parametrize("said", [
    {"use_sliding_window": False}, {"layer_types": ["full_attention"]}, {"model_type": "qwen3"},
])  # fmt: skip
def test_a_window_that_no_layer_has_is_none(tmp_path, said) -> None:
    folder = write(tmp_path / "third", replace(SHAPES["eagle3"], head_norms=True))
    assert EagleFolder(say(folder, layer={"sliding_window": 4, **said})).is_third


def test_a_first_draft_reads_the_last_state_and_may_say_so(tmp_path) -> None:
    said = {"use_aux_hidden_state": False, "use_last_layernorm": False}
    whole(write(tmp_path / "eagle", replace(SHAPES["EAGLE"], more={"eagle_config": said})))
    with pytest.raises(BadInput, match="use_aux_hidden_state = True"):
        EagleFolder(
            write(tmp_path / "other", replace(SHAPES["EAGLE"], more={"eagle_config": {"use_aux_hidden_state": True}}))
        )


def test_an_old_name_of_the_layer(tmp_path) -> None:
    """Some conversions of EAGLE-3 have layers.0 without saying that speculators wrote them."""
    folder = write(tmp_path / "eagle", SHAPES["eagle3"])
    layer = json.loads((folder / "config.json").read_text()).pop("transformer_layer_config")
    (folder / "config.json").write_text(
        json.dumps({**layer, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}})
    )
    assert EagleFolder(folder).is_third
    whole(folder)


def test_half_precision_and_several_files(tmp_path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = write(tmp_path / "eagle", SHAPES["EAGLE-3"])
    held = load_file(folder / "model.safetensors")
    names = sorted(held)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, own in parts.items():
        floats = {name: held[name].astype(np.float16) if held[name].dtype == np.float32 else held[name] for name in own}
        save_file(floats, folder / file)
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {name: file for file, own in parts.items() for name in own}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    whole(folder)
    (folder / "two.safetensors").unlink()
    with pytest.raises(BadFile, match=r"lacks two\.safetensors"):
        EagleFolder(folder)


@pytest.mark.parametrize("missing", ["d2t", "t2d"])
def test_one_map_of_tokens_is_enough(tmp_path, missing) -> None:
    expected = whole(write(tmp_path / "both", SHAPES["eagle3"])).tokens.tolist()
    assert whole(write(tmp_path / "one", SHAPES["eagle3"], **{missing: None})).tokens.tolist() == sorted(expected)


def test_no_map_of_tokens_means_the_targets_own(tmp_path) -> None:
    shape = replace(SHAPES["eagle3"], known=60)
    folder = write(tmp_path / "eagle", shape, d2t=None, t2d=None)
    assert whole(folder).tokens.tolist() == list(range(60))


def test_no_map_of_tokens_means_nothing_where_not_all_are_drafted(tmp_path) -> None:
    folder = write(tmp_path / "eagle", SHAPES["eagle3"], d2t=None, t2d=None)
    with pytest.raises(BadFile, match="drafts 24 tokens and lacks the tensor that names them: d2t or t2d"):
        whole(folder)


def test_what_training_leaves_there_is_not_read(tmp_path, shape) -> None:
    left = {
        "verifier_norm__weight": np.ones(3, np.float32),
        "layers__0__self_attn__rotary_emb__inv_freq": np.ones(4, np.float32),
    }
    whole(write(tmp_path / "eagle", shape, **left))


@pytest.mark.parametrize("name", shapes())
def test_every_variant_is_read_whole(tmp_path, name) -> None:
    shape = replace(shapes()[name])
    found = EagleFolder(write(tmp_path / "eagle", shape))
    rows = Matrix(np.ones((shape.vocab, shape.width), np.float32))
    CompiledNetwork(found, (rows, rows), streams_of(found, NUM_LAYERS, found.layers(NUM_LAYERS)), 1)


# ---------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.2, 0.9, 0.9999])
def test_truncated(folder, share) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(BadFile, match=r"model\.safetensors (is not a safetensors file|has a broken|is truncated)"):
        EagleFolder(folder)


@pytest.mark.parametrize("data", [b"\0" * 100, b"GGUF" + b"\1" * 60, b"\xff" * 64, "kein Adler ✂".encode()])
def test_something_else(folder, data) -> None:
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(BadFile, match=r"model\.safetensors"):
        EagleFolder(folder)


def test_no_weights_and_no_config(folder) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadFile, match=r"holds no \*\.safetensors"):
        EagleFolder(folder)
    (folder / "config.json").unlink()
    assert not is_eagle(folder)
    with pytest.raises(BadFile, match=r"config\.json cannot be read"):
        EagleFolder(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"x"', "\x00", "[" * 50_000])
def test_a_config_that_says_nothing(folder, text) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(BadFile, match=r"config\.json"):
        EagleFolder(folder)


PARTS = ("self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.down_proj", "post_attention_layernorm")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("what", ["missing", "a column more", "flat", "nan", "integers"])
def test_a_tensor_that_is_not_what_it_should_be(tmp_path, shape, part, what) -> None:
    name = f"{LAYER[shape.format]}{part}.weight"
    good = tensors(shape)[name]
    bad = {"missing": None, "a column more": np.concatenate([good, good[..., :1]], -1), "flat": good.reshape(-1)[:7],
           "nan": np.full_like(good, np.nan), "integers": np.ones(good.shape, np.int64)}[what]  # fmt: skip
    folder = write(tmp_path / "eagle", shape, **{name.replace(".", "__"): bad})
    said = "holds no EAGLE draft" if what == "missing" and "q_proj" in part else rf"{part}\.weight"
    with pytest.raises(BadFile, match=said):
        whole(folder)


def test_a_whole_model_is_told_where_it_belongs(tmp_path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": 4}')
    save_file({"model.layers.0.mlp.up_proj.weight": np.zeros((4, 4), np.float32)}, folder / "model.safetensors")
    with pytest.raises(BadFile, match=r"holds no EAGLE draft.*named by --spec-model"):
        EagleFolder(folder)


def test_without_its_fusion_it_is_no_draft(tmp_path, shape) -> None:
    fusion = "fusion_fc__weight" if shape.format == "eagle" else "fc__weight"
    with pytest.raises(BadFile, match="holds no EAGLE draft"):
        EagleFolder(write(tmp_path / "eagle", shape, **{fusion: None}))


@pytest.mark.parametrize(("name", "value", "said"), [
    ("d2t", np.zeros(24, np.int64), "does not name 24 different tokens|do not name the same"),
    ("d2t", np.full(24, 60), "does not name 24 different tokens of 60"),
    ("d2t", np.zeros(23, np.int64), r"d2t is I64 \(23,\), it should be 24 integers"),
    ("d2t", np.zeros(24, np.float32), "d2t is F32"), ("d2t", np.arange(24) * 3, "does not name 24"),
    ("t2d", np.ones(60, bool), "do not name the same tokens"),
    ("t2d", np.ones(59, bool), r"t2d is BOOL \(59,\)"), ("lm_head__weight", None, "lacks the tensor lm_head.weight"),
    ("lm_head__weight", np.ones((24, 31), np.float32), "lm_head.weight is"), ("norm__weight", None, "norm.weight"),
    ("fc__weight", np.ones((32, 64), np.float32), "fc does not read 3 hidden states"),
    ("fc__weight", np.ones(32, np.float32), "fc does not read 3 hidden states"),
    ("embed_tokens__weight", np.ones((59, 32), np.float32), r"embed_tokens.weight is \(59, 32\)"),
    ("surplus__weight", np.ones(3, np.float32), "holds surplus.weight, which no EAGLE draft that is known here has"),
    ("input_norm__weight", np.ones(96, np.float32), "norm_before_fc and the tensor input_norm.weight contradict"),
    ("fc_norm__0__weight", np.ones(32, np.float32), "fc_norm and the tensor fc_norm.0.weight contradict each other"),
    ("layers__1__mlp__up_proj__weight", np.ones((2, 2), np.float32), "holds layers.1.mlp.up_proj.weight"),
])  # fmt: skip
def test_parts_of_the_third(tmp_path, name, value, said) -> None:
    with pytest.raises(BadFile, match=said):
        whole(write(tmp_path / "eagle", SHAPES["eagle3"], **{name: value}))


@pytest.mark.parametrize(("changes", "said"), [
    ({"speculators_model_type": "dflash"}, "is 'dflash'; an EAGLE draft is one of: eagle, eagle3"),
    ({"speculators_model_type": 3}, "speculators_model_type is 3"),
    ({"transformer_layer_config": "llama"}, "transformer_layer_config is no object"),
    ({"eagle_aux_hidden_state_layer_ids": "all"}, "should list numbers of layers"),
    ({"eagle_aux_hidden_state_layer_ids": [True, 2, 4]}, "should list numbers of layers"),
    ({"eagle_config": [1]}, r"eagle_config is \[1\], not an object"),
    ({"eagle_config": {"use_aux_hidden_state": False}}, "use_aux_hidden_state = False is not supported"),
    ({"eagle_config": {"use_last_layernorm": False}}, "use_last_layernorm = False is not supported"),
    ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": 0}}, "should list numbers of layers"),
    ({"norm_before_residual": "false"}, "norm_before_residual is 'false', not true or false"),
    ({"eagle_aux_hidden_state_layer_ids": [0, 2, 4]}, "a target of 8 layers cannot show that"),
    ({"eagle_aux_hidden_state_layer_ids": [2, 2, 4]}, "a target of 8 layers cannot show that"),
    ({"eagle_aux_hidden_state_layer_ids": [2, 4, 9]}, "a target of 8 layers cannot show that"),
    ({"eagle_aux_hidden_state_layer_ids": [2, 4]}, "fc does not read 2 hidden states"),
    ({"target_hidden_size": 0}, "target_hidden_size is 0"),
    ({"norm_output": "yes"}, "norm_output is 'yes', not true or false"),
    ({"parallel_drafting": True}, "parallel_drafting = True is not supported"),
    ({"layer": {"hidden_size": 33}}, "is .* and its settings say|fc does not read"),
    ({"layer": {"hidden_size": None}}, "hidden_size"),
    ({"layer": {"vocab_size": -1}}, "vocab_size is -1"), ({"layer": {"num_hidden_layers": 2}}, "has 2 layers"),
    ({"layer": {"hidden_act": "gelu"}}, "hidden_act = 'gelu'"),
    ({"layer": {"sliding_window": 4}}, "a sliding window of 4 tokens is not supported"),
    ({"layer": {"final_logit_softcapping": 30.0}}, "final_logit_softcapping = 30.0 is not supported"),
    ({"layer": {"logits_scaling": 8.0}}, "logits_scaling = 8.0 is not supported"),
    ({"layer": {"num_key_value_heads": 3}}, "3 heads cannot serve 4"),
    ({"layer": {"rope_scaling": {"type": "dynamic", "factor": 2.0}}}, "rope scaling 'dynamic' is not supported"),
])  # fmt: skip
def test_settings_that_cannot_be_meant(third, changes, said) -> None:
    with pytest.raises(BadInput, match=said):
        whole(say(third, **changes))


NORMS = ["embedding_layernorm.weight", "transformer.input_layernorm.weight", "pre_lm_head_layernorm.weight"]
WITH_ALL = replace(SHAPES["eagle"], extra_norms=True, biases=True)


@pytest.mark.parametrize("said", [True, None])
@pytest.mark.parametrize("missing", [*([name] for name in NORMS), NORMS[1:], NORMS])
def test_norms_that_should_be_there(tmp_path, missing, said) -> None:
    lacking = {name.replace(".", "__"): None for name in missing}
    folder = say(write(tmp_path / "eagle", WITH_ALL, **lacking), layernorms=said)
    if said is None and missing == NORMS:
        assert whole(folder)
        return
    why = "and has others that come with it" if said is None else "and layernorms is true"
    with pytest.raises(BadFile, match=f"lacks {', '.join(missing)}, {why}"):
        EagleFolder(folder)


def test_norms_and_a_bias_that_should_not_be_there(tmp_path) -> None:
    folder = write(tmp_path / "eagle", WITH_ALL)
    with pytest.raises(BadFile, match=f"holds {', '.join(NORMS)}, and layernorms is false"):
        EagleFolder(say(folder, layernorms=False))
    with pytest.raises(BadFile, match=r"holds fusion_fc\.bias, and fusion_bias is false"):
        EagleFolder(say(folder, layernorms=True, fusion_bias=False))
    assert whole(say(folder, layernorms=None, fusion_bias=None))


def test_a_bias_that_should_be_there(tmp_path) -> None:
    folder = write(tmp_path / "eagle", WITH_ALL, fusion_fc__bias=None)
    with pytest.raises(BadFile, match=r"lacks fusion_fc\.bias, and fusion_bias is true"):
        EagleFolder(folder)
    assert whole(say(folder, fusion_bias=None))


@pytest.mark.parametrize(("kind", "missing"), [("llama", "q"), ("llama", "k"), ("qwen3", "k"), ("qwen3", "qk")])
def test_norms_of_queries_and_keys_come_together(tmp_path, kind, missing) -> None:
    shape = replace(SHAPES["eagle3"], head_norms=True)
    assert whole(say(write(tmp_path / "whole", shape), layer={"model_type": kind}))
    lacking = {f"layers__0__self_attn__{each}_norm__weight": None for each in missing}
    folder = say(write(tmp_path / "eagle", shape, **lacking), layer={"model_type": kind})
    named = ", ".join(rf"layers\.0\.self_attn\.{each}_norm\.weight" for each in missing)
    with pytest.raises(BadFile, match=f"lacks {named}; fetch or train it again"):
        EagleFolder(folder)


@pytest.mark.parametrize(("said", "told"), [
    (7, r"draft_vocab_size is 7, and lm_head\.weight has 24 rows"), (60, "is 60, and lm_head"), (0, "is 0, not a"),
    (-24, "is -24, not"), ("24", "is '24', not a positive whole number"), (24.0, "is 24.0, not a"), (True, "True, not"),
])  # fmt: skip
def test_another_number_of_drafted_tokens(third, said, told) -> None:
    with pytest.raises(BadFile, match=told):
        EagleFolder(say(third, draft_vocab_size=said))


@pytest.mark.parametrize("said", [None, 60])
def test_the_number_of_drafted_tokens_where_all_are(tmp_path, said) -> None:
    folder = write(tmp_path / "eagle", replace(SHAPES["eagle3"], known=60), d2t=None, t2d=None)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "draft_vocab_size": said}))
    assert len(whole(folder).tokens) == 60


def test_a_whole_model_is_no_draft(tmp_path) -> None:
    folder = write_folder(tmp_path / "model", tiny_config(), random_tensors(tiny_config()))
    with pytest.raises(BadFile, match="holds no EAGLE draft"):
        EagleFolder(folder)


THIRD_ONE = replace(SHAPES["EAGLE-3"], fc_norm=True, norm_output=True)


@pytest.mark.parametrize(("changes", "said"), [
    ({"fc_norm__0__weight": None}, r"fc_norm and the tensor fc_norm\.0\.weight contradict each other"),
    ({"fc_norm__2__weight": None}, r"lacks the tensor fc_norm\.2\.weight"),
    ({"fc_norm__1__weight": np.ones(31, np.float32)}, r"fc_norm\.1\.weight is \(31,\)"),
    ({"fc_norm__3__weight": np.ones(32, np.float32)}, r"holds fc_norm\.3\.weight, which no EAGLE draft"),
])  # fmt: skip
def test_a_norm_for_each_stream(tmp_path, changes, said) -> None:
    assert whole(write(tmp_path / "whole", THIRD_ONE))
    with pytest.raises(BadFile, match=said):
        whole(write(tmp_path / "eagle", THIRD_ONE, **changes))


def test_streams_are_normed_once(tmp_path) -> None:
    with pytest.raises(BadFile, match="norm_before_fc and fc_norm are both true"):
        EagleFolder(write(tmp_path / "eagle", replace(SHAPES["eagle3"], fc_norm=True, norm_before_fc=True)))


@pytest.mark.parametrize("key", ["norm_output", "fc_norm"])
def test_a_first_draft_has_none_of_these_norms(tmp_path, key) -> None:
    with pytest.raises(BadInput, match=f"{key} = True is not supported"):
        EagleFolder(write(tmp_path / "eagle", replace(SHAPES["EAGLE"], more={key: True})))
