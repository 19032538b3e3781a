"""A model loaded for an EAGLE draft: what it reads of prompts, what is refused, and one text a seed whoever drafts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from draft.eagle.random_eagles import PlainEagle, Shape, write
from draft.head.random_heads import card
from draft.head.random_heads import write as write_head
from engine.decoder import softmax
from generate.one_text import (
    CONFIG,
    LAWS,
    PAGE_BYTES,
    PAGES,
    PROMPTS,
    check_one_text,
    in_a_batch,
    likely,
    one_by_one,
    opened,
    tokens,
)
from models.tiny_models import write_folder, write_openvino
from truedraw import Model, load
from truedraw.draft.eagle.network import CompiledNetwork
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.errors import BadFile, BadParameter
from truedraw.protocol import NOTHING, Work
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

ALONE = {"method": "eagle", "adaptive": False}
SETTINGS = {"n": 3, "max_tokens": 40, "ignore_eos": True}
BASE = Shape("EAGLE", vocab=CONFIG.vocab_size, target=CONFIG.hidden_size, width=CONFIG.hidden_size, inner=96,
             head_dim=16, layer_ids=None)  # fmt: skip
SHAPES = {
    "EAGLE": BASE,
    "EAGLE-3": replace(BASE, format="EAGLE-3", layer_ids=(1, 2), known=150, width=48),
    "eagle": replace(BASE, format="eagle", own_embedding=False),
    "eagle3": replace(BASE, format="eagle3", layer_ids=(1, 2), known=200),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    root = tmp_path_factory.mktemp("eagles")
    drafts = {name: write(root / name, shape, seed=4) for name, shape in SHAPES.items()}
    return SimpleNamespace(
        root=root, folder=write_folder(root / "tiny", CONFIG, likely()), cache=root / "cache", drafts=drafts
    )


@pytest.fixture(scope="module", params=SHAPES)
def model(request, place):
    with opened(place, draft=place.drafts[request.param]) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def third(place):
    with opened(place, draft=place.drafts["eagle3"]) as loaded:
        yield loaded


# ------------------------------------------------------------------------------------------------------ one text a seed


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_one_text_with_it_and_without(model: Model, law: str) -> None:
    check_one_text(model, PROMPTS[2], ALONE, seed=5, **SETTINGS, **LAWS[law])


def test_in_a_batch_of_five_too(third: Model) -> None:
    plain = one_by_one(third, **SETTINGS)
    for speculative in (ALONE, {"method": "eagle"}, None):
        results = in_a_batch(third, [speculative] * 5, **SETTINGS)
        assert [tokens(result) for result in results] == plain
        assert speculative is not ALONE or all(result.stats.drafted > 40 for result in results)


def test_texts_that_are_put_off_change_no_other(place, monkeypatch) -> None:
    put_off = []
    evict = PagedSequence.evict
    monkeypatch.setattr(PagedSequence, "evict", lambda text: (put_off.append(text), evict(text))[1])
    settings = {**SETTINGS, "n": 4, "max_tokens": 70}
    options = {"draft": place.drafts["eagle3"], "numerics": "reference", "prefix_cache_bytes": 0}
    with opened(place, cache_bytes=PAGES * PAGE_BYTES, **options) as small, small.batch() as batch:
        runs = [batch.add(prompt, seed=seed, speculative=ALONE, **settings) for seed, prompt in enumerate(PROMPTS)]
        while batch.step():
            pass
        results = [run.result() for run in runs]
        plain = [
            small.generate(prompt, seed=seed, speculative=False, **settings) for seed, prompt in enumerate(PROMPTS)
        ]
    assert put_off
    assert [tokens(result) for result in results] == [tokens(result) for result in plain]
    assert all(result.fallback is None and result.stats.drafted > 100 for result in results)


@pytest.mark.parametrize("rule", ["traversal", "recursive", "block", "token"])
def test_without_a_seed_nothing_it_says_is_illegal(third: Model, rule: str) -> None:
    result = third.generate(PROMPTS[0], speculative={**ALONE, "rejection_sample_method": rule}, **SETTINGS)
    assert result.fallback is None
    assert result.stats.drafted > 40


# ------------------------------------------------------------------------------------------------- what it has read


def embedding(model: Model) -> np.ndarray:
    matrix = model.engine.embedding()
    return matrix.values.astype(np.float64) * (1 if matrix.scales is None else matrix.scales)


@pytest.mark.parametrize("name", SHAPES)
def test_it_reads_all_of_a_prompt(place, name, monkeypatch) -> None:
    """Its first draft has the law of the formulas over the target's hidden states of the whole text."""
    make = CompiledNetwork.__init__
    monkeypatch.setattr(CompiledNetwork, "__init__", lambda self, *given: make(self, *given, arithmetic="reference"))
    options = {"draft": place.drafts[name], "numerics": "reference", "prefix_cache_bytes": 0}
    with opened(place, **options) as model:
        drafter = speculation_drafter(model)
        prompt = model.tokenizer.encode("once upon a time in a land far away", add_special=False)
        law = SamplingLaw(sampling_params({}), Opening(tuple(prompt), CONFIG.vocab_size))
        state, sequence = drafter.open(prompt, law), model.engine.open(prompt)
        (scores,) = model.engine.forward([Work(sequence)])
        states = np.concatenate([*(rows.hidden for rows in scores.text), scores.hidden])
        state.commit([7], replace(scores, proposal=NOTHING))
        (proposal,) = drafter.propose([state], [1], [PhiloxRandomness(1)])
        shape, rows = SHAPES[name], embedding(model)
        read = states[:, :2] if shape.third else states[:, -1:]
        plain = PlainEagle(place.drafts[name], shape, rows, rows)
        expected = softmax(plain.logits(read, [*prompt[1:], 7]))
        assert len(states) == len(prompt)
        assert np.abs(proposal.laws[0].dense() - expected).sum() / 2 < 1e-3


def speculation_drafter(model: Model):
    from truedraw.draft.eagle.drafter import EagleDrafter

    return EagleDrafter(CONFIG.vocab_size, models=model.drafts)


def test_samples_of_a_prompt_know_all_of_it(third: Model, monkeypatch) -> None:
    counts = []
    drafted = type(speculation_drafter(third)).propose

    def propose(self, states, budgets, randomness):
        found = drafted(self, states, budgets, randomness)
        counts.extend((state.memory.count, len(state.tokens)) for state in states if state.memory.count)
        return found

    monkeypatch.setattr(type(speculation_drafter(third)), "propose", propose)
    third.generate("a prompt that nobody gave before", speculative=ALONE, **SETTINGS)
    assert counts
    assert all(count == length - 1 for count, length in counts)


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(("changes", "said"), [
    ({"target": 32, "width": 32}, "reads hidden states of 32 numbers over 266 tokens; .*tiny has 64 and 266"),
    ({"vocab": 300}, "reads hidden states of 64 numbers over 300 tokens; .*tiny has 64 and 266"),
])  # fmt: skip
def test_a_draft_for_another_target(place, changes, said) -> None:
    folder = write(place.root / "other", replace(SHAPES["EAGLE"], **changes))
    with opened(place, draft=folder) as model, pytest.raises(BadParameter, match=f"eagle_path: .*{said}"):
        model.generate("a", speculative="eagle")


def test_a_draft_that_reads_more_layers_than_there_are(place) -> None:
    folder = write(place.root / "deep", replace(SHAPES["eagle3"], layer_ids=(2, 16, 29)))
    with pytest.raises(BadParameter, match=r"draft: .*the layers \[2, 16, 29\], and a target of 2 layers cannot"):
        opened(place, draft=folder)


def test_a_draft_that_the_model_was_not_loaded_for(place, third) -> None:
    with opened(place, draft="none") as plain:
        with pytest.raises(BadParameter, match=r"was not loaded for an EAGLE draft; name its folder in draft"):
            plain.generate("a", speculative="eagle")
        for name in ("EAGLE", "eagle3"):
            with pytest.raises(BadParameter, match="was not loaded for them; give the folder as draft"):
                plain.generate("a", speculative={"method": "eagle", "eagle_path": str(place.drafts[name])})
    other = third.generate(
        "a", speculative={**ALONE, "eagle_path": place.drafts["eagle"]}, max_tokens=9, ignore_eos=True
    )
    assert other.stats.drafted > 0  # it reads what the engine shows anyway


def test_heads_and_eagles_are_told_apart(place, third) -> None:
    with pytest.raises(BadParameter, match=r'the method "eagle" draws from \(--spec-method eagle\)'):
        third.generate("a", speculative="head")
    said = card(target="tiny", tokenizer=third.tokenizer.fingerprint, vocab_size=CONFIG.vocab_size,
                width=CONFIG.hidden_size, layers=(0,), tokens=50)  # fmt: skip
    head = write_head(place.root / "head.safetensors", said)
    with opened(place, draft=head) as model:
        with pytest.raises(BadParameter, match="was not loaded for an EAGLE draft"):
            model.generate("a", speculative="eagle")
        with pytest.raises(BadParameter, match=r"eagle_path: .*head\.safetensors is a file; .* takes it as head_path"):
            model.generate("a", speculative={"method": "eagle", "eagle_path": head})


@pytest.mark.parametrize("name", SHAPES)
def test_a_folder_for_a_head_is_called_what_it_is(place, third, name) -> None:
    with pytest.raises(BadParameter, match="holds an EAGLE draft"):
        third.generate("a", speculative={"method": "head", "head_path": str(place.drafts[name])})
    with pytest.raises(BadParameter, match=r"head_path: .*tiny is a folder that holds no draft; give a file"):
        third.generate("a", speculative={"method": "head", "head_path": str(place.folder)})


def test_a_damaged_draft_is_refused_when_the_model_is_loaded(place) -> None:
    folder = write(place.root / "cut", SHAPES["eagle3"])
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadFile, match="is truncated or broken"):
        opened(place, draft=folder)
    path.rename(folder / "pytorch_model.bin")
    with pytest.raises(BadFile, match=r"pytorch_model\.bin is damaged, or no file"):
        opened(place, draft=folder)


def test_a_ready_made_graph_shows_nothing(place) -> None:
    folder = write_openvino(place.root / "ready", CONFIG)
    with pytest.raises(BadParameter, match=r"draft: .*ready gives no hidden states"):
        load(folder, draft=place.drafts["EAGLE"])


@pytest.mark.parametrize("path", [3, ["x"]], ids=str)
def test_nonsense_for_the_methods_own_path(third: Model, path) -> None:
    with pytest.raises(BadParameter, match="eagle_path: got"):
        third.generate("a", speculative={"method": "eagle", "eagle_path": path})
