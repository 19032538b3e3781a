"""A ready-made graph is run page by page where that computes the same, and is refused where it does not."""

from __future__ import annotations

import json
import re
from functools import partial, partialmethod
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from engine.decoder import RandomWeights
from models.tiny_models import byte_tokenizer, tiny_config
from truedraw.bench.peers.exported import write_ir
from truedraw.bench.peers.exported_graph import UNSEEN, Exporter
from truedraw.engine.cpu import CPUEngine, ready_made
from truedraw.errors import BadModelFile, EngineError, UnsupportedModel
from truedraw.generate.loading import load
from truedraw.models import open_checkpoint
from truedraw.protocol import Work
from truedraw.silent_openvino import openvino, operations

ov, op = openvino(), operations()
Variable, VariableInfo = ov.op.util.Variable, ov.op.util.VariableInfo

CONFIG = tiny_config(head_dim=32)
CAUSAL = Exporter._causal


def written(folder: Path) -> Path:
    write_ir(folder, CONFIG, RandomWeights(CONFIG), int8=False)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def loaded(folder: Path, cache: Path) -> CPUEngine:
    return CPUEngine.load(open_checkpoint(folder), cache=cache, cache_bytes=8 << 20)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return written(tmp_path_factory.mktemp("ir") / "plain")


def test_a_processor_for_which_the_runtime_has_no_attention_is_no_fault_of_the_graphs(
    plain, tmp_path, monkeypatch
) -> None:
    once = ov.Core.compile_model

    def refused(*given):
        if "KV_CACHE_PRECISION" in given[-1]:
            raise RuntimeError("paged_attn.cpp:317:\nAttentionExecutor creation fails with precision f32\n")
        return once(*given)

    monkeypatch.setattr(ov.Core, "compile_model", refused)
    with pytest.raises(EngineError, match="OpenVINO has no attention for this processor"):
        loaded(plain, tmp_path / "cache")


def integers(*numbers: int):
    return op.constant(np.array(numbers, np.int64))


def window(self, k, size: int = 4):
    length = op.gather(op.shape_of(k), integers(2), integers(0))
    begin, step = (op.constant(np.int64(number)) for number in (0, 1))
    keys = op.unsqueeze(op.range(begin, op.squeeze(length, integers(0)), step, "i64"), integers(0, 1, 2))
    seen = op.less_equal(keys, op.subtract(op.unsqueeze(self._positions, integers(1, 3)), integers(size)))
    return op.add(CAUSAL(self, k), op.select(seen, op.constant(np.float32(UNSEEN)), op.constant(np.float32(0))))


def both_directions(self, k):
    return op.multiply(CAUSAL(self, k), op.constant(np.float32(0)))


@pytest.mark.parametrize("mask", [window, both_directions])
def test_a_graph_with_a_mask_of_its_own_is_refused(tmp_path, monkeypatch, mask) -> None:
    monkeypatch.setattr(Exporter, "_causal", mask)
    folder = written(tmp_path / "m")
    for _ in range(2):  # nothing of it is kept
        with pytest.raises(UnsupportedModel, match="cannot be run page by page: its attention is not plainly causal"):
            loaded(folder, tmp_path / "cache")


LONG = tiny_config(head_dim=32, context_length=1024)


def long_written(folder: Path) -> Path:
    write_ir(folder, LONG, RandomWeights(LONG), int8=False)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def test_a_mask_that_begins_to_act_late_is_seen(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Exporter, "_causal", partialmethod(window, size=200))
    with pytest.raises(UnsupportedModel, match="its attention is not plainly causal"):
        loaded(long_written(tmp_path / "m"), tmp_path / "cache")


def scaled_behind(self, x, length: int):
    """Frequencies by the largest position of a pass, as LongRoPE has them."""
    half = LONG.head_dim // 2
    short = LONG.rope_theta ** (-np.arange(half, dtype=np.float32) / half)
    both = [np.concatenate([each] * 2).reshape(1, 1, 1, -1) for each in (short, short / 4)]
    is_long = op.greater(op.reduce_max(self._positions, integers(0, 1), False), op.constant(np.int64(length - 1)))
    frequencies = op.select(is_long, *(op.constant(each.astype(np.float32)) for each in both[::-1]))
    angles = op.multiply(op.convert(op.unsqueeze(self._positions, integers(1, 3)), "f32"), frequencies)
    low, high = op.split(x, op.constant(np.int64(3)), 2).outputs()
    turned = op.concat([op.multiply(high, op.constant(np.float32(-1))), low], -1)
    return op.add(op.multiply(x, op.cos(angles)), op.multiply(turned, op.sin(angles)))


def test_a_rotary_scaling_by_length_is_seen_and_where_it_is_told_ends_the_context(tmp_path, monkeypatch) -> None:
    """One text's rows would depend on the length of another one's, and keys on when they were written."""
    monkeypatch.setattr(Exporter, "_rotated", partialmethod(scaled_behind, length=300))
    folder = long_written(tmp_path / "m")
    with pytest.raises(UnsupportedModel, match="cannot be run page by page"):
        loaded(folder, tmp_path / "cache")
    file = folder / "config.json"
    told = {"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 300}
    file.write_text(json.dumps(json.loads(file.read_text()) | told))
    engine = loaded(folder, tmp_path / "cache")
    assert engine.context_length == 300
    engine.close()


def test_what_only_neighbours_and_growing_change_is_seen(tmp_path, monkeypatch) -> None:
    """Each text alone is right: the long one begins in a pass that is long enough, the others end before."""
    monkeypatch.setattr(Exporter, "_rotated", partialmethod(scaled_behind, length=201))
    folder = long_written(tmp_path / "m")
    with pytest.raises(UnsupportedModel, match="cannot be run page by page"):
        loaded(folder, tmp_path / "cache")
    monkeypatch.setattr(
        ready_made, "_last", lambda engine, texts, last=ready_made._last: [*map(partial(one, engine, last), texts)]
    )
    with pytest.raises(UnsupportedModel, match="cannot be run page by page"):  # grown
        loaded(folder, tmp_path / "cache")
    monkeypatch.setattr(ready_made, "_grown", lambda engine, text: ready_made._last(engine, [text])[0])
    loaded(folder, tmp_path / "cache").close()


def one(engine, last, text):
    return last(engine, [text])[0]


def test_what_was_found_equal_is_not_compared_again(plain, tmp_path, monkeypatch) -> None:
    loaded(plain, tmp_path).close()
    monkeypatch.setattr(ready_made, "last_logits", lambda *_: pytest.fail("it was run again"))
    loaded(plain, tmp_path).close()


def test_what_was_found_equal_in_a_short_context_is_compared_again_in_a_longer_one(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Exporter, "_causal", window)
    folder = written(tmp_path / "m")
    file = folder / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps(config | {"sliding_window": 4}))
    loaded(folder, tmp_path / "cache").close()
    file.write_text(json.dumps(config))
    with pytest.raises(UnsupportedModel, match="its attention is not plainly causal"):
        loaded(folder, tmp_path / "cache")
    file.write_text(json.dumps(config | {"sliding_window": 1}))
    with pytest.raises(UnsupportedModel, match="a context of one token"):
        loaded(folder, tmp_path / "cache")


@pytest.mark.slow
def test_a_token_that_takes_a_megabyte_of_cache(tmp_path) -> None:
    """As those of Llama 2 in float32."""
    config = tiny_config(head_dim=128, num_layers=32, num_heads=32, num_kv_heads=32, hidden_size=32)
    write_ir(tmp_path / "m", config, RandomWeights(config), int8=False)
    byte_tokenizer().save(str(tmp_path / "m" / "tokenizer.json"))
    CPUEngine.load(open_checkpoint(tmp_path / "m"), cache=tmp_path, cache_bytes=1 << 30).close()


@pytest.mark.parametrize(
    ("said", "context"),
    [
        ({"sliding_window": 16}, 16),
        ({"sliding_window": 16, "layer_types": ["full_attention", "sliding_attention"]}, 16),
        ({"sliding_window": 16, "layer_types": ["full_attention"] * 2}, CONFIG.context_length),
        ({"sliding_window": 16, "use_sliding_window": False}, CONFIG.context_length),
        ({"sliding_window": None}, CONFIG.context_length),
        ({"sliding_window": 1 << 20}, CONFIG.context_length),
        ({"attention_chunk_size": 16}, 16),
        ({"attention_chunk_size": 16, "layer_types": ["full_attention", "chunked_attention"]}, 16),
        ({"attention_chunk_size": 16, "layer_types": ["full_attention"] * 2}, CONFIG.context_length),
        ({"rope_parameters": {"rope_type": "dynamic", "original_max_position_embeddings": 9}}, 9),
        ({"rope_parameters": {"full_attention": {"rope_type": "su", "original_max_position_embeddings": 9}}}, 9),
        ({"rope_scaling": {"type": "linear", "original_max_position_embeddings": 9}}, CONFIG.context_length),
        ({"rope_scaling": {"type": "dynamic"}}, CONFIG.context_length),
        (
            {
                "rope_scaling": {"type": "su", "original_max_position_embeddings": None},
                "original_max_position_embeddings": 9,
            },
            9,
        ),
        ({"attention_layers": ["global", "local"], "window_size": 16}, 16),
        ({"attention_types": [[["global", "local"], 1]], "window_size": 16}, 16),
        ({"attention_layers": ["global", "global"], "window_size": 16}, CONFIG.context_length),
        ({"model_type": "mistral", "max_position_embeddings": 9000}, 4096),
        ({"model_type": "mistral", "max_position_embeddings": 9000, "sliding_window": None}, 9000),
    ],
)
def test_a_window_ends_the_context(plain, tmp_path, said, context) -> None:
    """A graph that honours it or not computes the same until there."""
    folder = copytree(plain, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | said))
    assert open_checkpoint(folder).config.context_length == context


@pytest.mark.parametrize(
    "names",
    [
        {"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer"},
        {"hidden_size": "d_model", "num_attention_heads": "attention_heads", "num_hidden_layers": "num_layers"},
        {"max_position_embeddings": "n_positions"},
        {"max_position_embeddings": "max_seq_len", "num_attention_heads": "n_heads"},
    ],
)
def test_sizes_go_by_the_names_that_architectures_have_for_them(plain, tmp_path, names) -> None:
    folder = copytree(plain, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({names.get(key, key): value for key, value in config.items()}))
    assert open_checkpoint(folder).config == open_checkpoint(plain).config


def test_a_size_that_nothing_tells_is_named(plain, tmp_path) -> None:
    folder = copytree(plain, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    del config["max_position_embeddings"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadModelFile, match="lacks max_position_embeddings, a positive whole number"):
        open_checkpoint(folder)


def changed(plain: Path, folder: Path, change) -> Path:
    copytree(plain, folder)
    model = ov.Core().read_model(plain / "openvino_model.xml")
    change(model)
    ov.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
    return folder


def head_of(model):
    node = model.output("logits").get_node().input_value(0).get_node()
    while node.get_type_name() != "MatMul":
        node = node.input_value(0).get_node()
    return node


def keep_a_mean(model) -> None:
    """As a recurrent layer does."""
    about = VariableInfo()
    about.data_shape, about.data_type = ov.PartialShape([1, 1, CONFIG.hidden_size]), ov.Type.f32
    about.variable_id = "mean"
    variable, head = Variable(about), head_of(model)
    hidden = head.input_value(0)
    old = op.read_value(op.constant(np.zeros((1, 1, CONFIG.hidden_size), np.float32)), variable)
    new = op.add(old, op.reduce_mean(hidden, integers(0, 1), True))
    head.input(0).replace_source_output(op.add(hidden, new).output(0))
    model.add_sinks([op.assign(new, variable)])
    model.add_variables([variable])


def test_a_graph_that_keeps_more_of_a_text_than_its_cache_is_refused(plain, tmp_path) -> None:
    folder = changed(plain, tmp_path / "m", keep_a_mean)
    with pytest.raises(UnsupportedModel, match="keeps something of a text beside the cache of its attention"):
        loaded(folder, tmp_path / "cache")


def show_hidden(model) -> None:
    result = op.result(head_of(model).input_value(0))
    result.output(0).get_tensor().set_names({"hidden_states"})
    model.add_results([result])


def test_other_outputs_are_left_out(plain, tmp_path) -> None:
    rows = []
    for folder in (plain, changed(plain, tmp_path / "m", show_hidden)):
        engine = loaded(folder, tmp_path / "cache")
        rows.append(engine.forward([Work(engine.open([5, 6, 7]))])[0].logits.copy())
        engine.close()
    assert np.array_equal(*rows)


def unnamed(model) -> None:
    model.outputs[0].get_tensor().set_names({"output_0"})


def test_an_only_output_may_have_any_name(plain, tmp_path) -> None:
    rows = []
    for folder in (plain, changed(plain, tmp_path / "m", unnamed)):
        engine = loaded(folder, tmp_path / "cache")
        rows.append(engine.forward([Work(engine.open([5, 6, 7]))])[0].logits.copy())
        engine.close()
    assert np.array_equal(*rows)


def test_of_several_outputs_one_must_be_called_logits(plain, tmp_path) -> None:
    def both(model) -> None:
        show_hidden(model)
        unnamed(model)

    with pytest.raises(UnsupportedModel, match="has several outputs, and none is called logits"):
        loaded(changed(plain, tmp_path / "m", both), tmp_path / "cache")


@pytest.mark.parametrize("said", [CONFIG.vocab_size - 1, CONFIG.vocab_size + 1])
def test_a_config_with_another_vocabulary_is_refused(plain, tmp_path, said) -> None:
    folder = copytree(plain, tmp_path / "m")
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"vocab_size": said}))
    with pytest.raises(BadModelFile, match=f"vocab_size = {said}, and the graph's logits are {CONFIG.vocab_size}"):
        loaded(folder, tmp_path / "cache")


def without_a_layer(text: str) -> str:
    start = text.index("<layer ", len(text) // 3)
    return text[:start] + text[text.index("</layer>", start) + len("</layer>") :]


DAMAGE = {
    "a layer is missing": without_a_layer,
    "an unknown operation": lambda text: text.replace('type="MatMul"', 'type="MatMule"', 1),
    "garbled": lambda text: text[: len(text) // 2] + "\0\0" + text[len(text) // 2 + 200 :],
    "an unknown opset": lambda text: text.replace('version="opset1"', 'version="opset99"'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_graph_is_named(plain, tmp_path, damage) -> None:
    folder = copytree(plain, tmp_path / "m")
    file = folder / "openvino_model.xml"
    file.write_text(damage(file.read_text()))
    with pytest.raises(BadModelFile, match=r"openvino_model.xml cannot be read: \S.*; export or fetch it again"):
        load(folder, cache=tmp_path / "cache")


def test_a_short_file_of_constants_is_named_whatever_the_order_of_attributes(plain, tmp_path) -> None:
    folder = copytree(plain, tmp_path / "m")
    graph, data = folder / "openvino_model.xml", folder / "openvino_model.bin"
    graph.write_text(re.sub(r'offset="(\d+)"([^>]*?) size="(\d+)"', r'size="\3"\2 offset="\1"', graph.read_text()))
    open_checkpoint(folder)
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    with pytest.raises(BadModelFile, match="is truncated"):
        open_checkpoint(folder)
