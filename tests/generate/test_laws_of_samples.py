"""The samples of a request have all of their law together but for their own coins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truedraw import load
from truedraw.generate import preparing
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening

OPENING = Opening((0, 1, 0), 5, encode=lambda text: [len(text) % 5])
SETTINGS = [
    {},
    {"repetition_penalty": 1.5, "no_repeat_ngram": 3, "bad_words": ["abc"], "logit_bias": {2: 1.0}},
    {"xtc_probability": 0.5, "xtc_threshold": 0.1},
    {"xtc_probability": 0.5, "xtc_threshold": 0.1, "top_p": 0.9, "mirostat": 0, "presence_penalty": 0.3},
]


def test_words_are_spelled_once_for_all_samples(monkeypatch) -> None:
    spelled = []
    monkeypatch.setattr(preparing, "spelling", lambda tokenizer, text: spelled.append(text) or [1])
    with load("tabular") as model:
        model.generate("the cat", n=1, max_tokens=1, bad_words=["cat"])
        once = len(spelled)
        model.generate("the cat", n=8, max_tokens=1, bad_words=["cat"])
    assert len(spelled) == 2 * once > 0


@pytest.mark.parametrize("settings", SETTINGS)
def test_each_has_the_law_that_it_would_have_alone(settings) -> None:
    params, chances = sampling_params(settings), [PhiloxRandomness(7, index) for index in range(12)]
    together = preparing.laws(params, OPENING, chances)
    alone = [SamplingLaw(params, replace(OPENING, randomness=chance)) for chance in chances]
    logits = np.array([2.0, 1.5, 1.0, 0.5, 0.0])
    for pair in zip(together, alone, strict=True):
        law, other = pair
        for token in (3, 1, 4, 2):
            assert (law(logits) == other(logits)).all()
            law, other = law.after(token), other.after(token)
