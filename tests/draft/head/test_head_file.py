"""A head's file: what is written is read, and whatever is damaged is said in one clear error."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from draft.head.random_heads import INNER, KNOWN, LAYERS, VOCAB, WIDTH, card, dense, numbers, write
from truedraw.draft.head import file as module
from truedraw.draft.head.card import FALLING, Card
from truedraw.draft.head.file import HeadFile, read_card, shipped, write_head
from truedraw.engine.constants.rounding import GROUP
from truedraw.errors import BadFile

STREAMS = len(LAYERS) + 1
SHAPES = {"input": (WIDTH, STREAMS * WIDTH), "up": (2 * INNER, 2 * WIDTH), "down": (WIDTH, INNER),
          "token": (WIDTH, WIDTH), "output": (WIDTH, WIDTH)}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "head.safetensors")


def whole(path) -> HeadFile:
    """All of a file."""
    file = HeadFile(path)
    for name, shape in SHAPES.items():
        file.matrix(name, shape)
    file.vector("gain", WIDTH)
    assert file.rows("up") == 2 * INNER
    return file


def changed(path, metadata=None, **arrays):
    """The file with other arrays, None = without it, and another text beside them."""
    said = {**read_card(path).to_metadata(), **(metadata or {})}
    held = {name: array for name, array in {**load_file(path), **arrays}.items() if array is not None}
    path.write_bytes(save(held, metadata={key: value for key, value in said.items() if value is not None}))
    return path


# ------------------------------------------------------------------------------------------------------- round trip


def test_what_is_written_is_read(tmp_path) -> None:
    said = card(target="Modell Ω", siblings=(0.5, 0.25), training={"tokens": 12, "losses": [0.5, None]})
    tokens, matrices, gains = numbers(said)
    write_head(tmp_path / "a b.safetensors", said, tokens, matrices, gains)
    file = HeadFile(tmp_path / "a b.safetensors")
    assert file.card == read_card(tmp_path / "a b.safetensors") == said
    assert file.card.streams == STREAMS
    assert file.tokens.dtype == np.int64
    assert np.array_equal(file.tokens, tokens)
    np.testing.assert_array_equal(file.vector("gain", WIDTH), gains["gain"].astype(np.float32))
    for name, values in matrices.items():
        held = file.matrix(name, values.shape)
        assert held.values.dtype == np.int8
        count = 1 if values.shape[1] % GROUP else values.shape[1] // GROUP
        assert held.scales.shape == (len(values), count)
        groups = np.abs(values).reshape(len(values), count, -1)
        step = np.repeat(groups.max(2) / 127, groups.shape[2], 1)
        assert (np.abs(dense(held) - values) <= 0.51 * step).all()
    assert [each.name for each in tmp_path.iterdir()] == ["a b.safetensors"]


def test_a_card_without_candidates_has_the_usual_ones(path) -> None:
    assert read_card(path).siblings == FALLING


def test_a_file_is_written_whole_or_not_at_all(tmp_path, path, monkeypatch) -> None:
    before = path.read_bytes()
    with pytest.raises(BadFile, match=r"missing/x\.safetensors cannot be written: .*folder that exists"):
        write(tmp_path / "missing" / "x.safetensors")

    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_bytes", full)
    with pytest.raises(BadFile, match="No space left on device"):
        write(path, seed=1)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


# ----------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99, 0.9999])
def test_truncated(path, share) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(BadFile, match=r"head\.safetensors cannot be read"):
        whole(path)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 100, b"GGUF" + b"\1" * 60, b"\xff" * 64, "ein Text, kein Kopf ✂".encode()]
)
def test_something_else(path, data) -> None:
    path.write_bytes(data)
    with pytest.raises(BadFile, match="cannot be read as a draft head"):
        read_card(path)


def test_a_folder_or_a_device(tmp_path) -> None:
    for path, said in ((tmp_path, "a folder"), (Path("/dev/null"), "no regular file")):
        for read in (read_card, HeadFile):
            with pytest.raises(BadFile, match=f"it is {said}; `truedraw train draft` makes one, a file"):
                read(path)


def test_no_file(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "none.safetensors"):
        with pytest.raises(BadFile, match=r"cannot be read as a draft head: .*`truedraw train draft` makes one"):
            read_card(path)


@pytest.mark.parametrize(("metadata", "said"), [
    ({"format": "another"}, "is no draft head"), ({"format": None}, "is no draft head"),
    ({"version": "2"}, "has version 2 of the format, and this is 1"), ({"version": None}, "has version None"),
    ({"card": None}, r"a card that says nonsense \(KeyError"), ({"card": "{"}, "nonsense"),
    ({"card": "[]"}, "nonsense"),
    ({"card": "{}"}, "nonsense"), ({"card": "7"}, "nonsense"), ({"card": "[" * 50_000}, "nonsense"),
])  # fmt: skip
def test_another_text_beside_the_numbers(path, metadata, said) -> None:
    with pytest.raises(BadFile, match=said):
        HeadFile(changed(path, metadata))


def test_weights_of_something_else(path) -> None:
    path.write_bytes(save({"gain": np.ones(3, np.float32)}))
    with pytest.raises(BadFile, match="is no draft head"):
        HeadFile(path)


@pytest.mark.parametrize(("field", "value"), [
    ("kind", "medusa"), ("kind", "eagle"), ("kind", None), ("heads", 3),
    ("vocab_size", 0), ("vocab_size", "60"), ("width", -1), ("width", 32.0),
    ("width", True), ("tokens", VOCAB + 1), ("tokens", None), ("layers", ["a"]), ("layers", [-1]), ("layers", 3),
    ("layers", [1.5]), ("siblings", []), ("siblings", ["a"]), ("siblings", [1.5]), ("siblings", [-0.1]),
    ("siblings", [0.5, float("nan")]), ("siblings", None), ("siblings", [True]), ("colour", "red"),
])  # fmt: skip
def test_a_card_that_cannot_be_meant(path, field, value) -> None:
    facts = {**json.loads(read_card(path).to_metadata()["card"]), field: value}
    with pytest.raises(BadFile, match=r"head\.safetensors (says|has a card|is a head of the kind)"):
        read_card(changed(path, {"card": json.dumps(facts)}))


def test_a_card_without_one_of_its_facts(path) -> None:
    facts = json.loads(read_card(path).to_metadata()["card"])
    for name in set(facts) - {"training", "heads"}:
        lacking = {key: value for key, value in facts.items() if key != name}
        with pytest.raises(BadFile, match="nonsense"):
            Card.from_metadata({**card().to_metadata(), "card": json.dumps(lacking)}, path)


TOKENS = np.arange(0, 2 * KNOWN, 2, np.int32)


@pytest.mark.parametrize("tokens", [
    TOKENS[:-1], TOKENS[::-1], np.zeros(KNOWN, np.int32), TOKENS - 1, TOKENS + 30, TOKENS.reshape(-1, 2),
    TOKENS.astype(np.float32), TOKENS.astype(np.int64), np.zeros(0, np.int32), np.array(3, np.int32),
], ids=lambda each: f"{each.dtype}{each.shape}")  # fmt: skip
def test_tokens_that_are_no_rising_ids(path, tokens) -> None:
    with pytest.raises(BadFile, match=f"is damaged: its tokens are not {KNOWN} rising ids of its target"):
        HeadFile(changed(path, tokens=np.ascontiguousarray(tokens)))


@pytest.mark.parametrize("name", ["tokens", "gain", "up.codes", "up.scales", "input.codes", "output.scales"])
def test_something_is_missing(path, name) -> None:
    with pytest.raises(BadFile, match=rf"head\.safetensors lacks {name}; fetch or train it again"):
        whole(changed(path, **{name: None}))


BAD_SCALES = np.ones((WIDTH, 1), np.float32)
BAD_SCALES[3] = np.nan


@pytest.mark.parametrize("arrays", [
    {"gain": np.full(WIDTH, np.nan, np.float32)}, {"gain": np.full(WIDTH, np.inf, np.float32)},
    {"gain": np.ones(WIDTH + 1, np.float32)}, {"gain": np.ones((1, WIDTH), np.float32)},
    {"token.codes": np.zeros((WIDTH, WIDTH), np.float32)}, {"token.codes": np.zeros((WIDTH, WIDTH - 1), np.int8)},
    {"token.codes": np.zeros((WIDTH, WIDTH), np.uint8)}, {"token.codes": np.zeros(WIDTH, np.int8)},
    {"token.scales": np.ones((WIDTH, 3), np.float32)}, {"token.scales": np.ones(WIDTH, np.float32)},
    {"token.scales": BAD_SCALES}, {"token.scales": np.full((WIDTH, 1), np.inf, np.float32)},
], ids=str)  # fmt: skip
def test_numbers_of_another_shape_or_none(path, arrays) -> None:
    with pytest.raises(BadFile, match=r"head\.safetensors is damaged: (gain|token) "):
        whole(changed(path, **arrays))


def test_a_network_of_no_numbers(path) -> None:
    """Its shapes agree with one another, and nothing can be computed with it."""
    file = HeadFile(
        changed(path, **{"up.codes": np.zeros((0, 2 * WIDTH), np.int8), "up.scales": np.zeros((0, 1), np.float32)})
    )
    with pytest.raises(BadFile, match="is damaged: up is"):
        file.matrix("up", (0, 2 * WIDTH))
    assert HeadFile(changed(path, **{"up.codes": np.array(3, np.int8)})).rows("up") == 0


@pytest.mark.parametrize(("kind", "bytes_each"), [("BF16", 2), ("F8_E4M3", 1)])
def test_numbers_of_a_kind_that_heads_do_not_have(path, kind, bytes_each) -> None:
    held = {"dtype": kind, "shape": [KNOWN], "data_offsets": [0, KNOWN * bytes_each]}
    head = json.dumps({"__metadata__": card().to_metadata(), "tokens": held}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"\0" * KNOWN * bytes_each)
    with pytest.raises(BadFile, match=r"head\.safetensors (cannot be read|is damaged)"):
        HeadFile(path)


# ---------------------------------------------------------------------------------------------------------- shipped


def test_the_head_that_comes_with_a_model_is_found_by_what_it_fits(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "SHIPPED", tmp_path)
    module._card.cache_clear()
    config = SimpleNamespace(hidden_size=WIDTH, vocab_size=card().vocab_size, num_layers=1 + max(card().layers))
    assert shipped("abc", config) is None
    write(tmp_path / "one.safetensors", card(tokenizer="xyz"))
    two = write(tmp_path / "two.safetensors")
    assert shipped("abc", config) == two
    assert shipped("def", config) is None
    for name, value in (("hidden_size", WIDTH + 1), ("vocab_size", 1), ("num_layers", max(card().layers))):
        assert shipped("abc", SimpleNamespace(**{**vars(config), name: value})) is None


@pytest.mark.parametrize("figure", [float("nan"), float("inf")])
def test_a_card_with_a_figure_that_is_no_number_is_not_written(tmp_path, figure):
    said = card(training={"held_out": {"1": {"tokens_a_round": figure}}})
    with pytest.raises(BadFile, match="has a figure that is no finite number; train it anew"):
        said.to_metadata()


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-1e400"])
def test_nor_is_it_read(path, figure):
    """A long evaluation would have nothing to tell in the end."""
    text = card(training={"final_loss": 7.25}).to_metadata()["card"].replace("7.25", figure)
    with pytest.raises(BadFile, match=r"a card that says nonsense \(ValueError: Out of range"):
        read_card(changed(path, {"card": text}))
