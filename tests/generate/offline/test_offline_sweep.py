import json
from dataclasses import replace
from pathlib import Path
from sys import maxsize

import pytest

from truedraw import load
from truedraw.errors import BadFile, BadInput, BadParameter
from truedraw.generate.derived_seeds import derived_seed
from truedraw.generate.offline.grid import Draw, Point, draws, point_of, points
from truedraw.generate.offline.sweep import Sweep, drawn, run_sweep

GRID = {"temperature": [0.3, 1.0], "top_p": [0.9, 1], "min_p": [], "top_k": []}
SWEEP = Sweep(["the cat", "the dog"], points(GRID), 3, {"max_tokens": 6}, 5)


@pytest.fixture(scope="module")
def model():
    with load("tabular") as loaded:
        yield loaded


def run(model, sweep, done=(), max_running=8):
    found = []
    run_sweep(model.batch(max_running=max_running), sweep, set(done), found.append)
    return found


def by_draw(records):
    found = {draw: record for record in records for draw in drawn([record], Path("out"))}
    assert len(found) == len(records)
    return found


def test_points_are_all_combinations():
    assert [point.name for point in points(GRID)] == [
        "temperature=0.3 top_p=0.9", "temperature=0.3 top_p=1", "temperature=1 top_p=0.9", "temperature=1 top_p=1",
    ]  # fmt: skip
    assert points({"top_k": [-1]})[0].params() == {"top_k": -1}
    assert points({"top_k": [10**400]})[0].name == f"top_k={10**400}"


def test_a_grid_beyond_all_measure_is_refused_before_it_is_laid_out():
    grid = {"temperature": [i / 1000 for i in range(1000)], "top_p": [0.5, 1.0], "top_k": list(range(900))}
    with pytest.raises(BadParameter, match=r"^temperature: the grid has 1,800,000 points.*65,536") as error:
        points(grid)
    assert error.value.parameter == "temperature"
    assert len(points({"top_k": list(range(1 << 16))})) == 1 << 16


def test_a_number_means_the_same_however_it_is_written():
    assert Point((("temperature", 1),)).name == Point((("temperature", 1.0),)).name
    assert Point((("temperature", 1),)) == Point((("temperature", 1.0),))
    assert Point((("temperature", 0.1 + 0.2),)).name != Point((("temperature", 0.3),)).name


def test_every_sample_is_there_once_and_has_its_own_seed(model):
    records = run(model, SWEEP)
    found = by_draw(records)
    assert set(found) == set(draws(2, SWEEP.points, 3))
    assert len(records) == len(SWEEP) == 24
    assert len({record["seed"] for record in records}) == 24
    one = found[Draw(1, SWEEP.points[2], 2)]
    assert one["seed"] == derived_seed(5, 1, "temperature=1 top_p=0.9", 2)
    assert (one["temperature"], one["top_p"]) == (1.0, 0.9)


@pytest.mark.parametrize(
    "more", [{"speculative": {"method": "model", "model": "nobody"}}, {"params": {"stop_token_ids": [99]}}]
)
def test_what_no_sample_could_be_drawn_with_is_one_error(model, more):
    with pytest.raises(BadInput, match=r"nobody|stop_token_ids"):
        run(model, replace(SWEEP, **more))


def test_every_sample_can_be_drawn_again_alone(model):
    for draw, record in by_draw(run(model, SWEEP)).items():
        again = model.generate(SWEEP.prompts[draw.prompt], max_tokens=6, seed=record["seed"], **draw.point.params())
        assert (record["text"], record["token_ids"]) == (again.text, list(again.choices[0].tokens))
        assert record["sampling_logprobs"] == pytest.approx(again.choices[0].sampling_logprobs)


def test_it_goes_on_from_any_subset_with_the_same_samples(model):
    whole = by_draw(run(model, SWEEP))
    for kept in (0, 1, 7, 23, 24):
        done = list(whole)[:kept]
        rest = by_draw(run(model, SWEEP, done, max_running=3))
        assert not set(rest) & set(done)
        assert set(rest) | set(done) == set(whole)
        assert all(rest[draw]["token_ids"] == whole[draw]["token_ids"] for draw in rest)


def test_what_fails_is_kept_beside_its_sample(model):
    records = run(model, replace(SWEEP, prompts=["", "the"], n=1))
    assert [("error" in record) for record in sorted(records, key=lambda r: r["prompt"])] == [True] * 4 + [False] * 4
    assert "empty" in next(record["error"]["message"] for record in records if "error" in record)


def test_points_are_checked_before_anything_is_drawn():
    with pytest.raises(BadParameter, match="top_p"):
        replace(SWEEP, points=points({"temperature": [1], "top_p": [0.5, 2]})).check()


def test_more_samples_than_can_be_counted_are_refused_and_one_less_is_not():
    most = maxsize // (len(SWEEP.prompts) * len(SWEEP.points))
    replace(SWEEP, n=most).check()
    with pytest.raises(BadParameter, match=f"n: got .*; give at most {most:,} samples"):
        replace(SWEEP, n=most + 1).check()


def test_lines_of_another_kind():
    for record in ({}, {"prompt": 0, "sample": 1}, {"prompt": "the", "sample": 0, "temperature": 1}):
        with pytest.raises(BadFile, match="no sample of a sweep"):
            drawn([record], Path("out"))


def test_a_record_tells_its_point():
    assert point_of({"top_k": 5, "temperature": 0.5, "text": ""}) == Point((("temperature", 0.5), ("top_k", 5)))


def sample(**changes):
    whole = {"text": "a", "finish_reason": "stop", "token_ids": [1], "logprobs": [-1.0], "sampling_logprobs": [-1.0]}
    return {"prompt": 0, "sample": 0, **SWEEP.points[0].params(), **whole, **changes}


@pytest.mark.parametrize(("kind", "found"), [("OutOfPages", []), ("BadPrompt", [True])])
def test_only_an_error_that_another_try_may_not_meet_leaves_its_sample_to_be_drawn(kind, found):
    failed = {"prompt": 0, "sample": 0, **SWEEP.points[0].params(), "error": {"type": kind, "message": "no"}}
    assert list(drawn([failed], Path("out"), SWEEP).values()) == found


class Breaks:
    def open(self, tokens, law):
        raise RuntimeError("no drafts today")


def test_a_record_tells_what_was_not_as_usual_in_drafting(model, monkeypatch):
    usual = run(model, replace(SWEEP, n=1))
    assert not any({"lossy", "fallback"} & record.keys() for record in usual)
    lossy = {"method": "ngram", "rejection_sample_method": "lenient", "allow_lossy": True}
    record = run(model, replace(SWEEP, n=1, speculative=lossy))[0]
    assert record["lossy"]["rule"] == "lenient"
    monkeypatch.setattr("truedraw.draft.ngram.NgramDrafter.open", Breaks.open)
    assert "no drafts today" in run(model, replace(SWEEP, n=1, speculative="ngram"))[0]["fallback"]


def test_samples_of_one_point_share_it():
    records = [sample(sample=number, **point.params()) for point in SWEEP.points for number in range(SWEEP.n)]
    found = drawn([json.loads(json.dumps(record)) for record in records], Path("out"), SWEEP)
    assert len(found) == len(records) > len(SWEEP.points)
    assert len({id(draw.point) for draw in found}) == len(SWEEP.points)


def test_a_part_of_a_sample_is_none():
    assert len(drawn([sample()], Path("out"), SWEEP)) == 1
    first = next(iter(SWEEP.points[0].params()))
    lacking = [{k: v for k, v in sample().items() if k != name} for name in ("text", "token_ids", "sampling_logprobs")]
    others = sample(token_ids=["a"]), sample(token_ids=[1.5]), sample(logprobs=[None]), sample(sampling_logprobs=["1"])
    too_large = sample(token_ids=[1 << 63]), sample(logprobs=[-(10**400)]), sample(sampling_logprobs=[-1e308])
    for record in (
        *lacking,
        *others,
        *too_large,
        sample(logprobs=None),
        sample(error="no"),
        sample(prompt=True),
        sample(**{first: "x"}),
    ):
        with pytest.raises(BadFile, match="out holds a line that is no sample of a sweep"):
            drawn([record], Path("out"), SWEEP)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "twice"),
        ({"sample": SWEEP.n}, "none of this sweep"),
        ({"prompt": len(SWEEP.prompts)}, "none of this sweep"),
        ({"prompt": -1}, "none of this sweep"),
        ({"sample": -1}, "none of this sweep"),
        ({"temperature": 0.123}, "none of this sweep"),
    ],
)
def test_a_sample_that_is_there_twice_or_of_another_sweep(more, said):
    with pytest.raises(BadFile, match=f"out holds sample .* of prompt .* {said}"):
        drawn([sample(), sample(**more)], Path("out"), SWEEP)
