"""Whatever arrives, leaves, waits or loses its pages when: no text changes, nothing hangs, and all pages come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from generate.paged_table import toy
from truedraw import Model, Speculation
from truedraw.errors import BadParameter, OutOfPages
from truedraw.generate.planning import Limits

WORDS = (" cat", " dog", " sat", " ran")
DRAFTS = (
    False,
    None,
    {"adaptive": False, "num_speculative_tokens": 3, "prompt_lookup_min": 1},
    "suffix",
    {"method": "suffix", "suffix_decoding_tree": True, "adaptive": False, "num_speculative_tokens": 9},
    {"method": "recycle", "adaptive": False},
)


@dataclass(frozen=True)
class Wanted:
    prompt: str
    sampling: dict[str, Any]
    speculative: Any


def wanted(rng: np.random.Generator) -> Wanted:
    """One request of any kind; a seed, so that its texts are fixed."""
    words = int(rng.choice([1, 4, 12, 45]))
    sampling: dict[str, Any] = {
        "seed": int(rng.integers(1 << 60)),
        "n": int(rng.choice([1, 1, 2, 5])),
        "max_tokens": int(rng.choice([1, 3, 20])),
        "temperature": float(rng.choice([0.0, 0.7, 1.3])),
        "ignore_eos": bool(rng.random() < 0.7),
    }
    if rng.random() < 0.3:
        sampling["stop"] = ["at ran"]
    if rng.random() < 0.3:
        sampling["repetition_penalty"] = 1.2
    if rng.random() < 0.2:
        sampling["best_of"] = sampling["n"] + 2
    return Wanted("the" + "".join(rng.choice(WORDS, words)), sampling, DRAFTS[int(rng.integers(len(DRAFTS)))])


def told(result) -> list[tuple]:
    return [(c.index, c.tokens, c.text, c.logprobs, c.finish_reason) for c in result.choices]


def ample() -> Model:
    return toy()


def crowded(rng: np.random.Generator) -> tuple[Model, Limits, int]:
    """An engine in which the longest text has just room, or a little more, and limits to match."""
    longest = 1 + 45 + 20 - 1  # the last token of a text is never computed
    rows = int(rng.choice([1, 4, 16]))
    model = toy(rows=rows, pages=-(-longest // rows) + int(rng.choice([0, 3, 40])))
    limits = Limits(int(rng.choice([1, 2, 7, 64])), int(rng.choice([1, 9, 256])), int(rng.choice([1, 5, 64])))
    return model, limits, int(rng.choice([0, 1 << 14, 1 << 20]))


@pytest.mark.parametrize("seed", range(60))
def test_every_text_is_that_of_its_request_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, limits, cache_bytes = crowded(rng)
    requests = [wanted(rng) for _ in range(int(rng.choice([2, 12])))]
    if rng.random() < 0.5:  # prompts that come again
        requests += [Wanted(requests[0].prompt, wanted(rng).sampling, each.speculative) for each in requests]
    runs, left, cancelled = {}, list(enumerate(requests)), set()
    with model.batch(**limits._asdict(), logits_cache_bytes=cache_bytes) as batch:
        finished = []
        for _ in range(100_000):
            while left and rng.random() < 0.3:
                number, one = left.pop(0)
                runs[number] = batch.add(one.prompt, speculative=one.speculative, **one.sampling)
            if runs and rng.random() < 0.02:
                number = int(rng.choice(list(runs)))
                cancelled.add(number)
                runs[number].cancel()
            busy = batch.step()
            finished += batch.finished()
            if not busy and not left:
                break
        assert batch.num_unfinished == 0
    assert sorted(map(id, finished)) == sorted(map(id, runs.values()))
    assert model.engine.open_texts == []
    for number, one in enumerate(requests):
        expected = told(ample().generate(one.prompt, speculative=one.speculative, **one.sampling))
        found = told(runs[number].result())
        assert runs[number].error is None
        if number not in cancelled:
            assert found == expected
        elif "best_of" not in one.sampling:
            for (_, tokens, text, logprobs, _), (_, whole, whole_text, whole_logprobs, _) in zip(
                found, expected, strict=True
            ):
                assert whole[: len(tokens)] == tokens
                assert whole_text.startswith(text) or "stop" in one.sampling  # what might have begun a stop string
                assert whole_logprobs[: len(logprobs)] == logprobs


def test_the_schedules_above_evict_and_draft_and_use_the_cache() -> None:
    """Else they would prove little."""
    evictions = drafted = hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model, limits, cache_bytes = crowded(rng)
        with model.batch(**limits._asdict(), logits_cache_bytes=cache_bytes) as batch:
            for one in [wanted(rng) for _ in range(12)]:
                batch.add(one.prompt, speculative=one.speculative, **one.sampling)
            drafted += sum(run.result().stats.drafted for run in batch.completed())
            hits += batch.logits_cache_use.hits
        evictions += model.engine.evictions
    assert min(evictions, drafted, hits) > 50


def test_passes_keep_to_their_rows() -> None:
    model = toy()
    with model.batch(max_running=8, max_rows=20, fill_rows=5) as batch:
        for length in (3, 90, 2, 60, 9, 200):
            batch.add("the" + " cat" * length, n=2, seed=1, max_tokens=30, ignore_eos=True, speculative=False)
        assert len(list(batch.completed())) == 6
    for works, fills in model.engine.passes:
        near = [rows for rows in works if rows <= 8]
        assert sum(fills) + sum(works) - sum(near) <= (5 if near else 20)
    assert any(sum(fills) == 20 for _, fills in model.engine.passes)
    assert any(works and fills for works, fills in model.engine.passes)


def test_a_long_prompt_holds_up_nobody_and_is_not_held_up() -> None:
    model = toy()
    with model.batch(max_running=4, fill_rows=10) as batch:
        running = batch.add("the", seed=1, max_tokens=200, ignore_eos=True, speculative=False)
        batch.step()
        long = batch.add("the" + " cat" * 500, seed=1, max_tokens=3, ignore_eos=True, speculative=False)
        for tokens in range(2, 50):
            batch.step()
            assert running.result().stats.tokens == tokens
        while not long.ended:
            batch.step()
        assert running.result().stats.tokens < 60


def test_those_who_came_first_begin_first() -> None:
    model = toy()
    with model.batch(max_running=3) as batch:
        order = [
            batch.add("the", n=n, seed=n, max_tokens=5, ignore_eos=True, speculative=False) for n in (2, 5, 1, 1, 3)
        ]
        assert list(batch.completed()) == order


def test_a_text_that_has_no_room_even_alone_fails_with_all_it_has() -> None:
    model = toy(pages=5, rows=4)
    with model.batch() as batch:
        small = batch.add("the cat", seed=3, max_tokens=10, ignore_eos=True)
        large = batch.add("the cat", n=3, seed=4, max_tokens=50, ignore_eos=True, speculative=False)
        prompt = batch.add("the" + " dog" * 40, seed=5)
        assert set(batch.completed()) == {small, large, prompt}
    assert small.error is None
    assert isinstance(large.error, OutOfPages)
    assert isinstance(prompt.error, OutOfPages)
    assert prompt.result().text == ""
    whole = ample().generate("the cat", n=3, seed=4, max_tokens=50, ignore_eos=True)
    for choice, expected in zip(large.result().choices, whole.choices, strict=True):
        assert choice.finish_reason == "interrupted"
        assert expected.text.startswith(choice.text)
    assert max(len(choice.tokens) for choice in large.result().choices) >= 18  # 20 slots, 2 of them the prompt's
    assert model.engine.open_texts == []
    with pytest.raises(OutOfPages):
        model.generate("the cat", seed=4, max_tokens=50, ignore_eos=True)


def test_a_prompt_of_several_samples_that_has_no_room_even_alone_fails() -> None:
    model = toy(pages=5, rows=4)
    with model.batch() as batch:
        prompt = batch.add("the" + " dog" * 40, n=3, seed=5)
        for _ in range(9):
            batch.step()
        assert isinstance(prompt.error, OutOfPages)
    assert model.engine.open_texts == []


def test_cancelling_frees_at_once_and_keeps_the_text() -> None:
    model = toy()
    with model.batch(max_running=2) as batch:
        runs = [batch.add("the cat", seed=i, max_tokens=50, ignore_eos=True) for i in range(4)]
        for _ in range(5):
            batch.step()
        runs[0].cancel()
        runs[3].cancel()
        batch.step()
        assert [run.ended for run in runs] == [True, False, False, True]
        assert len(model.engine.open_texts) == 2  # the third has taken the first one's place
        assert 0 < len(runs[0].result().choices[0].tokens) < 50
        assert runs[3].result().choices[0].tokens == ()
        runs[1].cancel()
        runs[1].cancel()
        assert list(batch.completed()) == [runs[0], runs[3], runs[1], runs[2]]


def test_closing_a_batch_ends_everything() -> None:
    model = toy()
    with model.batch(max_running=2) as batch:
        runs = [batch.add("the cat", n=2, seed=i, max_tokens=50, ignore_eos=True) for i in range(3)]
        batch.step()
    assert all(run.ended and run.error is None for run in runs)
    assert model.engine.open_texts == []
    assert list(batch.finished()) == runs


def test_a_run_in_a_batch_streams_its_own_text() -> None:
    model = toy()
    with model.batch() as batch:
        runs = [batch.add("the cat", n=2, seed=i, max_tokens=20, ignore_eos=True) for i in range(3)]
        streamed = {0: "", 1: ""}
        for piece in runs[2].pieces():
            streamed[piece.sample] += piece.text
        late = {0: "", 1: ""}
        for piece in runs[0].pieces():
            late[piece.sample] += piece.text
    assert list(streamed.values()) == [choice.text for choice in runs[2].result().choices]
    assert list(late.values()) == [choice.text for choice in runs[0].result().choices]


@pytest.mark.parametrize("name", ["max_running", "max_rows", "fill_rows"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8"])
def test_bad_limits_are_refused(name: str, value) -> None:
    with pytest.raises(BadParameter, match=name):
        ample().batch(**{name: value})


def test_speculations_of_all_kinds_share_a_controller() -> None:
    """Each drafts at most what it asked for, and a steady one always does."""
    model = toy()
    with model.batch() as batch:
        specs = [Speculation(num_speculative_tokens=k, adaptive=k != 5, prompt_lookup_min=1) for k in (0, 1, 5, 12)]
        runs = [
            batch.add("the cat sat the cat", seed=1, max_tokens=60, ignore_eos=True, speculative=spec) for spec in specs
        ]
        for _ in batch.completed():
            pass
    most = [max(each.drafted for step in run for each in step) for run in runs]
    assert (most[0], most[2]) == (0, 5)
    assert most[1] <= 1
    assert most[3] <= 12


def test_prompts_that_begin_alike_are_computed_one_after_the_other() -> None:
    """So that the second finds what the first has left in the cache; others need not wait for that."""
    model = toy()
    prompt = " cat sat" * 40
    with model.batch(max_rows=50, fill_rows=50) as batch:
        for end in ("", " ran", " dog"):
            batch.add("the" + prompt + end, seed=1, max_tokens=1)
        other = model.batch(max_rows=50, fill_rows=50)
        for beginning in ("the cat", "the dog", "the sat"):
            other.add(beginning + prompt, seed=1, max_tokens=1)
        batch.step()
        assert len(model.engine.open_texts) == 1
        other.step()
        assert len(model.engine.open_texts) == 4
        assert len(list(batch.completed())) == len(list(other.completed())) == 3
