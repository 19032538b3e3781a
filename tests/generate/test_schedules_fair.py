"""Who waits for whom: the short do not wait for the long, the old not for the new, and nobody for ever."""

from __future__ import annotations

from itertools import count

import pytest

from generate.paged_table import toy
from truedraw.generate.batch import Batch
from truedraw.generate.generation import Generation
from truedraw.generate.planning import shares

PLAIN = {"ignore_eos": True, "speculative": False}
WORDS = ("cat", "dog")
LONG = "the" + " cat sat" * 400  # 801 tokens


def add(batch: Batch, prompt: str, max_tokens: int, n: int = 1) -> Generation:
    return batch.add(prompt, seed=1, n=n, max_tokens=max_tokens, **PLAIN)


def tokens(run: Generation) -> int:
    return run.result().stats.tokens


def told_of(runs: list[Generation]) -> list[int]:
    return [tokens(run) for run in runs]


def steps_until(batch: Batch, run: Generation) -> int:
    return next(steps for steps in count(1) if not batch.step() or run.ended)


@pytest.mark.parametrize(
    ("wanted", "rows", "given"),
    [
        ([], 10, []),
        ([6000, 15], 64, [49, 15]),
        ([6000, 700, 40], 64, [32, 0, 32]),
        ([15, 6000], 64, [15, 49]),
        ([10, 6000, 20], 64, [10, 34, 20]),
        ([30, 30, 30], 64, [30, 30, 4]),
        ([40, 30], 64, [40, 24]),
        ([3, 4], 64, [3, 4]),
        ([100, 1], 1, [1, 0]),
    ],
)
def test_half_of_the_rows_go_by_age_and_half_by_what_is_left(wanted, rows: int, given) -> None:
    assert shares(wanted, rows) == given


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("short", ["the" + " ran" * 3, "the" + " ran" * 20])
def test_a_short_prompt_does_not_wait_for_a_long_one(short: str, n: int) -> None:
    """Neither is the long one forgotten: in every pass it has half of the rows, or more."""
    model = toy()
    with model.batch(fill_rows=10) as batch:
        add(batch, "the dog", 400)
        batch.step()
        long = add(batch, LONG, 2, n)
        late = add(batch, short, 2)
        model.engine.passes.clear()
        assert steps_until(batch, late) <= 21 // 5 + 3
        assert tokens(long) == 0
        assert all(max(fills) >= 5 for _, fills in model.engine.passes)
        assert steps_until(batch, long) <= 801 // 5 + 3


@pytest.mark.parametrize("n", [1, 2])
def test_a_long_prompt_is_computed_though_short_ones_keep_coming(n: int) -> None:
    with toy().batch(max_running=6, fill_rows=10, logits_cache_bytes=0) as batch:
        add(batch, "the dog", 400)
        batch.step()
        long = add(batch, LONG, 2, n)
        steps = others = 0
        while not long.ended:
            while batch.num_unfinished < 6 + n:
                others += 1
                add(batch, "the ran" + "".join(f" {WORDS[others >> bit & 1]}" for bit in range(12)), 2)
            batch.step()
            steps += 1
        assert steps <= 801 // 5 + 20


@pytest.mark.parametrize("n", [1, 2])
def test_who_waits_for_a_text_that_begins_alike_lets_others_pass(n: int) -> None:
    """But nobody else waits, and it goes on as soon as the text is computed, before all who came later."""
    with toy().batch(max_running=8, fill_rows=10) as batch:
        writing = add(batch, "the dog", 400)
        batch.step()
        first = add(batch, LONG, 1, n)
        alike = add(batch, "the" + " cat sat" * 16 + " dog", 1, n)
        other = add(batch, "the ran", 3, n)
        assert steps_until(batch, other) <= 5
        others = []
        while not first.ended:
            if batch.num_unfinished < 8:
                others.append(add(batch, "the sat", 1))
            batch.step()
            assert tokens(alike) == 0
        assert len([run for run in others if run.ended]) > 50
        assert steps_until(batch, alike) <= 33 // 5 + 3
        assert not writing.ended


def test_who_was_passed_has_the_next_place() -> None:
    with toy().batch(max_running=1, fill_rows=10) as batch:
        alike = "the" + " cat sat" * 40
        order = [add(batch, prompt, length) for prompt, length in [("the", 60), (alike, 3), (alike + " dog", 3)]]
        order.append(add(batch, "the ran", 3))
        assert list(batch.completed()) == order


def test_no_two_that_wait_for_one_another_pass_each_other() -> None:
    """Many that begin alike, and many that do not: each kind ends in the order in which it came."""
    with toy().batch(max_running=3, fill_rows=10) as batch:
        add(batch, "the dog", 300)
        batch.step()
        kinds = ["the" + " cat sat" * 40, "the" + " ran" * 60, "the dog"]
        runs = [add(batch, kinds[number % 3] + " sat" * number, 1) for number in range(18)]
        ended = [run for run in batch.completed() if run in runs]
    for kind in (0, 1):
        mine = runs[kind::3]
        assert [run for run in ended if run in mine] == mine


def test_rows_that_are_known_hold_up_nobody() -> None:
    """A text that somebody has drawn before needs no pass; however many such there are, others get theirs."""
    with toy().batch() as batch:
        assert steps_until(batch, add(batch, "the cat", 3)) == 3
        other = add(batch, "the dog", 2)
        steps = 0
        while not other.ended:
            while batch.num_unfinished < 5:
                add(batch, "the cat", 3)
            batch.step()
            steps += 1
        assert steps <= 2 * 33
        assert batch.logits_cache_use.hits > 2 * 32


def crowded_batch(*lengths: int, pages: int, max_running: int = 8) -> tuple[Batch, list[Generation]]:
    """Texts of these lengths that begin together; a page is one token."""
    batch = toy(pages=pages, rows=1).batch(max_running=max_running, logits_cache_bytes=0)
    return batch, [add(batch, "the cat", length) for length in lengths]


def progress(batch: Batch, runs: list[Generation]) -> list[int]:
    before = told_of(runs)
    batch.step()
    return [now - was for now, was in zip(told_of(runs), before, strict=True)]


def test_the_youngest_gives_its_pages_up() -> None:
    batch, runs = crowded_batch(20, 20, 20, pages=40)
    with batch:
        seen = {tuple(progress(batch, runs)) for _ in range(20)}
    assert seen == {(1, 1, 1), (1, 1, 0), (1, 0, 0)}


def test_of_those_who_gave_up_their_pages_the_oldest_goes_on_first() -> None:
    batch, runs = crowded_batch(30, 20, 20, 20, pages=40)
    with batch:
        while len(batch._scheduler.jobs._crowd.evicted) < 2:
            batch.step()
        assert batch.num_unfinished == 4
        assert list(batch.completed()) == runs


def test_what_a_cancelled_prompt_had_is_used_at_once() -> None:
    """By one that came later, while a text is being written."""
    with toy(pages=30, rows=1).batch(max_running=2, fill_rows=1, logits_cache_bytes=0) as batch:
        first = add(batch, "the cat", 28)
        batch.step()
        prompt = add(batch, "the" + " cat" * 20, 5, n=2)
        while not batch._scheduler.jobs._crowd._full:
            batch.step()
        late = add(batch, "the", 2)
        batch.step()
        assert tokens(prompt) == tokens(late) == 0
        prompt.cancel()
        batch.step()
        assert tokens(late) == 1
        assert not first.ended


def test_what_becomes_free_is_used_at_once() -> None:
    """The one that gave up its pages goes on when a second one ends, though the first is still being written."""
    batch, runs = crowded_batch(60, 15, 15, pages=40)
    with batch:
        assert steps_until(batch, runs[1]) == 15
        assert 0 < tokens(runs[2]) < 15
        assert not runs[0].ended
        assert progress(batch, runs) == [1, 0, 1]
    batch, runs = crowded_batch(60, 15, 15, pages=40)
    with batch:
        while not batch._scheduler.jobs._crowd.evicted:
            batch.step()
        runs[1].cancel()
        assert progress(batch, runs) == [1, 0, 1]


def test_what_a_sample_leaves_is_used_at_once_though_its_job_goes_on() -> None:
    model = toy(pages=40, rows=1)
    with model.batch(logits_cache_bytes=0) as batch:
        run = add(batch, "the cat", 60, n=3)
        batch.step()
        batch.step()
        samples = run._job.live
        samples[1].ending.room = 13
        while len(samples) == 3:
            batch.step()
        before = [len(sample.sequence.tokens) for sample in samples]
        assert batch._scheduler.jobs._crowd.evicted == samples[1:]
        batch.step()
        assert [len(sample.sequence.tokens) for sample in samples] == [length + 1 for length in before]


@pytest.mark.parametrize("n", [1, 2])
def test_nobody_overtakes_those_who_gave_up_their_pages(n: int) -> None:
    """Neither one that was let in before, whose prompt is computed, nor one that comes later."""
    batch, (first, second) = crowded_batch(30, 30, pages=45, max_running=2)
    with batch:
        batch.step()
        ahead = add(batch, "the dog", 5, n)
        batch.step()
        assert tokens(ahead) == 0
        while not batch._scheduler.jobs._crowd.evicted:
            batch.step()
        late = add(batch, "the", 5)
        assert 10 < tokens(second) < 30
        while not first.ended:
            batch.step()
            assert tokens(ahead) == tokens(late) == 0
        assert set(batch.completed()) == {first, second, ahead, late}
