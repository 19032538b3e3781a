"""The amateur of a contrast as its own drafter."""

from __future__ import annotations

from functools import partial

import pytest

from engine.drafted.witness import Witness
from truedraw import Model, load
from truedraw.errors import BadParameter
from truedraw.generate.contrast import contrast
from truedraw.generate.keys import naming
from truedraw.generate.lent import Lent, is_same
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.text import Tokenizer

DRAFTS = {"method": "model", "num_speculative_tokens": 3, "adaptive": False}
OFTEN = {"ignore_eos": True, "max_tokens": 40}


@pytest.fixture
def model():
    with load("tabular", amateur="tabular", contrastive_beta=0.3) as loaded:
        yield loaded


def toy(name: str, **options) -> Model:
    """The toy over an engine that counts."""
    text = toy_text()
    return Model(name, Witness(TOY_TABLE, **options), Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))


@pytest.fixture
def counted():
    with contrast(toy("expert"), toy("amateur"), beta=0.3) as loaded:
        yield loaded


def test_an_amateur_without_rows_for_all_tokens_is_refused() -> None:
    """Tokens that no row is there for would be taken out of the law; rows that no token uses may be missing."""
    expert, amateur = toy("expert"), toy("amateur")
    amateur.engine.vocab_size -= 1
    with pytest.raises(BadParameter, match="amateur has no rows for the last 1 tokens of expert"):
        contrast(expert, amateur)
    expert, amateur = toy("expert"), toy("amateur")
    expert.engine.vocab_size += 5
    contrast(expert, amateur).close()


def amateur_of(model: Model) -> Witness:
    return model.engine.amateur.engine


def test_the_amateur_that_drafts_is_opened_once(model) -> None:
    assert model.drafts.engine("tabular") is model.engine.drafting
    assert model.drafts.any("tabular").engine is model.engine.drafting


@pytest.mark.parametrize("named", [{}, {"model": "tabular"}])
@pytest.mark.parametrize("settings", [{"seed": 3}, {"seed": 3, "temperature": 0.7, "n": 3}])
def test_the_text_is_the_one_without_drafts(model, settings, named) -> None:
    fast = model.generate("the cat", speculative={**DRAFTS, **named}, **OFTEN, **settings)
    plain = model.generate("the cat", speculative=False, **OFTEN, **settings)
    assert fast.fallback is None
    assert fast.stats.accepted > 10
    assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]


def test_no_row_is_computed_twice(counted) -> None:
    found = counted.generate("the cat", speculative=DRAFTS, seed=3, **OFTEN)
    amateur = amateur_of(counted)
    assert found.stats.drafted > 20
    assert amateur.repeated == {}
    assert len(amateur.rows) == found.stats.drafted + found.stats.rounds
    assert amateur.open_texts == []


@pytest.mark.parametrize("slots", [60, 90, 150])
def test_many_texts_in_little_room_are_the_texts_they_are_alone(slots: int) -> None:
    prompts = ["the cat", "the cat", "the dog sat", "the cat ran", "dog"]
    with contrast(toy("expert"), toy("amateur"), beta=0.3) as free:
        alone = [free.generate(each, speculative=False, seed=i, **OFTEN).choices[0].tokens
                 for i, each in enumerate(prompts)]  # fmt: skip
    with contrast(toy("expert"), toy("amateur", slots=slots), beta=0.3) as model:
        with model.batch() as batch:
            runs = [batch.add(each, speculative=DRAFTS, seed=i, **OFTEN) for i, each in enumerate(prompts)]
            ended = list(batch.completed())
        assert len(ended) == len(prompts)
        assert [run.result().choices[0].tokens for run in runs] == alone
        assert sum(run.result().stats.drafted for run in runs) > 0
        assert amateur_of(model).open_texts == []


TUNED = {"method": "model", "draft_temperature": 0.5}
UNNAMED = ["model", {"method": "model"}, "tli", {"method": "string-match"}, {"method": "staged"},
           {"auto_sources": ["model", "ngram"]}, {"method": "auto", "auto_sources": [TUNED]}]  # fmt: skip
COMPOSED = [{"method": "mix", "sources": ["ngram", "model"]}, {"method": "staged", "stage": "string-match"},
            {"method": "staged", "stage": {"method": "tli"}},
            {"adaptive": False, "auto_sources": [{"method": "mix", "sources": [{"method": "model"}, "ngram"]}]},
            ]  # fmt: skip


@pytest.mark.parametrize("given", COMPOSED, ids=str)
def test_and_also_within_another_drafter(counted, given) -> None:
    alone = counted.generate("the cat", speculative=False, seed=1, **OFTEN).choices[0].tokens
    found = counted.generate("the cat", speculative=given, seed=1, **OFTEN)
    assert found.fallback is None
    assert found.stats.drafted > 0
    assert found.choices[0].tokens == alone
    assert counted.drafts._open == {}


@pytest.mark.parametrize("given", UNNAMED, ids=str)
def test_the_amateur_drafts_where_no_model_is_named(counted, given) -> None:
    config = counted.speculation(given)
    named = [config.model, *(part.model for part in config.parts().values())]
    assert "amateur" in named
    assert counted.generate("the cat", speculative=given, seed=1, **OFTEN).fallback is None
    assert counted.drafts._open == {}


def test_what_a_plug_in_calls_sources_is_its_own() -> None:
    given = {"method": "somebodys", "sources": ["model"], "stage": "tli"}
    assert naming(given, "small") == given


@pytest.mark.parametrize("given", [None, False, "ngram", {"method": "ngram"}, {"method": "model", "model": "other"}])
def test_nobody_else_drafts_with_it(counted, given) -> None:
    assert counted.speculation(given).model == (
        given["model"] if isinstance(given, dict) and "model" in given else None
    )


def test_without_an_amateur_a_model_has_to_be_named() -> None:
    with load("tabular") as model, pytest.raises(BadParameter, match="name one in model"):
        model.generate("the cat", speculative="model")


def test_a_file_has_many_names(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, other = tmp_path / "model.gguf", tmp_path / "other.gguf"
    file.write_bytes(b"x")
    other.write_bytes(b"x")
    (tmp_path / "link.gguf").symlink_to(file)
    monkeypatch.chdir(tmp_path)
    for name in ("model.gguf", "./model.gguf", "link.gguf", str(file)):
        assert is_same(str(file), name)
    assert is_same("smollm2-135m", "smollm2-135m")
    for name in ("other.gguf", "smollm2-135m", "missing.gguf"):
        assert not is_same(str(file), name)


def test_a_lent_model_is_found_by_any_name_of_its_file_wherever_the_process_is(tmp_path, monkeypatch) -> None:
    lent, (first, second) = Lent(), (object(), object())
    assert lent.default is None
    (tmp_path / "model.gguf").write_bytes(b"x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.gguf").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    lent.add("./model.gguf", first)
    lent.add("another", second)
    monkeypatch.chdir(tmp_path / "other")
    assert lent.default == "./model.gguf"
    assert [lent.find(name) for name in ("./model.gguf", "../model.gguf", "another")] == [first, first, second]
    assert [lent.find(name) for name in ("model.gguf", "missing")] == [None, None]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"method": "model", "model": None}, {"method": "model", "model": "small"}),
        ({"method": "mix", "sources": ("ngram", "model")},
         {"method": "mix", "sources": ["ngram", {"method": "model", "model": "small"}]}),
        ({"method": "staged", "stage": "ngram"}, {"method": "staged", "stage": "ngram", "model": "small"}),
        ({"method": "tli", "model": "mine"}, {"method": "tli", "model": "mine"}),
    ],
    ids=str,
)  # fmt: skip
def test_a_model_is_named_where_none_is(given, found) -> None:
    assert naming(given, "small") == found
    assert naming(given, None) == given


def test_who_lends_a_model_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    with load("tabular", amateur="tabular") as model:
        both = [model.engine.expert, model.engine.amateur.engine]
        for each in both:
            monkeypatch.setattr(each, "close", partial(closed.append, each))
        assert model.drafts.engine("tabular") is model.engine.drafting
        model.drafts.close()
        assert closed == []
    assert closed == both


@pytest.mark.parametrize("method", ["tli", "string-match"])
def test_a_text_that_fits_alone_fits_beside_what_the_amateur_spells_otherwise(method: str) -> None:
    """Its own tokenizer would write the prompt in one token less, so the drafter holds another text."""
    asked = {"prompt": [0, 0, 1], "seed": 4, "max_tokens": 24, "ignore_eos": True}
    texts = []
    for speculative in (False, method):
        with contrast(toy("expert"), toy("amateur", slots=28), beta=0.3) as loaded:
            texts.append(loaded.generate(**asked, speculative=speculative).text)
    assert texts[0] == texts[1]
