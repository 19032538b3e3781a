"""The same with the real model, its fast numerics and a cache in which few texts have room."""

from __future__ import annotations

import numpy as np
import pytest

from generate.real_model import REPETITIVE
from invariance import need_invariance
from truedraw import Model, load

pytestmark = pytest.mark.model

CACHE_BYTES = 6 << 20  # seven pages of 32 tokens: two or three of these texts
CANCELLED = (2, 7)
DRAFTS = (
    False,
    None,
    "head-ngram",
    {"method": "ngram", "adaptive": False, "prompt_lookup_min": 1},
    {"method": "suffix", "adaptive": False, "suffix_decoding_tree": True},
    {"method": "recycle", "adaptive": False},
    {"method": "head", "adaptive": False},
)


@pytest.fixture(scope="module", params=["runtime", pytest.param("rowwise", marks=pytest.mark.slow), "native"])
def ample(request) -> Model:
    with load("smollm2-135m", numerics=request.param) as loaded:
        need_invariance(loaded.engine)
        yield loaded


def told(run) -> list[tuple]:
    return [(c.tokens, c.text, c.logprobs, c.sampling_logprobs, c.finish_reason) for c in run.choices]


def requests(rng: np.random.Generator) -> list[tuple[str, dict]]:
    """Prompts that begin alike, some of which are equal."""
    found = []
    for number in range(12):
        prompt = (REPETITIVE + " door. " + REPETITIVE)[: int(rng.choice([9, 80, 170]))]
        settings = {
            "seed": number,
            "n": int(rng.choice([1, 1, 2])),
            "max_tokens": 20,
            "temperature": float(rng.choice([0.0, 0.8, 1.2])),
            "top_p": float(rng.choice([0.9, 1.0])),
            "repetition_penalty": float(rng.choice([1.0, 1.2])),
            "speculative": DRAFTS[number % len(DRAFTS)],
        }
        found.append((prompt, settings))
    return found


def test_every_text_is_that_of_its_request_alone(ample: Model, monkeypatch) -> None:
    """Bit for bit, whoever comes, goes and gives up its pages meanwhile."""
    from truedraw.generate.crowd import Crowd

    rng = np.random.default_rng(5)
    wanted = requests(rng)
    evictions, give_up = [], Crowd._give_up
    monkeypatch.setattr(Crowd, "_give_up", staticmethod(lambda *given: evictions.append(0) or give_up(*given)))
    runs = []
    with load("smollm2-135m", numerics=ample.engine.numerics, cache_bytes=CACHE_BYTES) as crowded:
        with crowded.batch(max_running=6, fill_rows=16, logits_cache_bytes=8 << 20) as batch:
            while batch.step() or len(runs) < len(wanted):
                if len(runs) < len(wanted) and rng.random() < 0.6:
                    prompt, settings = wanted[len(runs)]
                    runs.append(batch.add(prompt, **settings))
                if len(runs) - 3 in CANCELLED:
                    runs[len(runs) - 3].cancel()
        assert crowded.engine.cache_use().pages_held == 0
    assert len(evictions) > 2
    assert sum(run.result().stats.accepted for run in runs) > 10
    for number, (run, (prompt, settings)) in enumerate(zip(runs, wanted, strict=True)):
        assert run.error is None
        alone, found = told(ample.generate(prompt, **settings)), told(run.result())
        if number not in CANCELLED:
            assert found == alone
            continue
        for (tokens, _, logprobs, *_), (whole, _, whole_logprobs, *_) in zip(found, alone, strict=True):
            assert (whole[: len(tokens)], whole_logprobs[: len(tokens)]) == (tokens, logprobs)
