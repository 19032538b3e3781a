import math
import re

import pytest

from truedraw.stats.sweep.html import by_curve, to_html, varying
from truedraw.stats.sweep.points import point_reports

AXES = ("temperature", "top_p", "min_p", "top_k")


def record(temperature, sample, tokens, prompt=0, **more):
    return {
        "prompt": prompt, "sample": sample, "temperature": temperature, "text": f"{prompt}/{sample} <b>&",
        "finish_reason": "stop", "token_ids": tokens, "logprobs": [-1.0] * len(tokens),
        "sampling_logprobs": [-0.5] * len(tokens), **more,
    }  # fmt: skip


RECORDS = [
    record(1.0, 1, [1, 2, 3, 4]), record(1.0, 0, [5, 6, 7, 8], finish_reason="length"),
    record(0.2, 0, [1, 2, 3, 4]), record(0.2, 1, [1, 2, 3, 4]), record(0.2, 0, [9], prompt=1),
    {"prompt": 1, "sample": 1, "temperature": 0.2, "error": {"message": "x"}},
]  # fmt: skip


def test_numbers_of_each_point():
    cold, hot = point_reports(RECORDS, AXES)
    assert (cold.values, cold.samples, cold.failed) == ((("temperature", 0.2),), 3, 1)
    assert cold.distinct[1] == pytest.approx((0.5 + 1) / 2)  # averaged over the prompts
    assert cold.self_bleu == pytest.approx(1.0)  # of the only prompt with two samples
    assert (hot.stopped, hot.tokens, hot.distinct[2]) == (0.5, 4.0, 1.0)
    assert (hot.logprob.value, hot.entropy.value) == (-1.0, 0.5)
    assert (cold.example, hot.example) == ("0/0 <b>&", "0/0 <b>&")
    assert hot.to_dict()["temperature"] == 1.0


def test_the_page_is_safe_and_has_every_point():
    page = to_html(point_reports(RECORDS, AXES), {"model": "<m>", "seed": 1})
    assert "<m>" not in page
    assert "<b>" not in page
    assert page.count("<figure ") == 6
    assert page.count("<tr>") == 3
    assert "3 and 1 failed" in page
    assert "nan" not in page


def test_curves_are_what_else_varies():
    grid = [record(t, 0, [1, 2], top_p=p, top_k=5) for t in (0.5, 1.0) for p in (0.9, 1.0)]
    points = point_reports(grid, AXES)
    assert varying(points) == "temperature"
    assert list(by_curve(points, "temperature")) == ["top_p 0.9, top_k 5", "top_p 1, top_k 5"]
    assert varying(point_reports([record(1.0, 0, [1], top_k=k) for k in (1, 5)], AXES)) == "top_k"


def test_nothing_but_failures_and_nothing_at_all():
    page = to_html(point_reports([RECORDS[-1]], AXES), {})
    assert "0 and 1 failed" in page
    assert "<figure " not in page
    assert "0 samples at 0 points" in to_html([], {})


def test_empty_texts_and_infinite_surprise_do_not_break_it():
    points = point_reports([record(1.0, 0, []), record(1.0, 1, [])], AXES)
    assert points[0].logprob.value is None
    assert "–" in to_html(points, {})
    assert math.isfinite(len(to_html(points, {})))


def test_all_plots_have_the_same_x_axis_and_entropy_begins_at_nothing():
    short = [record(t, i, [1], sampling_logprobs=[-t]) for t in (0.2, 0.5) for i in (0, 1)]  # without runs of 3
    page = to_html(point_reports([*short, *(record(1.0, i, [1, 2, 3, 4]) for i in (0, 1))], AXES), {})
    figures = {re.search("<figcaption>([^<]*)", each)[1]: each for each in page.split("<figure")[1:]}
    assert len(figures) == 6
    for figure in figures.values():
        assert re.findall(r'y="198.*?>([^<]*)</text>', figure) == ["0.5", "0.2", "1"]  # between the ends, the ends
    marks = re.findall(r'text-anchor="end">([^<]*)', figures["entropy of the sampling law, nats a token"])
    assert (marks[0], marks[-1]) == ("0", "0.5")
