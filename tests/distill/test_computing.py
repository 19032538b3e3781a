"""Features from an engine, for a tiny model."""

import numpy as np
import pytest

from distill.conftest import SETTINGS
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw.distill import computing
from truedraw.distill.clock import Clock
from truedraw.distill.computing import check_readout, compute, features_of
from truedraw.distill.rows import Rows
from truedraw.distill.store import TEMPERATURES, Shape, Store
from truedraw.distill.tables import Tables, check_output, tables_of
from truedraw.distill.texts import Text
from truedraw.errors import BadParameter, UnsupportedModel
from truedraw.generate.loading import load
from truedraw.protocol import Proposal, Work

LAYERS = (0, 1)
TEXTS = [Text([1, 40, 50], [60 + i, 70, 80, 90, 100, 110], 1.0) for i in range(4)]


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    config = tiny_config(tie_embeddings=request.param)
    path = write_gguf(folder / "tiny.gguf", config, random_tensors(config))
    with load(path, cache=folder / "cache", hidden_layers=LAYERS, draft="none") as loaded:
        yield loaded


def run(model, folder, most_bytes=1 << 30, seconds=None, wanted=1 << 30):
    shape = Shape(len(LAYERS) + 1, model.engine.hidden_size)
    with Store(folder, shape, SETTINGS) as store:
        clock = Clock(store.seconds, seconds)
        wanted = min(wanted, sum(len(text.answer) for text in TEXTS))
        found = compute(model.engine, TEXTS, store, (most_bytes, clock, lambda *_: None, wanted))
    return found, Rows(folder, shape)


def test_rows_are_those_behind_which_the_answer_was_drawn(model):
    text = TEXTS[0]
    features, rows, _ = features_of(model.engine, text)
    sequence = model.engine.open(text.prompt, alone=True)
    scores = model.engine.forward([Work(sequence, Proposal.chain(text.answer))])[0]
    np.testing.assert_array_equal(features, scores.hidden[:-1])
    assert rows["token"].tolist() == [50, *text.answer[:-1]]
    np.testing.assert_array_equal(rows["top"], scores.logits[:-1].argmax(1))
    for place, temperature in enumerate(TEMPERATURES):
        wanted = np.log(np.exp(scores.logits[:-1].astype(float) / temperature).sum(1))
        np.testing.assert_allclose(rows["normaliser"][:, place], wanted, rtol=1e-5)
    sequence.close()


def test_passes_may_be_of_any_size(model, monkeypatch):
    whole = features_of(model.engine, TEXTS[0])
    monkeypatch.setattr(computing, "PASS_ROWS", 2)
    parts = features_of(model.engine, TEXTS[0])
    np.testing.assert_allclose(parts[0], whole[0], atol=1e-3)
    np.testing.assert_array_equal(parts[1]["token"], whole[1]["token"])


def test_what_is_there_is_not_computed_again(model, tmp_path, monkeypatch):
    _, first = run(model, tmp_path, wanted=12)
    assert first.num_texts == 2
    asked = []
    real = computing.features_of
    monkeypatch.setattr(computing, "features_of", lambda engine, text: asked.append(text) or real(engine, text))
    found, data = run(model, tmp_path)
    assert asked == TEXTS[2:]
    assert (found.texts, found.rows, found.all_texts) == (4, 24, True)
    assert data.tokens.tolist() == [token for text in TEXTS for token in (50, *text.answer[:-1])]


def test_bytes_and_time_end_it_between_two_texts(model, tmp_path):
    row_bytes = Shape(len(LAYERS) + 1, model.engine.hidden_size).row_bytes
    found, _ = run(model, tmp_path, most_bytes=17 * row_bytes)
    assert (found.texts, found.all_texts, found.needed_bytes) == (2, False, 24 * row_bytes)
    found, _ = run(model, tmp_path, seconds=0.0)
    assert (found.texts, found.all_texts, found.needed_bytes) == (2, False, None)


def test_a_disk_without_room_is_refused_before_the_work(model, tmp_path, monkeypatch):
    monkeypatch.setattr("truedraw.distill.store.KEEP_FREE_BYTES", 1 << 60)
    with pytest.raises(BadParameter, match="--feature-bytes: features would take 1 MB more"):
        run(model, tmp_path)


def test_logits_are_the_last_state_times_the_output_rows(model):
    tables = tables_of(model.engine, model.name)
    features, _, logits = features_of(model.engine, TEXTS[0])
    np.testing.assert_allclose(features[:, -1] @ tables.output.T, logits, atol=0.05 * logits.std())
    check_output(tables, logits, features[:, -1])
    check_readout(model.engine, tables)
    with pytest.raises(UnsupportedModel, match="no head can be trained"):
        check_output(Tables(tables.embedding, tables.output[::-1]), logits, features[:, -1])


def test_an_engine_without_hidden_states_is_refused():
    with load("tabular") as toy, pytest.raises(BadParameter, match="--engine: a draft reads hidden states"):
        tables_of(toy.engine, toy.name)
