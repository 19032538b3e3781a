"""A seed that comes again names other noise where drafts can change a text: what the first request wrote drafts for the
second, and must not depend on the numbers that judge it there. By enumeration, under which a reused number is an error.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from enumeration import Walker, law_of, total_variation
from truedraw import load
from truedraw.engine.tabular import TabularEngine
from truedraw.generate import preparing
from truedraw.generate.derived_seeds import derived_seed
from truedraw.generate.model import Model
from truedraw.generate.seeds import Seeds

TARGET = {(): (0.7, 0.3)}
PROMPT = [0, 1, 0]
SUFFIX = {"method": "suffix", "suffix_decoding_min_token_prob": 0.0}
FIXED = {"adaptive": False}
COUNTS = {"method": "ngram-lm", "ngram_lm_online": "all"}


@pytest.fixture(scope="module")
def tokenizer():
    with load("tabular") as toy:
        yield toy.tokenizer


def two_texts(tokenizer, walker: Walker, monkeypatch, seeds=(5, 5), length=2, **config):
    """One after the other; each draws by the walker's noise of its seed."""
    monkeypatch.setattr(preparing, "PhiloxRandomness", lambda seed, index: walker.sample(seed))
    fixed = {**FIXED, "num_speculative_tokens": 1, **config}
    model = Model("two tokens", TabularEngine(TARGET), tokenizer)
    with model.batch(max_running=1, logits_cache_bytes=0) as batch:
        given = {"max_tokens": length, "ignore_eos": True, "speculative": fixed}
        runs = [batch.add(PROMPT, seed=seed, **given) for seed in seeds]
        list(batch.completed())
        return tuple(run.result().choices[0].tokens for run in runs)


TOLD = derived_seed(5, "again", 0, 1)  # what the second request with seed 5 goes by


@pytest.mark.parametrize("drafts", [SUFFIX, COUNTS], ids=lambda drafts: drafts["method"])
@pytest.mark.parametrize("seeds", [(5, 5, TOLD), (TOLD, 5, 5)], ids=["behind", "before"])
def test_a_seed_that_was_told_and_is_given_names_other_noise(tokenizer, seeds, drafts, monkeypatch) -> None:
    def texts(walker: Walker):
        return two_texts(tokenizer, walker, monkeypatch, seeds, **drafts, rejection_sample_method="token", length=1)

    chance = {texts: np.prod([TARGET[()][token] for token in texts]) for texts in product(range(2), repeat=3)}
    law = law_of(texts)
    assert total_variation({tuple(token for (token,) in found): law[found] for found in law}, chance) < 1e-12


def test_no_seed_comes_twice() -> None:
    another = derived_seed(5, "again", 0, 2)
    for given in ((5, 5, TOLD), (TOLD, 5, 5), (5, 5, TOLD, TOLD, 5, 5), (TOLD, another, 5, 5)):
        seeds = Seeds()
        found = [seeds.next(seed) for seed in given]
        assert len(set(found)) == len(found)


OTHERS = {
    "plain": {"method": "none", "rejection_sample_method": "traversal"},
    "plain by default": {"method": "none"},
    "coupled": {**FIXED, **COUNTS, "draft_sample_method": "probabilistic", "num_speculative_tokens": 1},
}


@pytest.mark.parametrize("turned", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("other", OTHERS)
def test_no_request_of_another_kind_has_the_noise_of_drafts_that_count(tokenizer, other, turned, monkeypatch) -> None:
    drafted = {**FIXED, **COUNTS, "num_speculative_tokens": 1, "rejection_sample_method": "traversal"}
    configs = (OTHERS[other], drafted)[:: -1 if turned else 1]

    def texts(walker: Walker):
        monkeypatch.setattr(preparing, "PhiloxRandomness", lambda seed, index: walker.sample(seed))
        model = Model("two tokens", TabularEngine(TARGET), tokenizer)
        with model.batch(max_running=1, logits_cache_bytes=0) as batch:
            runs = [batch.add(PROMPT, seed=5, max_tokens=2, ignore_eos=True, speculative=each) for each in configs]
            list(batch.completed())
            assert [run.result().seed for run in runs] == [5, 5]
            return tuple(run.result().choices[0].tokens for run in runs)

    assert total_variation(law_of(texts), independent()) < 1e-12


def independent():
    texts = list(product(range(2), repeat=2))
    chance = {text: TARGET[()][text[0]] * TARGET[()][text[1]] for text in texts}
    return {(a, b): chance[a] * chance[b] for a in texts for b in texts}


@pytest.mark.parametrize("drafts", [SUFFIX, COUNTS], ids=lambda drafts: drafts["method"])
@pytest.mark.parametrize("rule", ["token", "block", "traversal"])
def test_two_requests_of_one_seed_are_independent_where_drafts_count(tokenizer, rule, drafts, monkeypatch) -> None:
    law = law_of(lambda walker: two_texts(tokenizer, walker, monkeypatch, **drafts, rejection_sample_method=rule))
    assert total_variation(law, independent()) < 1e-12


def test_the_first_request_of_a_seed_takes_its_own_noise() -> None:
    seeds = Seeds()
    found = [seeds.next(seed) for seed in (7, 7, 8, 7)]
    assert (found[0], found[2]) == (7, 8)
    assert len(set(found)) == 4
    again = Seeds()
    assert [again.next(seed) for seed in (7, 7, 8, 7)] == found


def test_seeds_are_forgotten_without_their_noise_coming_again(monkeypatch) -> None:
    monkeypatch.setattr("truedraw.generate.seeds.MOST_KEPT", 3)
    seeds = Seeds()
    found = [seeds.next(seed) for seed in (1, 2, 1, 3, 4, 1, 1, 5, 6, 1)]
    assert len(set(found)) == len(found)
    assert len(seeds._uses) <= 3


@pytest.mark.parametrize(
    ("config", "same"),
    [
        ({**FIXED, **SUFFIX, "rejection_sample_method": "coupled"}, True),
        ({"method": "none", "rejection_sample_method": "token"}, True),
        ({**FIXED, **SUFFIX, "rejection_sample_method": "token"}, False),
    ],
)
def test_only_where_drafts_count_a_seed_that_comes_again_gives_another_text(config, same: bool) -> None:
    given = {"seed": 1, "max_tokens": 60, "ignore_eos": True, "speculative": config}
    with load("tabular") as toy:
        first, again = (toy.generate("the cat", **given) for _ in range(2))
    assert first.seed == 1
    assert (text_of(first) == text_of(again)) is (again.seed == 1) is same
    for one in (first, again):  # each by the seed that it tells
        with load("tabular") as toy:
            assert text_of(toy.generate("the cat", **{**given, "seed": one.seed})) == text_of(one)


def text_of(result):
    return result.choices[0].tokens
