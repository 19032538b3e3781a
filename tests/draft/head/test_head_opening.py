"""Which targets a head is opened for, and what is said to the others."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from draft.head.random_heads import LAYERS, VOCAB, WIDTH, card, write
from engine.decoder import PLAIN, RandomWeights, tiny_engine
from truedraw.draft.head.file import HeadFile
from truedraw.draft.head.kinds.recurrent import RecurrentCell
from truedraw.draft.head.opening import Readable, check, open_head
from truedraw.engine.constants.rounding import quantise
from truedraw.engine.native.laying import blocks_of
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadFile, BadParameter
from truedraw.generate.draft_model import DraftModels


class Shows:
    """An engine that can be read."""

    hidden_layers, hidden_size, vocab_size = LAYERS, WIDTH, VOCAB

    def __init__(self, **changes) -> None:
        vars(self).update(changes)

    def embedding(self):
        return quantise(np.random.default_rng(3).normal(size=(VOCAB, WIDTH)).astype(np.float32))


def models(target=None, fingerprint="abc") -> DraftModels:
    tokenizer = SimpleNamespace(fingerprint=fingerprint)
    return DraftModels("another model", tokenizer, VOCAB, target=target or Shows())


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "head.safetensors", card(siblings=(0.5, 0.4)))


def test_a_head_for_its_target(path) -> None:
    head = open_head(path, models())
    assert head.siblings == (0.5, 0.4)
    assert np.array_equal(head.cell.tokens, HeadFile(path).tokens)
    assert isinstance(head.cell, RecurrentCell)


def test_a_tied_target_lends_what_it_writes_with(tmp_path) -> None:
    """And an untied one keeps it: a head writes with the embedding."""
    engine = tiny_engine(tmp_path, numerics="native")
    held = engine.embedding()
    assert engine.embedding_blocks is not None
    for one, other in zip(engine.embedding_blocks, blocks_of(held), strict=True):
        np.testing.assert_array_equal(one, other)
    engine.close()
    for config, numerics in ((replace(PLAIN, tie_embeddings=False), "native"), (PLAIN, "reference")):
        other = tiny_engine(tmp_path / numerics, config, RandomWeights(config), numerics=numerics)
        assert other.embedding_blocks is None
        other.close()


def test_what_an_engine_keeps_is_kept_with_what_is_made_of_its_heads(tmp_path, path) -> None:
    """And an engine without a folder opens them all the same."""
    engine = tiny_engine(tmp_path / "engine", numerics="native")
    assert engine.kept_in is not None
    before = {entry.name for entry in engine.kept_in.iterdir()}
    engine.close()
    open_head(path, models(Shows(kept_in=engine.kept_in)))
    [fresh] = {entry.name for entry in engine.kept_in.iterdir()} - before
    assert (engine.kept_in / fresh / "constants.bin").stat().st_size > 0
    open_head(path, models(Shows(kept_in=None)))


def test_a_head_is_opened_once(path) -> None:
    drafts = models()
    with pytest.raises(BadParameter, match=r"method: another model was not loaded for a draft head; .* train draft"):
        drafts.head(None)
    drafts.head_path = path
    assert drafts.head(None) is drafts.head(path) is drafts.head(str(path))


@pytest.mark.parametrize(("drafts", "said"), [
    (models(fingerprint="xyz"), "head_path: .* drafts tokens of a model, and those of another model are others"),
    (models(Shows(hidden_size=WIDTH + 1)), r"reads hidden states of 32 numbers over 60 tokens .* has 33 and 60"),
    (models(Shows(vocab_size=VOCAB + 1)), r"reads hidden states of 32 numbers over 60 tokens .* has 32 and 61"),
    (models(Shows(hidden_layers=(1, 5))), r"reads the layers \(1, 4\), .* not loaded for them; give the file as draft"),
    (models(Shows(hidden_layers=None)), r"reads the layers \(1, 4\), .* not loaded for them; give the file as draft"),
    (models(TabularEngine({(): [0.5, 0.5]})), "method: such a draft reads hidden states, and the engine of another"),
], ids=["tokenizer", "width", "vocabulary", "layers", "no hidden states", "a table"])  # fmt: skip
def test_a_head_for_another_target(path, drafts, said) -> None:
    with pytest.raises(BadParameter, match=said):
        drafts.head(path)
    with pytest.raises(BadParameter, match=said):  # and it is not taken for open
        drafts.head(path)


@pytest.mark.parametrize("given", [3, b"head", ["head"], True, ""])
def test_nonsense_for_a_path(given) -> None:
    with pytest.raises(BadParameter, match=r"head_path: got .* give a file"):
        models().head(given)


def test_no_file_or_a_damaged_one(tmp_path, path) -> None:
    path.write_bytes(path.read_bytes()[:-10])
    for each in (path, tmp_path / "none"):
        with pytest.raises(BadFile, match="cannot be read"):
            models().head(each)


@pytest.mark.parametrize("layers", [(), (0, 1)])
def test_an_engine_says_what_it_shows(tmp_path, layers) -> None:
    engine = tiny_engine(tmp_path, hidden_layers=layers)
    assert isinstance(engine, Readable)
    assert engine.hidden_layers == (layers or None)
    assert engine.embedding().width == engine.hidden_size == PLAIN.hidden_size
    fitting = card(width=PLAIN.hidden_size, vocab_size=PLAIN.vocab_size, layers=(0, 1))
    if layers:
        check(fitting, "head", models(engine))
    else:
        with pytest.raises(BadParameter, match="was not loaded for them"):
            check(fitting, "head", models(engine))
    engine.close()
