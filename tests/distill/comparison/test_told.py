"""Tables and differences of losses from stored results, without a head."""

import json

import numpy as np
import pytest

from truedraw.distill.comparison.intervals import RESAMPLES, best_of, less, means_of, told
from truedraw.distill.comparison.page import to_html
from truedraw.distill.comparison.results import checked
from truedraw.distill.comparison.running import Begun
from truedraw.distill.comparison.seen import Sums
from truedraw.distill.comparison.told import HELD_OUT, PROMPTS, sections, trainings
from truedraw.distill.comparison.wanted import folder_of, losses_of
from truedraw.errors import BadFile, BadParameter

TEXTS = 40


def kept(level, seed=0, texts=TEXTS):
    """Chances of drafts [rows, 4] in texts of 5 to 20 rows that differ much from one another."""
    chance = np.random.default_rng(seed)
    rows = np.repeat(np.arange(texts), chance.integers(5, 21, texts))
    own = np.random.default_rng(7).normal(0, 0.15, texts)[rows]
    noise = chance.normal(0, 0.05, (len(rows), 4))
    return np.clip(level + own[:, None] + noise - 0.03 * np.arange(4), 0.01, 0.99), rows


def sums(level, texts=TEXTS):
    return Sums.of(*kept(level, texts=texts))


def record(loss, level, kinds=(HELD_OUT,), stopped=None):
    measured = {kind: {each: sums(level).to_json() for each in ("1", "0.7", "0")} for kind in kinds}
    looks = [{"tokens": 1000 * i, "step": i, "acceptance": [level] * 4, "tokens_a_round": 1 + level} for i in range(3)]
    return {"loss": loss, "steps": 9, "best_step": 8, "trained_tokens": 99, "seconds": 1.5, "final_loss": 0.5,
            "stopped": stopped, "looks": looks, "measured": measured}  # fmt: skip


def test_sums_are_those_of_the_rows():
    chances, rows = kept(0.5)
    found = sums(0.5)
    assert found.rows.tolist() == np.bincount(rows).tolist()
    one = chances[rows == 3]
    np.testing.assert_allclose(found.values[3, :4], one.sum(0))
    np.testing.assert_allclose(found.values[3, 4], sum(1 + a + a * b + a * b * c + a * b * c * d for a, b, c, d in one))
    again = Sums.from_json(json.loads(json.dumps(found.to_json())), "x")
    np.testing.assert_allclose(again.values, found.values, atol=1e-5)


def test_intervals_have_the_width_that_texts_give():
    """Against the linearised error of a ratio, which knows nothing of resampling."""
    found = sums(0.5)
    (mean,) = (each for each in told(means_of({"kl": found})["kl"])[:1])
    ratio = found.values[:, 0].sum() / found.rows.sum()
    off = found.values[:, 0] - ratio * found.rows
    error = np.sqrt((off**2).sum() * TEXTS / (TEXTS - 1)) / found.rows.sum()
    assert mean["mean"] == pytest.approx(ratio)
    assert (mean["high"] - mean["low"]) / 2 == pytest.approx(1.96 * error, rel=0.1)
    chances, _ = kept(0.5)
    assert error > 2 * chances[:, 0].std() / np.sqrt(len(chances))  # as if rows were independent: far too narrow


def test_a_difference_is_taken_text_by_text():
    means = means_of({"kl": sums(0.50), "lk": sums(0.52)})
    assert best_of(means) == "lk"
    apart = told(less(means["kl"], means["lk"]))[0]
    own = told(means["lk"])[0]
    assert apart["mean"] == pytest.approx(-0.02, abs=0.003)
    assert apart["low"] <= apart["mean"] <= apart["high"] < 0
    assert apart["high"] - apart["low"] < 0.2 * (own["high"] - own["low"])
    assert means["kl"].resampled.shape == (RESAMPLES, 5)


def test_one_text_has_no_interval():
    means = means_of({"kl": sums(0.5, texts=1)})
    assert {each["low"] for each in told(means["kl"])} == {None}
    assert told(less(means["kl"], means["kl"]))[0] == {"mean": 0.0, "low": None, "high": None}


def test_sections_of_all_texts_and_temperatures():
    records = [record(loss, level, (HELD_OUT, PROMPTS)) for loss, level in (("kl", 0.4), ("tv", 0.5), ("lk", 0.45))]
    found = sections(records, "x")
    assert [(each["texts_of"], each["temperature"]) for each in found] == [
        (kind, temperature) for kind in (HELD_OUT, PROMPTS) for temperature in (1.0, 0.7, 0.0)
    ]
    first = found[0]
    assert (first["best"], first["texts"], [*first["losses"]]) == ("tv", TEXTS, ["kl", "tv", "lk"])
    assert first["losses"]["tv"]["to_the_best"]["tokens_per_round"] == {"mean": 0, "low": 0, "high": 0}
    assert first["losses"]["kl"]["to_the_best"]["tokens_per_round"]["high"] < 0
    assert len(first["losses"]["kl"]["acceptance"]) == 4
    assert trainings(records)["tv"]["steps"] == 9
    assert [*sections([record("kl", 0.4)], "x")[0]["losses"]] == ["kl"]


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"rows": [1], "values": [[1]]},
        {"rows": 1, "values": [[1, 2]]},
        {"rows": [1], "values": [1, 2]},
        {"rows": [1], "values": [[1, 2, 3, 4, None]]},
        {"rows": [], "values": []},
        {"rows": [0], "values": [[0] * 5]},
        {"rows": ["x"], "values": [[0] * 5]},
    ],
)
def test_a_line_that_is_no_result_is_refused(broken):
    bad = record("kl", 0.5)
    bad["measured"][HELD_OUT]["1"] = broken
    with pytest.raises(BadFile, match=r"results\.jsonl holds a line that is no result of ours"):
        sections([bad], "results.jsonl")


def test_results_of_other_texts_are_not_compared():
    other = record("lk", 0.5)
    other["measured"][HELD_OUT]["1"]["rows"][0] += 1
    with pytest.raises(BadFile, match="results of different texts"):
        sections([record("kl", 0.5), other], "x")


def test_the_page_has_curves_tables_and_no_markup_of_others():
    records = [record("kl", 0.4), record("lk", 0.5, stopped="<b>no number</b>")]
    found = {"model": "<i>odd</i>", "trainings": trainings(records), "sections": sections(records, "x")}
    page = to_html(found, {each["loss"]: each["looks"] for each in records})
    assert page.count("<svg viewBox") == 3
    assert page.count("<table") == 3
    assert page.count("the best</td>") == 3
    assert "<b>" not in page
    assert "<i>" not in page


def test_names_of_losses():
    assert losses_of("kl, tvd++") == ("kl", "tvd++")
    assert losses_of("lk") == ("lk",)
    with pytest.raises(BadParameter, match=r"--losses: got 'mse', ''; choose any of: kl, rkl, js, tv, tvd\+\+, lk"):
        losses_of("kl,mse,,mse")
    with pytest.raises(BadParameter, match="kl stands there twice"):
        losses_of("kl,lk,kl")


def test_the_same_settings_find_the_same_folder(tmp_path):
    one = folder_of(tmp_path, "comparison", {"steps": 3, "seed": 0})
    assert one == folder_of(tmp_path, "comparison", {"seed": 0, "steps": 3})
    assert one != folder_of(tmp_path, "comparison", {"seed": 1, "steps": 3})
    assert one.is_dir()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", None),
        ("steps", 1.5),
        ("seconds", "1"),
        ("final_loss", float("inf")),
        ("stopped", 3),
        ("looks", []),
        ("looks", [{"tokens": 1}]),
        ("measured", {}),
        ("measured", {HELD_OUT: {"1": {}}}),
        ("measured", {HELD_OUT: {each: {"rows": [float("inf")], "values": [[1, 1]]} for each in ("1", "0.7", "0")}}),
        ("measured", {HELD_OUT: {each: {"rows": [10**400], "values": [[1, 1]]} for each in ("1", "0.7", "0")}}),
    ],
)
def test_a_line_that_is_no_result_is_named(name, value):
    whole = json.loads(json.dumps(record("kl", 0.5)))
    assert [*checked([whole], "results.jsonl")] == [whole]
    for wrong in (whole | {name: value}, {each: whole[each] for each in whole if each != name}):
        with pytest.raises(BadFile, match=r"results\.jsonl holds a line that is no result of ours"):
            [*checked([wrong], "results.jsonl")]


@pytest.mark.parametrize("wrong", [{"tokens": 1.5}, {"rows": None}, {"rows": 10**400}, {"seconds": "8"}])
def test_a_beginning_that_no_comparison_wrote_is_named(wrong):
    begun = {"tokens": 9, "rows": 8, "seconds": None}
    assert Begun.found(begun, "results.jsonl") == Begun(9, 8, None)
    with pytest.raises(BadFile, match=r"results\.jsonl holds a line that is not ours"):
        Begun.found(begun | wrong, "results.jsonl")
