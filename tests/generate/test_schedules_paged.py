"""The same on the paged engine: a tiny model with random weights, and a cache in which few texts have room."""

from __future__ import annotations

import numpy as np
import pytest

from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw import Model, load
from truedraw.errors import OutOfPages

PAGE_BYTES = 3 * 2 * 2 * 32 * 16 * 4  # layers, keys and values, heads, slots, head_dim, float32
LONGEST_PAGES = 4  # of a context of 128 tokens


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = tiny_config(num_layers=3)
    tensors = {name: (each * 0.2).astype(np.float32) for name, each in random_tensors(config, seed=3).items()}
    return write_folder(tmp_path_factory.mktemp("folder") / "tiny", config, tensors)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def ample(folder, cache) -> Model:
    with load(folder, cache=cache, numerics="reference") as model:
        yield model


@pytest.fixture(scope="module", params=[LONGEST_PAGES, 9, 60])
def crowded(folder, cache, request) -> Model:
    pages = request.param + 2  # one to scratch on, one for a page that is copied
    with load(folder, cache=cache, numerics="reference", cache_bytes=pages * PAGE_BYTES) as model:
        yield model


def told(result) -> list[tuple]:
    return [(c.tokens, c.text, c.finish_reason) for c in result.choices]


def logprobs(result) -> list[float]:
    """Told apart from the texts: what is drafted beside a row moves its last bits in float32."""
    return [logprob for choice in result.choices for logprob in choice.logprobs]


@pytest.mark.parametrize("seed", range(3))
def test_every_text_is_that_of_its_request_alone(ample: Model, crowded: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    beginning = "hello world 12, "
    runs = []
    limits = {"max_running": int(rng.choice([2, 16])), "max_rows": int(rng.choice([3, 256])), "fill_rows": 7}
    with crowded.batch(**limits, logits_cache_bytes=int(rng.choice([0, 1 << 20]))) as batch:
        for number in range(10):
            prompt = beginning[: int(rng.integers(1, 17))] * int(rng.choice([1, 4]))
            settings = {
                "seed": int(rng.integers(1 << 30)),
                "n": int(rng.choice([1, 3])),
                "max_tokens": int(rng.choice([2, 40])),
                "temperature": float(rng.choice([0.0, 0.6])),
                "ignore_eos": True,
                "speculative": [False, {"adaptive": False, "num_speculative_tokens": 3}][number % 2],
            }
            runs.append((batch.add(prompt, **settings), prompt, settings))
            for _ in range(int(rng.integers(4))):
                batch.step()
        assert len(list(batch.completed())) == len(runs)
    for run, prompt, settings in runs:
        assert run.error is None
        alone = ample.generate(prompt, **settings)
        assert told(run.result()) == told(alone)
        assert logprobs(run.result()) == pytest.approx(logprobs(alone), abs=1e-5)
    assert crowded.engine.cache_use().pages_held == 0


def test_a_text_without_room_keeps_what_it_has(folder, cache) -> None:
    with load(folder, cache=cache, numerics="reference", cache_bytes=4 * PAGE_BYTES) as model:
        run = model.start("hello world", seed=1, max_tokens=110, ignore_eos=True)
        with pytest.raises(OutOfPages, match="cache_bytes"):
            for _ in run:
                pass
        assert isinstance(run.error, OutOfPages)
        choice = run.result().choices[0]
        assert 40 < len(choice.tokens) < 110
        assert choice.finish_reason == "interrupted"


def test_a_draft_model_drafts_for_all_requests_at_once(folder, ample: Model, monkeypatch) -> None:
    spec = {"model": str(folder), "num_speculative_tokens": 3, "adaptive": False}
    engine = ample.drafts.engine(str(folder))
    passes = []
    forward = engine.forward
    monkeypatch.setattr(engine, "forward", lambda works, *rest: passes.append(len(works)) or forward(works, *rest))
    settings = {"max_tokens": 12, "ignore_eos": True, "temperature": 0.5}
    with ample.batch() as batch:
        runs = [batch.add(f"hello world {i}", seed=i, n=2, speculative=spec, **settings) for i in range(5)]
        assert len(list(batch.completed())) == 5
    assert max(passes) == 10
    for number, run in enumerate(runs):
        plain = ample.generate(f"hello world {number}", seed=number, n=2, speculative=False, **settings)
        assert told(run.result()) == told(plain)
        assert run.result().stats.accepted > 0
        assert run.result().fallback is None
    assert engine.cache_use().pages_held == 0
