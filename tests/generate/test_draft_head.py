"""A model loaded for a draft head: which head, what is refused, and one text a seed with and without it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from draft.head.random_heads import card, write
from generate.one_text import (
    CONFIG,
    LAWS,
    PAGE_BYTES,
    PAGES,
    PROMPTS,
    beside_a_head,
    check_one_text,
    in_a_batch,
    one_by_one,
    opened,
    tokens,
)
from models.tiny_models import write_openvino
from truedraw import Model, load
from truedraw.draft.head import file as head_file
from truedraw.draft.head.opening import Head
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.errors import BadFile, BadParameter
from truedraw.generate.draft_head import NO_HEAD, head_for
from truedraw.generate.making import takes_trees
from truedraw.generate.speculation import speculation
from truedraw.models import open_checkpoint
from truedraw.registry import names
from truedraw.text import Tokenizer
from truedraw.verify.block import BlockVerifier
from truedraw.verify.traversal import TraversalVerifier

LAYERS = (0, 1)
ALONE = {"method": "head", "adaptive": False}
SETTINGS = {"n": 2, "max_tokens": 40, "ignore_eos": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    """A model's folder, a cache, a head for it, and one for another tokenizer."""
    found = beside_a_head(tmp_path_factory.mktemp("heads"))
    other = card(target="other", tokenizer="other", vocab_size=CONFIG.vocab_size, width=CONFIG.hidden_size)
    found.other = write(found.root / "other.safetensors", other)
    return found


@pytest.fixture(scope="module")
def model(place) -> Model:
    with opened(place, draft=place.head) as loaded:
        yield loaded


# ------------------------------------------------------------------------------------------------------ one text a seed


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_with_the_head_and_without(model: Model, law: str) -> None:
    for prompt in PROMPTS[:2]:
        check_one_text(model, prompt, ALONE, seed=5, **SETTINGS, **LAWS[law])


def test_in_a_batch_of_five_too(model: Model) -> None:
    plain = one_by_one(model, **SETTINGS)
    for speculative in (ALONE, {"method": "head"}, None):
        results = in_a_batch(model, [speculative] * 5, **SETTINGS)
        assert [tokens(result) for result in results] == plain
        assert speculative is not ALONE or all(result.stats.drafted > 40 for result in results)


@pytest.mark.parametrize("seeded", [True, False])
def test_texts_that_are_put_off_or_given_up_change_no_other(place, monkeypatch, seeded: bool) -> None:
    put_off = []
    evict = PagedSequence.evict
    monkeypatch.setattr(PagedSequence, "evict", lambda text: (put_off.append(text), evict(text))[1])
    settings = {**SETTINGS, "n": 4, "max_tokens": 70, "speculative": ALONE}
    seeds = [{"seed": number} if seeded else {} for number in range(5)]
    few = {"draft": place.head, "numerics": "reference", "cache_bytes": PAGES * PAGE_BYTES}
    with opened(place, **few) as crowded, crowded.batch() as batch:
        runs = [batch.add(prompt, **seed, **settings) for prompt, seed in zip(PROMPTS, seeds, strict=True)]
        steps = 0
        while batch.step():
            steps += 1
            if steps == 12:
                runs[2].cancel()
    results = [run.result() for number, run in enumerate(runs) if number != 2]
    assert put_off
    assert [result.fallback for result in results] == [None] * 4
    assert all(result.stats.drafted > 100 for result in results)
    if seeded:
        with opened(place, draft=place.head, numerics="reference") as ample:
            plain = [ample.generate(prompt, **seed, **{**settings, "speculative": False})
                     for prompt, seed in zip(PROMPTS, seeds, strict=True)]  # fmt: skip
        del plain[2]
        assert [tokens(result) for result in results] == [tokens(result) for result in plain]


@pytest.mark.parametrize("rule", list(names("verifiers")))
def test_every_rule_takes_what_it_drafts(model: Model, rule: str) -> None:
    """Trees for those that take them, chains for the others."""
    result = model.generate(PROMPTS[0], speculative={**ALONE, "rejection_sample_method": rule}, **SETTINGS)
    assert result.fallback is None
    assert result.stats.drafted > 40


@pytest.mark.parametrize("settings", [
    {"draft_siblings": 6}, {"draft_sample_method": "greedy"}, {"draft_temperature": 0.7}, {"head_depth": 1},
    {"draft_temperature": "target"}, {"draft_entropy_k": 1.0}, {"num_speculative_tokens": 15},
], ids=str)  # fmt: skip
def test_its_settings(model: Model, settings) -> None:
    result = model.generate(PROMPTS[0], speculative={**ALONE, **settings}, **SETTINGS)
    assert result.fallback is None
    assert result.stats.drafted > 10


def test_auto_asks_it_too_where_it_is_told_to_and_runs_learn_from_one_another(place) -> None:
    with opened(place, draft=place.head) as model:
        beside = speculation({"auto_sources": ["suffix", "head"]})
        assert set(beside.drafter(beside.verifier(None), model.drafts).sources) == {"suffix", "head"}
        plain, fast = (model.generate(PROMPTS[0], speculative=spec, seed=2, **SETTINGS) for spec in (False, beside))
        assert tokens(plain) == tokens(fast)
        model.generate(PROMPTS[0], speculative=ALONE, **SETTINGS)
        known = model.drafts.siblings(("head", False), ())
        tried = known._counts._tried[0]
        assert tried > 10
        model.generate(PROMPTS[1], speculative=ALONE, **SETTINGS)
        assert known._counts._tried[0] > tried
        model.generate(PROMPTS[1], speculative=ALONE, seed=1, **SETTINGS)
        assert model.drafts.siblings(("head", True), ())._counts._tried[0] > 10


def test_hidden_states_do_not_keep_rows_from_being_met_again(place) -> None:
    with opened(place, draft=place.head) as model, model.batch() as batch:
        for seed in (1, 1):
            batch.add(PROMPTS[0], speculative=False, seed=seed, **SETTINGS)
            list(batch.completed())
        assert batch.logits_cache_use.hits > 0


def test_a_rule_of_somebody_else_gets_trees_only_where_it_says_so() -> None:
    class Theirs:
        exact, coupled = True, False

    class Wide(Theirs):
        trees = True

    assert [takes_trees(rule()) for rule in (Theirs, Wide, TraversalVerifier, BlockVerifier)] == [
        False,
        True,
        True,
        False,
    ]


# ------------------------------------------------------------------------------------------------------- which head


def test_a_model_is_loaded_for_the_head_it_is_given(place, model: Model) -> None:
    assert model.engine.hidden_layers == LAYERS
    assert isinstance(model.drafts.head(None), Head)
    assert model.drafts.head(None) is model.drafts.head(str(place.head))


@pytest.mark.parametrize("draft", [None, NO_HEAD])
def test_without_a_head_nothing_is_shown_and_the_method_says_so(place, draft, monkeypatch) -> None:
    monkeypatch.setattr(head_file, "SHIPPED", place.root / "nowhere")
    with opened(place, draft=draft) as plain:
        assert plain.engine.hidden_layers is None
        with pytest.raises(BadParameter, match=r"method: .*tiny was not loaded for a draft head"):
            plain.generate("a", speculative="head")
        with pytest.raises(BadParameter, match=r"head_path: .* was not loaded for them; give the file as draft"):
            plain.generate("a", speculative={"method": "head", "head_path": place.head})
        plain.generate("a", max_tokens=4)


@pytest.fixture
def shipped(place, monkeypatch) -> Path:
    """The head comes with truedraw."""
    folder = place.root / "shipped"
    folder.mkdir(exist_ok=True)
    write(folder / "tiny.safetensors", place.said)
    monkeypatch.setattr(head_file, "SHIPPED", folder)
    head_file._card.cache_clear()
    return folder / "tiny.safetensors"


def test_one_that_comes_with_truedraw_is_taken_unless_it_is_switched_off(place, shipped) -> None:
    with opened(place) as model:
        assert model.drafts.head_path == shipped
        assert model.generate("a", speculative=ALONE, max_tokens=8, ignore_eos=True).stats.drafted > 0
    with opened(place, draft=NO_HEAD) as model:
        assert model.drafts.head_path is model.engine.hidden_layers is None


def test_whoever_asks_for_other_layers_gets_those_and_no_head(place, shipped) -> None:
    with opened(place, hidden_layers=(1,)) as model:
        assert model.engine.hidden_layers == (1,)
        assert model.generate("a", max_tokens=4).fallback is None  # and auto is not in its way


@pytest.mark.usefixtures("shipped")
def test_engines_that_cannot_be_read_are_opened_without(place) -> None:
    """Hidden states alone are not enough: a head reads the rows of the embedding."""
    checkpoint = open_checkpoint(place.folder)
    tokenizer = Tokenizer.of(checkpoint)
    blind = type("Blind", (), {"load": staticmethod(lambda checkpoint, *, hidden_layers=(): None)})
    shows_nothing = type("Plain", (), {"load": staticmethod(lambda checkpoint: None), "embedding": None})
    for kind in (blind, shows_nothing):
        assert head_for(None, checkpoint, tokenizer, kind) is None
        assert head_for(NO_HEAD, checkpoint, tokenizer, kind) is None
        with pytest.raises(BadParameter, match=r"draft: .* gives no hidden states, which a draft head reads"):
            head_for(place.head, checkpoint, tokenizer, kind)


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("draft", [3, True, ["head"], b"head"], ids=str)
def test_nonsense_for_a_draft_is_refused(place, draft) -> None:
    with pytest.raises(BadParameter, match=r"draft: got .* give a file"):
        opened(place, draft=draft)


def test_no_file_a_damaged_one_and_a_folder(place) -> None:
    cut = place.root / "cut.safetensors"
    cut.write_bytes(place.head.read_bytes()[:200])
    for each in (place.root / "none", cut, place.root, str(cut)):
        with pytest.raises(BadFile, match="cannot be read as a draft head"):
            opened(place, draft=each)


def test_a_head_for_another_model_is_refused_where_it_is_to_draft(place) -> None:
    with pytest.raises(BadParameter, match=r"hidden_layers: \(1, 4\) are not all among 0 to 1"):
        opened(place, draft=place.other)
    fitting = write(place.root / "fitting.safetensors", card(target="other", tokenizer="other", layers=LAYERS))
    with opened(place, draft=fitting) as model, pytest.raises(BadParameter, match="drafts tokens of other"):
        model.generate("a", speculative="head")


def test_a_ready_made_graph_and_the_toy_take_none(place) -> None:
    folder = write_openvino(place.root / "ready", CONFIG)
    with pytest.raises(BadParameter, match=r"draft: .*ready gives no hidden states"):
        load(folder, draft=place.head)
    with pytest.raises(BadParameter, match=r"draft: .* the model 'tabular' is a table"):
        load("tabular", draft=place.head)
    load("tabular", draft=NO_HEAD).close()


@pytest.mark.parametrize("path", [3, ["x"]], ids=str)
def test_nonsense_for_the_methods_own_path(model: Model, path) -> None:
    with pytest.raises(BadParameter, match="head_path: got"):
        model.generate("a", speculative={"method": "head", "head_path": path})
