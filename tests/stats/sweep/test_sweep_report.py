import math
import random
import re
from itertools import combinations, product

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


def test_samples_of_a_lossy_rule_are_marked():
    mine, theirs = point_reports([*RECORDS, record(1.0, 2, [1], exact=False), record(0.2, 2, [1], exact=True)], AXES)
    assert [each.to_dict()["lossy"] for each in (mine, theirs)] == [0, 1]
    assert "Lossy: 1 of them do not have the model's distribution" in to_html([mine, theirs], {})
    assert "Lossy" not in to_html([mine], {})


def test_the_example_is_the_first_sample_with_a_text():
    blank = [record(1.0, 0, [9], text="\n"), record(0.2, 0, [], text="")]
    cold, hot = point_reports([record(1.0, 1, [1], text="b"), record(1.0, 2, [1], text="a"), *blank], AXES)
    assert (cold.example, hot.example) == ("", "b")
    assert "<blockquote><i>no text</i></blockquote>" in to_html([cold, hot], {})


def test_curves_are_what_else_varies():
    grid = [record(t, 0, [1, 2], top_p=p, top_k=5) for t in (0.5, 1.0) for p in (0.9, 1.0)]
    points = point_reports(grid, AXES)
    assert varying(points) == "temperature"
    assert list(by_curve(points, "temperature")) == [(("top_p", p), ("top_k", 5)) for p in (0.9, 1.0)]
    assert re.findall("</svg> ([^<]*)</li>", to_html(points, {})) == ["top_p 0.9, top_k 5", "top_p 1, top_k 5"]
    assert varying(point_reports([record(1.0, 0, [1], top_k=k) for k in (1, 5)], AXES)) == "top_k"


def test_values_that_hardly_differ_are_curves_of_their_own():
    grid = [record(t, 0, [1, 2], top_p=p) for t in (0.5, 1.0) for p in (0.9, 0.9000001)]
    points = point_reports(grid, AXES)
    assert [len(group) for group in by_curve(points, "temperature").values()] == [2, 2]
    page = to_html(points, {})
    assert re.findall("</svg> ([^<]*)</li>", page) == ["top_p 0.9", "top_p 0.9000001"]
    assert page.count("<td>0.9000001</td>") == 2
    assert page.count("<p>temperature 1, top_p 0.9000001</p>") == 1


def test_a_top_k_beyond_any_float():
    page = to_html(point_reports([record(1.0, 0, [1, 2], top_k=k) for k in (5, 10**400)], AXES), {})
    assert page.count("<figure ") == 4
    assert f"<td>{10**400}</td>" in page


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


def grid():
    """Two samples at each of two by three points, every number of which is another one."""
    rng = random.Random(3)
    for t, p in product((0.2, 0.5, 1.1), (0.9, 1.0)):
        for sample in (0, 1):
            tokens = [rng.randrange(round(12 * t * p) + 2) for _ in range(10 + 3 * sample)]
            logs = [-rng.random() * 3 * t for _ in tokens]
            yield record(t, sample, tokens, top_p=p, logprobs=logs, sampling_logprobs=[p * log / 4 for log in logs])


MEANINGS = {
    "distinct-1": lambda point: point.distinct[1],
    "distinct-2": lambda point: point.distinct[2],
    "distinct-3": lambda point: point.distinct[3],
    "self-BLEU": lambda point: point.self_bleu,
    "log probability by the model, nats a token": lambda point: point.logprob.value,
    "entropy of the sampling law, nats a token": lambda point: point.entropy.value,
}
"""What the caption of each plot says that it shows."""


def scale(marks):
    """From pixels to data, by two values that stand beside an axis."""
    (a, at_a), (b, at_b) = ((float(at), float(value)) for at, value in (marks[0], marks[-1]))
    return lambda pixels: at_a + (pixels - a) * (at_b - at_a) / (b - a)


def read_plot(figure):
    """{name of a curve: its points as data}, and what a pixel is on both axes."""
    below = re.findall(r'<text x="([\d.]+)" y="198[\d.]*" text-anchor="middle">([^<]+)<', figure)
    beside = re.findall(r'y="([\d.]+)" text-anchor="end">([^<]+)<', figure)
    below.sort(key=lambda mark: float(mark[0]))
    x, y = scale(below), scale([(float(at) - 4, value) for at, value in beside])  # values stand 4 pixels below
    curves = {}
    for name, body in re.findall(r"<g><title>(.*?)</title>(.*?)</g>", figure):
        dots = re.findall(r'<circle class="k\d+" cx="([\d.]+)" cy="([\d.]+)"', body)
        line = re.search(r'<polyline class="[^"]*" points="([^"]*)"', body)[1]
        assert line == " ".join(f"{across},{down}" for across, down in dots)
        curves[name] = [(x(float(across)), y(float(down))) for across, down in dots]
    return curves, abs(x(1) - x(0)), abs(y(1) - y(0))


def test_dots_and_cells_read_back_are_the_numbers_of_their_points():
    points = point_reports(grid(), AXES)
    page = to_html(points, {})
    figures = {re.search("<figcaption>([^<]*)", each)[1]: each for each in page.split("<figure")[1:]}
    assert list(figures) == list(MEANINGS)
    for caption, figure in figures.items():
        curves, x_pixel, y_pixel = read_plot(figure)
        assert list(curves) == ["top_p 0.9", "top_p 1"]
        for name, dots in curves.items():
            own = [point for point in points if f"top_p {dict(point.values)['top_p']:g}" == name]
            assert [x for x, _ in dots] == pytest.approx([0.2, 0.5, 1.1], abs=x_pixel)
            assert [y for _, y in dots] == pytest.approx([MEANINGS[caption](point) for point in own], abs=y_pixel / 2)
    head, *rows = (re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page))
    assert head[-6:] == ["distinct-1", "distinct-2", "distinct-3", "self-BLEU", "log probability", "entropy"]
    for cells, point in zip(rows, points, strict=True):
        found = dict(zip(head, cells, strict=True))
        assert (float(found["temperature"]), float(found["top_p"])) == tuple(value for _, value in point.values)
        assert (found["samples"], found["tokens"], found["ended"]) == ("2", "11.5", "100%")
        told = [float(found[name].partition(" ")[0]) for name in head[-6:]]
        assert told == pytest.approx([meaning(point) for meaning in MEANINGS.values()], abs=6e-4)
        for name, mean in (("log probability", point.logprob), ("entropy", point.entropy)):
            assert found[name].endswith(f"± {mean.error:.3f}")


def test_no_two_plots_and_no_two_curves_above_are_alike():
    points = point_reports(grid(), AXES)
    plots = [[meaning(point) for point in points] for meaning in MEANINGS.values()]
    curves = [plot[first::2] for plot in plots for first in (0, 1)]
    for these in (plots, curves):
        assert min(max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in combinations(these, 2)) > 0.02
