"""Features kept while texts are written: those that a pass over the whole text would find."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from distill.conftest import SETTINGS
from models.tiny_models import random_tensors, tiny_config, write_gguf
from truedraw.distill import own_texts as source
from truedraw.distill import preparing
from truedraw.distill.computing import features_of
from truedraw.distill.gathering import gather
from truedraw.distill.own_texts import Plan, own_texts
from truedraw.distill.plan import Plan as Training
from truedraw.distill.plan import TextPlan
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape, Store
from truedraw.distill.tables import Tables
from truedraw.distill.texts import NAME, WATCH, Text, read_texts
from truedraw.distill.watching import Keeping, Watch
from truedraw.generate.loading import load

LAYERS = (0, 1)
PLAN = Plan(answer_tokens=12, asked=tuple(f"prompt {number}" for number in range(6)))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    config = tiny_config()
    path = write_gguf(folder / "tiny.gguf", config, random_tensors(config))
    with load(path, cache=folder / "cache", hidden_layers=LAYERS, draft="none") as loaded:
        yield loaded


@pytest.fixture
def shape(model):
    return Shape(len(LAYERS) + 1, model.engine.hidden_size)


def gathered(model, folder, keeping, tokens):
    plan = TextPlan(tokens=tokens, prompts=PLAN.asked, answer_tokens=PLAN.answer_tokens)
    return gather(model, plan, folder, SETTINGS, (None, lambda *_: None), keeping=keeping)


def test_what_was_seen_is_what_a_pass_over_the_text_finds(model):
    records = list(islice(own_texts(model, PLAN, watched=Watch), 5))
    for record in records:
        text = Text(record["prompt"], record["answer"], record["temperature"])
        seen, rows = record[WATCH].features(text)
        features, wanted, _ = features_of(model.engine, text)
        np.testing.assert_allclose(seen, features, rtol=2e-3, atol=2e-2)
        assert (rows["token"] == wanted["token"]).all()
        assert (rows["top"] == wanted["top"]).mean() > 0.9  # of a random model, whose best two may nearly tie
        np.testing.assert_allclose(rows["normaliser"], wanted["normaliser"], rtol=1e-3)


def test_texts_are_the_same_whether_they_are_watched_or_not(model):
    plain, watched = (
        sorted(islice(own_texts(model, PLAN, watched=how), 6), key=lambda each: each["key"]) for how in (None, Watch)
    )
    assert [each["answer"] for each in plain] == [each["answer"] for each in watched]
    assert all(each[WATCH] is None for each in plain)


def test_the_store_has_every_text_in_order(model, shape, tmp_path):
    with Store(tmp_path, shape, SETTINGS) as store:
        found = gathered(model, tmp_path, Keeping(store, 1 << 30), 40)
        assert (store.texts, store.rows) == (found.texts, found.tokens)
    texts, data = list(read_texts(tmp_path)), Rows(tmp_path, shape)
    assert data.tokens.tolist() == [token for text in texts for token in (text.prompt[-1], *text.answer[:-1])]
    assert WATCH not in (tmp_path / NAME).read_text(encoding="utf-8")


def test_a_store_that_lacks_a_text_is_left_alone(model, shape, tmp_path):
    gathered(model, tmp_path, None, 12)
    with Store(tmp_path, shape, SETTINGS) as store:
        gathered(model, tmp_path, Keeping(store, 1 << 30), 40)
        assert store.texts == 0


def test_no_more_is_kept_than_there_is_room_for(model, shape, tmp_path):
    with Store(tmp_path, shape, SETTINGS) as store:
        gathered(model, tmp_path, Keeping(store, 20 * shape.row_bytes), 60)
        assert 0 < store.rows <= 20


def test_an_answer_that_is_watched_draws_without_drafts(model):
    (request,) = source._requests(model, PLAN, 0, [(0, "prompt")])
    assert request.speculative is False


def test_a_prompt_that_no_context_holds_is_left_out(model):
    """Be it too long by a few tokens, or so long that it is refused before it is cut into tokens."""
    context = model.engine.context_length
    asked = ("prompt", "12 " * context, "12 wolves " * 1000 * context, "another prompt")
    assert [each["key"] for each in islice(own_texts(model, replace(PLAN, asked=asked)), 2)] == [[0, 0], [0, 3]]


def test_given_prompts_are_held_out_with_all_their_answers(model, shape, tmp_path):
    with Store(tmp_path, shape, SETTINGS) as store:
        gathered(model, tmp_path, Keeping(store, 1 << 30), 200)
    plan = Training(tmp_path / "own", tmp_path, TextPlan(prompts=PLAN.asked))
    data = preparing._rows(tmp_path, model, plan, Tables(model.engine.embedding().values, None))
    sides = {}
    for number, text in enumerate(read_texts(tmp_path)):
        sides.setdefault(tuple(text.prompt), []).extend(data.held[data.texts == number].tolist())
    assert data.num_texts > len(sides)
    assert sorted(map(set, sides.values()), key=max) == [{False}] * (len(sides) - 1) + [{True}]
