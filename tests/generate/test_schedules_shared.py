"""Jobs with the same prompt, as those of a sweep: what they have in common is computed once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from generate.paged_table import PagedTable, toy
from truedraw import Model
from truedraw.generate.batch import Batch
from truedraw.generate.generation import Generation
from truedraw.generate.planning import NEAR
from truedraw.generate.shared_prompts import ALIKE, KEPT, SharedPrompts, begins_alike

PROMPT = "the" + " cat sat dog" * 7  # 22 tokens: less than what texts that merely begin alike would share
OTHER = "the" + " ran" * 25


def add(batch: Batch, prompt: str, seed: int, **settings) -> Generation:
    given = {"max_tokens": 3, "ignore_eos": True, "speculative": False} | settings
    return batch.add(prompt, seed=seed, **given)


def rows(model: Model) -> int:
    assert isinstance(model.engine, PagedTable)
    return sum(sum(works) + sum(fills) for works, fills in model.engine.passes)


def rows_of_sweep(prompts: list[str], **limits) -> tuple[int, list[tuple[int, ...]]]:
    """Rows, and what was drawn, with one job for each sample."""
    model = toy()
    with model.batch(logits_cache_bytes=0, **limits) as batch:
        runs = [add(batch, prompt, seed) for seed, prompt in enumerate(prompts)]
        assert len(list(batch.completed())) == len(runs)
    assert model.engine.open_texts == []
    return rows(model), [run.result().choices[0].tokens for run in runs]


def alone(prompts: list[str]) -> list[tuple[int, ...]]:
    model = toy()
    settings = {"max_tokens": 3, "ignore_eos": True, "speculative": False}
    return [model.generate(prompt, seed=seed, **settings).choices[0].tokens for seed, prompt in enumerate(prompts)]


def test_samples_of_one_job_share_its_prompt() -> None:
    model = toy()
    with model.batch(logits_cache_bytes=0) as batch:
        add(batch, PROMPT, 1, n=10)
        assert len(list(batch.completed())) == 1
    assert rows(model) == 21 + 10 * 3


@pytest.mark.parametrize("limits", [{}, {"max_running": 1}, {"max_running": 3}, {"max_rows": 4, "fill_rows": 2}])
def test_a_sweep_computes_as_many_rows_as_one_job_with_all_samples(limits) -> None:
    found, texts = rows_of_sweep([PROMPT] * 10, **limits)
    assert found == 21 + 10 * 3
    assert texts == alone([PROMPT] * 10)


@pytest.mark.parametrize("limits", [{}, {"max_running": 1}, {"max_running": 3}])
def test_each_prompt_of_many_is_computed_once(limits) -> None:
    prompts = [prompt for prompt in (PROMPT, OTHER, PROMPT + " dog") for _ in range(6)] + [PROMPT, OTHER]
    found, texts = rows_of_sweep(prompts, **limits)
    assert found == 21 + 25 + 22 + len(prompts) * 3
    assert texts == alone(prompts)


def test_prompts_are_kept_in_limits_only_and_the_others_computed_again() -> None:
    prompts = ["the" + " cat" * (10 + number) for number in range(12)] * 2
    assert rows_of_sweep(prompts, max_running=1)[1] == alone(prompts)


def test_what_was_kept_first_gives_way() -> None:
    shared = SharedPrompts(SimpleNamespace(fork=lambda text, _: [SimpleNamespace(close=lambda: None)]))
    jobs = [SimpleNamespace(prompt=(n,) * 99, root=SimpleNamespace(num_uncached=1)) for n in range(KEPT + 1)]
    for job in jobs:
        shared.expect(job)
        shared.keep(job)
    assert [shared.text(job) is None for job in jobs] == [True] + [False] * KEPT


def test_a_prompt_that_nobody_else_has_takes_no_pass_of_its_own() -> None:
    model = toy()
    with model.batch(logits_cache_bytes=0) as batch:
        add(batch, PROMPT, 1)
        add(batch, OTHER, 2)
        assert len(list(batch.completed())) == 2
    assert [works for works, _ in model.engine.passes] == [[22, 26], [1, 1], [1, 1]]


def test_what_is_kept_goes_with_the_last_who_waits_for_it() -> None:
    model = toy()
    with model.batch(max_running=1, logits_cache_bytes=0) as batch:
        runs = [add(batch, PROMPT, seed, max_tokens=20) for seed in range(9)]
        for _ in range(5):
            batch.step()
        assert len(model.engine.open_texts) == 1 + 4 + 1  # one runs, four are ahead, one is kept for the rest
        for run in runs[5:]:
            run.cancel()
        batch.step()
        assert len(model.engine.open_texts) == 1 + 4
        for run in runs[1:5]:
            run.cancel()
        batch.step()
        assert len(model.engine.open_texts) == 1
    assert model.engine.open_texts == []


def test_a_job_whose_twin_is_cancelled_waits_for_no_pass() -> None:
    model = toy()
    with model.batch(max_rows=4, logits_cache_bytes=0) as batch:
        run, twin = add(batch, PROMPT, 0), add(batch, PROMPT, 1)
        batch.step()
        twin.cancel()
        assert list(batch.completed()) == [twin, run]
    assert run.result().choices[0].tokens == alone([PROMPT])[0]
    assert rows(model) == 22 + 2


def test_what_is_kept_is_given_up_before_a_text_is() -> None:
    """Two run, four are computed ahead, and one is kept for two more; then those that run need more room."""
    model = toy(pages=7 * 21 + 10, rows=1)
    with model.batch(max_running=2, logits_cache_bytes=0) as batch:
        runs = [add(batch, PROMPT, seed, max_tokens=20) for seed in range(8)]
        while len(model.engine.open_texts) < 7:
            batch.step()
        while len(model.engine.open_texts) == 7:
            assert model.engine.evictions == 0
            batch.step()
        assert model.engine.evictions == 0
        assert len(model.engine.open_texts) == 6
        assert len(list(batch.completed())) == 8
    assert [run.result().choices[0].tokens[:3] for run in runs] == alone([PROMPT] * 8)


def test_what_is_kept_keeps_nobody_out() -> None:
    """Two of the texts have room, but not with the kept prompt as well."""
    model = toy(pages=60, rows=1)
    with model.batch(logits_cache_bytes=0) as batch:
        runs = [add(batch, PROMPT, seed, max_tokens=7) for seed in range(3)]
        for _ in range(4):
            batch.step()
        assert [run.result().stats.tokens for run in runs] == [3, 3, 0]
        assert len(list(batch.completed())) == 3


@pytest.mark.parametrize(("length", "wanted"), [(NEAR, False), (NEAR + 1, True)])
def test_a_prompt_that_rides_along_in_any_pass_is_not_waited_for(length, wanted) -> None:
    shared, (job, twin) = SharedPrompts(None), (SimpleNamespace(prompt=(1,) * length) for _ in range(2))
    assert not shared.is_wanted(job)
    shared.expect(twin)
    assert shared.is_wanted(job) is wanted


def test_a_prompt_is_kept_once() -> None:
    made = []
    shared = SharedPrompts(SimpleNamespace(fork=lambda text, _: made.append(text) or [text]))
    job = SimpleNamespace(prompt=(1,) * 99, root=SimpleNamespace(num_uncached=1))
    shared.expect(job)
    for _ in range(2):
        shared.keep(job)
    assert made == [job.root]


@pytest.mark.parametrize(
    ("uncached", "differs_at", "alike"),
    [(ALIKE + 1, ALIKE, True), (ALIKE, ALIKE, False), (ALIKE + 1, ALIKE - 1, False)],
)
def test_which_texts_begin_alike(uncached, differs_at, alike) -> None:
    """Equal tokens of about a page, which are not computed yet."""
    prompt = tuple(range(2 * ALIKE))
    text = SimpleNamespace(num_uncached=uncached, tokens=[*prompt[:differs_at], -1, *prompt[differs_at + 1 :]])
    assert begins_alike(prompt, [SimpleNamespace(num_uncached=1, tokens=[*prompt]), text]) is alike
