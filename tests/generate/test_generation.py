"""Runs over the toy model as users start them: seeds, stops, limits, streams, interruptions, bad input."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import islice

import numpy as np
import pytest

from generate.interruptions import between, between_once
from truedraw import Model, SamplingParams, load
from truedraw.errors import BadInput, BadParameter, BadPrompt, TruedrawError, UnknownName
from truedraw.generate.generation import INTERRUPTED, Generation

PROMPT = "the cat sat ran dog sat ran"


@pytest.fixture(scope="module")
def model() -> Model:
    return load("tabular")


def texts(result) -> list[tuple[int, ...]]:
    return [choice.tokens for choice in result.choices]


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_seed_gives_the_same_text_with_any_speculation(model: Model, seed: int, temperature: float) -> None:
    settings = {"seed": seed, "temperature": temperature, "n": 3, "ignore_eos": True, "max_tokens": 40}
    plain = model.generate(PROMPT, speculative=False, **settings)
    assert plain.stats.drafted == 0
    for tokens in (1, 2, 7):
        spec = {"num_speculative_tokens": tokens, "prompt_lookup_min": 1, "adaptive": False}
        fast = model.generate(PROMPT, speculative=spec, **settings)
        assert texts(fast) == texts(plain)
        assert [c.text for c in fast.choices] == [c.text for c in plain.choices]
        assert fast.choices[0].logprobs == plain.choices[0].logprobs
        assert fast.stats.accepted > 0


def test_samples_and_runs_without_a_seed_differ(model: Model) -> None:
    result = model.generate(PROMPT, n=4, max_tokens=40, ignore_eos=True)
    again = model.generate(PROMPT, n=4, max_tokens=40, ignore_eos=True)
    assert len({*texts(result), *texts(again)}) == 8
    assert result.seed is None


def test_a_sample_does_not_depend_on_how_many_there_are(model: Model) -> None:
    many = model.generate(PROMPT, seed=1, n=5)
    assert texts(many)[:2] == texts(model.generate(PROMPT, seed=1, n=2))


def test_an_end_token_ends_the_text_and_is_not_part_of_it(model: Model) -> None:
    choice = model.generate(PROMPT, seed=3, max_tokens=200).choices[0]
    assert choice.finish_reason == "stop"
    assert choice.tokens[-1] in model.tokenizer.eos_ids
    assert "." not in choice.text
    assert set(choice.tokens[:-1]).isdisjoint(model.tokenizer.eos_ids)


def test_stop_tokens_and_limits(model: Model) -> None:
    stopped = model.generate(PROMPT, seed=3, ignore_eos=True, stop_token_ids=[2], max_tokens=200).choices[0]
    assert stopped.tokens.index(2) == len(stopped.tokens) - 1
    limited = model.generate(PROMPT, seed=3, ignore_eos=True, max_tokens=17).choices[0]
    assert (len(limited.tokens), limited.finish_reason) == (17, "length")


@pytest.mark.parametrize("spec", [False, {"num_speculative_tokens": 6, "prompt_lookup_min": 1}])
@pytest.mark.parametrize("more", [{}, {"ignore_eos": True}, {"stop_token_ids": [2]}], ids=str)
def test_no_end_comes_before_the_fewest_tokens(model: Model, more, spec) -> None:
    ends = {*model.tokenizer.eos_ids, *more.get("stop_token_ids", ())}
    settings = {"n": 12, "seed": 3, "max_tokens": 60, "speculative": spec, **more}
    free, held = (model.generate(PROMPT, min_tokens=fewest, **settings).choices for fewest in (0, 30))
    assert any(ends.intersection(choice.tokens[:30]) for choice in free)
    assert not any(ends.intersection(choice.tokens[:30]) for choice in held)
    assert min(len(choice.tokens) for choice in held) >= 30
    assert any(ends.intersection(choice.tokens) for choice in held)


def test_an_end_that_is_the_last_token_there_is_room_for_ends_the_text(model: Model) -> None:
    free = model.generate(PROMPT, seed=3, max_tokens=200).choices[0]
    just = model.generate(PROMPT, seed=3, max_tokens=len(free.tokens)).choices[0]
    assert (just.tokens, just.finish_reason) == (free.tokens, "stop")
    settings = {"seed": 5, "ignore_eos": True, "stop": "at ran"}
    stopped = model.generate(PROMPT, max_tokens=300, **settings).choices[0]
    just = model.generate(PROMPT, max_tokens=len(stopped.tokens), **settings).choices[0]
    assert (just.text, just.finish_reason) == (stopped.text, "stop")


@pytest.mark.parametrize("spec", [False, {"num_speculative_tokens": 6, "prompt_lookup_min": 1}])
def test_a_stop_string_across_tokens_ends_the_text_before_it(model: Model, spec) -> None:
    settings = {"seed": 5, "ignore_eos": True, "max_tokens": 300, "speculative": spec}
    free = model.generate(PROMPT, **settings).text
    stop = "at ran"
    choice = model.generate(PROMPT, stop=[stop, "never"], **settings).choices[0]
    assert choice.text == free[: free.index(stop)]
    assert choice.finish_reason == "stop"
    assert "".join(choice.pieces) == choice.text


def test_the_stream_is_the_text(model: Model) -> None:
    run = model.start(PROMPT, seed=9, n=3, ignore_eos=True, max_tokens=50, stop="unseen")
    streamed = {0: "", 1: "", 2: ""}
    for piece in run.pieces():
        streamed[piece.sample] += piece.text
    assert list(streamed.values()) == [choice.text for choice in run.result().choices]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("spec", [False, {"method": "ngram", "prompt_lookup_min": 1, "num_speculative_tokens": 6}])
def test_pieces_begin_where_others_have_ended(model: Model, spec, n) -> None:
    """Rounds may be read before, and between: every piece comes once."""
    for seed in range(5):
        run = model.start(PROMPT, seed=seed, n=n, ignore_eos=True, max_tokens=30, speculative=spec)
        found, reading = [], True
        next(run)
        while reading:
            reading = False
            for piece in islice(run.pieces(), 4):
                found.append(piece)
                reading = True
            next(run, None)
        choices = run.result().choices
        for choice in choices:
            own = [piece for piece in found if piece.sample == choice.index]
            assert [piece.text for piece in own] == [text for text in choice.pieces if text]
            assert [piece.origin for piece in own] == [
                origin for text, origin in zip(choice.pieces, choice.origins, strict=False) if text
            ]


def test_what_is_held_back_at_the_end_is_streamed_and_shown(model: Model) -> None:
    settings = {"seed": 5, "ignore_eos": True, "max_tokens": 8}
    text = model.generate(PROMPT, **settings).text
    settings["stop"] = [f"{text[-3:]} never"]
    assert "".join(piece.text for piece in model.stream(PROMPT, **settings)) == text
    result = model.generate(PROMPT, **settings)
    assert f">{result.choices[0].pieces[-1]}<" in result._repr_html_()


def test_two_who_read_pieces_by_turns_have_every_piece_once(model: Model) -> None:
    for seed in range(5):
        run = model.start(PROMPT, seed=seed, n=2, ignore_eos=True, max_tokens=20)
        for _ in range(seed):
            next(run)
        found = {0: "", 1: ""}
        reading = [run.pieces(), run.pieces()]
        for turn in range(200):
            for piece in islice(reading[turn % 2], 1 + turn % 3):
                found[piece.sample] += piece.text
        assert found == {choice.index: choice.text for choice in run.result().choices}


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_what_was_held_back_when_a_run_was_ended_comes_out(model: Model, end) -> None:
    settings = {"seed": 5, "ignore_eos": True, "max_tokens": 30}
    text = model.generate(PROMPT, **settings).text
    for held in range(2, 9):
        run = model.start(PROMPT, **settings, stop=[f"{text[held]} never", f"{text[: held + 20]} never"])
        found = []
        for piece in islice(run.pieces(), held):
            found.append(piece.text)
        getattr(run, end)()
        found += [piece.text for piece in run.pieces()]
        assert "".join(found) == run.result().text


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("stop", [[], ["never said"]])
@pytest.mark.parametrize("calls", [1, 2, 5, 9])
def test_a_round_that_failed_leaves_nothing_in_the_text(model: Model, error, stop, calls) -> None:
    """An observer, or ctrl-C in it, ends a run behind the text of a round that nobody has."""
    seen = []

    def watch(*_: object) -> None:
        seen.append(0)
        if len(seen) == calls:
            raise error("seen enough")

    run = model.start(PROMPT, seed=5, max_tokens=30, ignore_eos=True, stop=stop, speculative=False, observer=watch)
    with pytest.raises((TruedrawError, KeyboardInterrupt)):
        list(run)
    choice = run.result().choices[0]
    assert len(choice.tokens) == calls - 1
    assert choice.text == model.tokenizer.decode([*run._job.prompt, *choice.tokens])[len(PROMPT) :]
    assert "".join(piece.text for piece in run.pieces()) == choice.text


def test_the_best_of_some_are_read_once(model: Model) -> None:
    run = model.start(PROMPT, seed=5, n=2, best_of=4, ignore_eos=True, max_tokens=10)
    first = [*islice(run.pieces(), 3)]
    found = [*first, *run.pieces()]
    assert "".join(piece.text for piece in found) == "".join(choice.text for choice in run.result().choices)
    assert not [*run.pieces()]


def test_a_run_that_was_never_made_ends_without_a_word(recwarn) -> None:
    Generation.__new__(Generation).__del__()


def test_a_sample_is_named_by_any_whole_number(model: Model) -> None:
    run = model.start(PROMPT, seed=9, n=2, max_tokens=5)
    list(run)
    assert run.choice(np.int64(1)) == run.result().choices[1]
    for wrong in (True, 1.0, 2, -1, "1"):
        with pytest.raises(BadInput, match="there is no sample"):
            run.choice(wrong)


def test_an_interrupted_run_keeps_its_text(model: Model) -> None:
    whole = model.generate(PROMPT, seed=9, ignore_eos=True, max_tokens=50)
    run = model.start(PROMPT, seed=9, ignore_eos=True, max_tokens=50)
    for _, _ in zip(range(5), run, strict=False):
        assert whole.text.startswith(run.result().text)
    run.close()
    choice = run.result().choices[0]
    assert choice.finish_reason == INTERRUPTED
    assert 5 <= len(choice.tokens) < 50
    assert whole.text.startswith(choice.text)


def test_the_statistics_are_the_rounds(model: Model) -> None:
    run = model.start(PROMPT, seed=2, n=2, ignore_eos=True, max_tokens=60, speculative={"adaptive": False})
    rounds = [done for step in run for done in step]
    stats = run.result().stats
    assert stats.drafted > 0
    assert stats.rounds == len(rounds)
    assert stats.tokens == sum(len(done.tokens) for done in rounds) == 120
    assert stats.accepted == sum(done.accepted for done in rounds)
    assert stats.acceptance_rate == stats.accepted / stats.drafted
    assert stats.seconds >= stats.engine_seconds + stats.draft_seconds
    assert sum(choice.stats.tokens for choice in run.result().choices) == stats.tokens
    for choice in run.result().choices:
        assert choice.stats.seconds == sum(done.seconds for done in rounds if done.sample == choice.index)


@pytest.mark.parametrize(
    ("spec", "explained"),
    [(None, True), (False, False), ({"num_speculative_tokens": 0}, False), ({"adaptive": False}, False)],
    ids=str,
)
def test_what_was_decided_is_told_where_something_was_left_to_be_decided(model: Model, spec, explained) -> None:
    result = model.generate(PROMPT, seed=2, max_tokens=9, ignore_eos=True, speculative=spec)
    assert (result.explanation is not None) == explained


def test_passes_over_a_long_prompt_are_part_of_the_engines_time(model: Model) -> None:
    run = model.start("the" + " cat" * 4000, seed=1, max_tokens=2)
    rounds = [done for step in run for done in step]
    assert run.result().stats.engine_seconds > sum(done.engine_seconds for done in rounds)


def test_the_result_as_json_and_html(model: Model) -> None:
    result = model.generate(PROMPT, seed=2, temperature=0.0, max_tokens=12, ignore_eos=True)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    choice = data["choices"][0]
    assert len(choice["token_ids"]) == len(choice["origins"]) == len(choice["logprobs"]) == 12
    assert choice["sampling_logprobs"] == [0.0] * 12
    assert all(x <= 0 and math.isfinite(x) for x in choice["logprobs"])
    assert all(f">{piece}<" in result._repr_html_() for piece in result.choices[0].pieces if piece)


@pytest.mark.parametrize("prompt", ["", []])
def test_an_empty_prompt_is_refused(model: Model, prompt) -> None:
    with pytest.raises(BadPrompt, match="empty"):
        model.generate(prompt)


@pytest.mark.parametrize("prompt", [[99], [-1], ["the"], [0.5]])
def test_a_prompt_of_other_things_than_ids_is_refused(model: Model, prompt) -> None:
    with pytest.raises(BadPrompt, match="token ids"):
        model.generate(prompt)


def test_a_prompt_that_fills_the_context_is_refused(model: Model) -> None:
    short = load("tabular")
    short.engine.context_length = 10
    with pytest.raises(BadPrompt, match="10"):
        short.generate([0] * 10)
    result = short.generate([0] * 8, ignore_eos=True, max_tokens=50)
    assert (len(result.choices[0].tokens), result.choices[0].finish_reason) == (2, "length")


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"method": "psychic"}, UnknownName),
        ({"num_speculative_tokens": -1}, BadParameter),
        ({"num_speculative_tokens": "5"}, BadParameter),
        ({"tokens": 5}, BadParameter),
        ({"adaptive": 1}, BadParameter),
        ({"method": []}, BadParameter),
        ({"rejection_sample_method": 3}, BadParameter),
        ({"prompt_lookup_min": 3, "prompt_lookup_max": 2}, BadParameter),
        ({"method": "none", "prompt_lookup_max": 2}, BadParameter),
        ({"rejection_sample_method": "sometimes"}, UnknownName),
    ],
)
def test_a_bad_speculative_config_is_refused(model: Model, spec, error) -> None:
    with pytest.raises(error):
        model.generate(PROMPT, speculative=spec)


def test_parameters_come_whole_or_by_name(model: Model) -> None:
    params = SamplingParams(seed=4, max_tokens=5)
    assert texts(model.generate(PROMPT, params)) == texts(model.generate(PROMPT, seed=4, max_tokens=5))
    with pytest.raises(TypeError, match="not both"):
        model.generate(PROMPT, params, top_k=3)
    with pytest.raises(BadParameter, match="tempreature"):
        model.generate(PROMPT, tempreature=3)


WHERE_A_RUN_GOES_ON = (
    "account.py", "ending.py", "generation.py", "jobs.py", "loop.py", "reader.py", "scheduler.py", "stops.py",
)  # fmt: skip
READ = {"seed": 3, "n": 2, "max_tokens": 8, "ignore_eos": True}


def check_consistent(result, whole) -> None:
    """What another thread is told at any moment is the run after some round, and can be written as JSON."""
    json.dumps([result.to_dict(), result.explanation and result.explanation.to_dict()])
    assert sum(len(choice.tokens) for choice in result.choices) == result.stats.tokens
    for choice, expected in zip(result.choices, whole.choices, strict=True):
        assert expected.tokens[: len(choice.tokens)] == choice.tokens
        assert expected.pieces[: len(choice.pieces)] == choice.pieces
        assert "".join(choice.pieces) == choice.text
        if choice.finish_reason == INTERRUPTED:
            assert len(choice.pieces) == len(choice.tokens)
        else:
            assert choice.text == expected.text


@pytest.mark.parametrize("speculative", [None, False])
def test_a_run_can_be_read_at_any_moment(model: Model, speculative) -> None:
    whole = model.generate(PROMPT, speculative=speculative, stop="ran never", **READ)
    run = model.start(PROMPT, speculative=speculative, stop="ran never", **READ)
    seen = set()

    def read() -> None:
        result = run.result()
        check_consistent(result, whole)
        assert run.choice(1) == result.choices[1]
        seen.add(result.stats.tokens)

    between(lambda: list(run), read, *WHERE_A_RUN_GOES_ON)
    assert len(seen) > 5
    check_consistent(run.result(), whole)
    assert texts(run.result()) == texts(whole)


def test_several_may_read_a_run_at_once(model: Model) -> None:
    whole = texts(model.generate(PROMPT, **READ))
    for place in range(20):
        run = model.start(PROMPT, **READ)
        for _ in run:
            between_once(partial(run.choice, 0), place, run.result, "generation.py")
        assert texts(run.result()) == whole


def test_a_run_that_is_being_moved_is_not_moved_by_another_one(model: Model) -> None:
    whole = texts(model.generate(PROMPT, **READ))
    run, found = model.start(PROMPT, **READ), []

    def also() -> None:
        with pytest.raises(BadInput, match="one thread iterates it"):
            next(run)
        found.append(run.result())

    between_once(partial(next, run), 0, also, "scheduler.py")
    for _ in run:
        pass
    assert found
    assert texts(run.result()) == whole


def test_what_another_thread_moves_is_shown_whole(model: Model) -> None:
    """Also where it comes to its end between two looks at it."""
    settings = {**READ, "n": 1, "stop": "ran never", "speculative": False}
    whole = model.generate(PROMPT, **settings)
    for place in range(100):
        with model.batch() as batch:
            pieces = batch.add(PROMPT, **settings).pieces()
            others = partial(list, batch.completed())
            shown = between_once(partial(list, pieces), place, others, "generation.py", "pieces.py")
        assert "".join(piece.text for piece in shown) == whole.text, place


def test_a_run_that_goes_back_into_the_queue_has_taken_no_time(model: Model) -> None:
    run = model.start(PROMPT, **READ)
    next(iter(run))
    assert run._job.seconds > 0
    between(lambda: run._job.seconds, lambda: setattr(run._job, "opened_at", None), "working_time.py")


@pytest.mark.parametrize("index", [-1, 2, 1.0, None])
def test_a_sample_that_there_is_not_is_said_to_be_none(index) -> None:
    with load("tabular") as model:
        run = model.start("the cat", n=2, max_tokens=3, seed=1)
        for _ in run:
            pass
        assert run.choice(1) == run.result().choices[1]
        with pytest.raises(BadInput, match=r"there is no sample .*; this run has 2, the first is 0"):
            run.choice(index)
