"""The statistics of a check: their laws under exact sampling, by enumeration where possible, else by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from truedraw.stats.check.drawing import Drawn, Note
from truedraw.stats.check.family import holm, smallest_visible
from truedraw.stats.check.hypotheses import (
    Sample,
    coincidences,
    copies,
    impossible,
    run_tests,
    surprise,
    tails,
    toward,
    z_test,
)
from truedraw.stats.check.replay import PLACE, _place, cell

RNG = np.random.default_rng(8)
P = np.array([0.05, 0.3, 0.3, 0.0, 0.2, 0.15])
Q = np.array([0.0, 0.3, 0.1, 0.2, 0.25, 0.15])
with np.errstate(divide="ignore"):
    LOG_Q = np.log(Q).astype(np.float16)
NOTES = {
    "nothing drafted": None,
    "certain": Note(1, None),
    "unlikely and certain": Note(0, None),
    "sampled": Note(2, LOG_Q),
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_the_cells_of_the_transform_partition_the_unit_interval(note) -> None:
    """Then F(<x) + u p is uniform where x ~ p, exactly."""
    cells = sorted({tuple(np.round(cell(P, note, token), 12)) for token in range(len(P)) if P[token] > 0})
    end = 0.0
    for below, mass in cells:
        assert below == pytest.approx(end, abs=1e-9)
        end = below + mass
    assert end == pytest.approx(1.0)


def test_the_transform_puts_drafts_at_its_ends() -> None:
    assert cell(P, NOTES["certain"], 1) == (0.0, 0.3)
    below, _ = cell(P, NOTES["sampled"], 0)  # q excludes it: p / q is infinite
    assert below == pytest.approx(0.95)


def texts(seed: int, count: int = 8, length: int = 24, bias: float = 0.0, beside: float = 0.0) -> Sample:
    """Texts that follow rows of their own exactly, or lean towards the draft, or towards its last sibling."""
    rng = np.random.default_rng(seed)
    first = rng.dirichlet(np.ones(6))
    places = np.zeros((count, length), dtype=PLACE)
    words = np.zeros((count, length), dtype=int)
    for text, place in itertools.product(range(count), range(length)):
        p = rng.dirichlet(np.ones(6)) if place else first
        log_q = np.log(rng.dirichlet(np.ones(6))).astype(np.float16)
        note = [None, Note(int(rng.integers(6)), None), Note(0, log_q), Note(4, None, (2, 5))][int(rng.integers(4))]
        drawn = int(rng.choice(6, p=p))
        token = note.token if note and note.log_q is None and rng.random() < bias else drawn
        if note and note.others and token != note.token and rng.random() < beside:
            token = note.others[-1]
        words[text, place] = token
        places[text, place] = (*_place(p, note, token, rng.random()), 0.0)
    return Sample(Drawn((), [], words.tolist()), places, first)


@pytest.fixture(scope="module")
def exact_runs():
    return [run_tests([texts(2 * seed), texts(2 * seed + 1)]) for seed in range(100)]


@pytest.mark.parametrize("index", range(len(run_tests([texts(0)]))))
def test_p_values_under_exact_sampling_are_uniform_or_larger(exact_runs, index) -> None:
    values = np.array([tests[index].p_value for tests in exact_runs])
    if exact_runs[0][index].name == "running e-value":
        assert all((values <= level).mean() <= level + 0.05 for level in (0.01, 0.05, 0.2))
    else:
        steps = exact_runs[0][index].name.startswith(("text", "likeliest", "equal"))  # which only make them larger
        assert stats.kstest(values, "uniform", alternative="greater" if steps else "two-sided").pvalue > 1e-3


@pytest.mark.parametrize("chance", [0.5, 0.1, 0.01, 0.0025, 1e-3, 1e-4])
@pytest.mark.parametrize("count", [40, 400, 4000, 40_000])
def test_no_test_refuses_far_more_often_than_it_says(count, chance) -> None:
    """Places that are all alike, with one other token: how often a verdict falls is a binomial law's to say."""
    level = 0.01 / 9
    p = np.array([1 - chance, chance])
    rows = {token: _place(p, Note(1, None), token, 0.5) for token in (0, 1)}
    happened = np.arange(stats.binom.ppf(1 - 1e-9, count, chance) + 2)
    weights = stats.binom.pmf(happened, count, chance)
    refused = np.zeros((2, len(happened)), bool)
    for each in happened.astype(int):
        places = np.zeros(min(count, 40), dtype=PLACE)
        counts = np.round([(count - each), each])
        table = np.array([(*rows[0], 0.0), (*rows[1], 0.0)], dtype=PLACE)
        sums = {name: float(counts @ table[name]) for name in PLACE.names}
        for name in ("surprise", "surprise_variance", "surprise_third"):
            places[name] = sums[name] / len(places)
        refused[0, each] = surprise(places).p_value <= level
        variance = count * chance * (1 - chance)
        refused[1, each] = z_test("", each - count * chance, variance, count).p_value <= level
    assert (refused @ weights <= 2 * level).all(), refused @ weights / level


def test_a_token_of_hardly_any_chance_does_not_decide() -> None:
    p = np.array([1 - 1e-30, 1e-30])
    (place,) = np.array([(*_place(p, None, 1, 0.5), 0.0)], dtype=PLACE)
    assert -9 < place["surprise"] < -7
    assert place["surprise_variance"] < 1e-20


def test_a_lean_towards_the_draft_is_seen_by_those_who_look_for_it() -> None:
    found = {test.name: test.p_value for test in run_tests([texts(seed, 16, 40, bias=0.25) for seed in range(4)])}
    for name in ("text follows the draft", "uniformity (KS)", "log p + entropy", "running e-value"):
        assert found[name] < 1e-4, found


def test_a_lean_towards_a_later_sibling_is_seen_by_those_who_look_for_it() -> None:
    found = {test.name: test.p_value for test in run_tests([texts(seed, 16, 40, beside=0.5) for seed in range(4)])}
    for name in ("text follows a later sibling", "running e-value"):
        assert found[name] < 1e-4, found
    assert found["text follows the draft"] > 1e-3


def follow(pit: np.ndarray) -> None:
    pit[:, 1::2] = pit[:, ::2]


def stand_side_by_side(pit: np.ndarray) -> None:
    pit[1::2] = pit[::2]


NEIGHBOURS = {"tokens that follow each other": follow, "samples side by side": stand_side_by_side}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_that_are_alike_are_seen_by_those_who_look_at_them(name) -> None:
    samples = [texts(seed, 16, 40) for seed in range(2)]
    for sample in samples:
        NEIGHBOURS[name](sample.places["pit"])
    found = {test.name: test.p_value for test in run_tests(samples)}
    assert found[name] < 1e-4
    assert [each for each in NEIGHBOURS if found[each] < 1e-3] == [name]


@pytest.mark.parametrize("happened", [False, True])
def test_a_lean_towards_the_likeliest_token_or_away_from_it_is_seen(happened) -> None:
    sample = texts(0, 16, 40)
    sample.places["top"][:, ::2] = happened
    found = {test.name: test.p_value for test in run_tests([sample])}
    assert found["likeliest token"] < 1e-4
    assert found["text follows the draft"] > 1e-3


@pytest.mark.parametrize(("tokens", "is_seen"), [
    ([0] * 16, True), (range(16), True), ([0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10], False),
])  # fmt: skip
def test_first_tokens_that_are_equal_too_often_or_too_seldom_are_seen(tokens, is_seen) -> None:
    sample = Sample(Drawn((), [], [[token] for token in tokens]), np.zeros((16, 1), PLACE), np.full(16, 1 / 16))
    assert (coincidences([sample] * 4).p_value < 2e-4) == is_seen


def test_coincidences_have_the_mean_and_the_variance_that_enumeration_gives() -> None:
    p, n = np.array([0.5, 0.3, 0.2]), 4
    pairs = {}
    for tokens in itertools.product(range(3), repeat=n):
        pairs[tokens] = (math.prod(p[list(tokens)]), sum(a == b for a, b in itertools.combinations(tokens, 2)))
    mean = math.fsum(w * count for w, count in pairs.values())
    variance = math.fsum(w * (count - mean) ** 2 for w, count in pairs.values())
    many = 60  # equal calls, so that the sum varies enough for a verdict
    tokens = (0, 0, 0, 1)
    found = coincidences([Sample(Drawn((), [], [[t] for t in tokens]), np.zeros((n, 1), PLACE), p)] * many)
    assert found.score == pytest.approx(many * (3 - mean) / math.sqrt(many * variance))
    assert found.count == many * 6


@pytest.mark.slow
def test_the_p_value_of_coincidences_is_right_where_a_normal_law_is_not() -> None:
    """A few calls of 16 samples each, first tokens of one law with a heavy head and a long tail: skewed sums."""
    p = np.array([0.25, 0.1] + [0.65 / 400] * 400)
    chance = np.random.default_rng(5)

    def p_value() -> float:
        calls = [[[t] for t in chance.choice(len(p), 16, p=p)] for _ in range(3)]
        return coincidences([Sample(Drawn((), [], call), np.zeros((16, 1), PLACE), p) for call in calls]).p_value

    found = np.array([p_value() for _ in range(150)])
    assert (found < 0.02).mean() < 0.07  # 0.02 expected; above 0.067 in one run of 500
    shared = [[[int(t)]] * 16 for t in chance.choice(len(p), 3, p=p)]
    assert coincidences([Sample(Drawn((), [], c), np.zeros((16, 1), PLACE), p) for c in shared]).p_value < 2e-4


def test_texts_whose_first_laws_differ_have_no_coincidences_to_count() -> None:
    sample = Sample(Drawn((), [], [[0], [0]]), np.zeros((2, 1), PLACE), np.zeros(0))
    assert coincidences([sample]).p_value == 1.0


def test_tokens_outside_the_law_are_counted() -> None:
    sample = texts(0)
    assert impossible([sample]) == 0
    sample.places["chance"][0, :2] = 0.0
    assert impossible([sample, texts(1)]) == 2


def test_holm() -> None:
    """Holm's own step-down: 4, 3, 2, 1 times the ordered values, never falling."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_smallest_visible_bias_agrees_with_its_formula_and_with_tossed_coins() -> None:
    assert smallest_visible(1592, 1, 1e-6, 0.999) == pytest.approx(0.1, rel=2e-3)
    bias, seen = smallest_visible(900, 8, 0.01, 0.99), 0
    for _ in range(400):
        heads = RNG.random(900) < 0.5 + bias
        seen += z_test("coins", heads.sum() - 450.0, 225.0, 900).p_value <= 0.01 / 8
    assert seen / 400 > 0.97


def test_where_there_is_no_chance_there_is_no_verdict() -> None:
    assert z_test("nothing", 3.0, 0.0, 10).p_value == 1.0


@pytest.mark.parametrize("chances", [[0.5], [0.2, 0.9, 0.4], [0.01] * 6, [0.0, 1.0, 0.3, 0.7]])
def test_tails_are_those_of_all_ways_to_toss_the_coins(chances) -> None:
    law = np.zeros(len(chances) + 1)
    for tossed in itertools.product((0, 1), repeat=len(chances)):
        law[sum(tossed)] += np.prod([c if up else 1 - c for c, up in zip(chances, tossed, strict=True)])
    for count in range(len(law)):
        below, above = tails(count, np.array(chances))
        assert below == pytest.approx(law[: count + 1].sum(), abs=3e-12)
        assert above == pytest.approx(law[count:].sum(), abs=3e-12)


@pytest.mark.parametrize(("count", "chance", "heads"), [(8192, 7e-4, 22), (4000, 0.5, 2200), (3000, 0.999, 2980)])
def test_tails_of_many_equal_coins_are_a_binomial_laws(count, chance, heads) -> None:
    below, above = tails(heads, np.full(count, chance))
    assert below == pytest.approx(stats.binom.cdf(heads, count, chance), rel=1e-9, abs=3e-12)
    assert above == pytest.approx(stats.binom.sf(heads - 1, count, chance), rel=1e-9, abs=3e-12)


def test_rare_events_are_judged_by_the_law_of_rare_events() -> None:
    """A normal law would refuse 22 where 5.7 are expected at a p-value six times too small."""
    happened = np.arange(8192) < 22
    found = toward("rare", happened, np.full(8192, 7e-4))
    assert found.p_value == pytest.approx(2 * stats.binom.sf(21, 8192, 7e-4), rel=1e-3)
    assert found.p_value > 6 * math.erfc(abs(found.score) / math.sqrt(2))


def texts_of(tokens, chance) -> Sample:
    places = np.zeros(np.shape(tokens), PLACE)
    places["chance"] = np.asarray(chance)[np.asarray(tokens)]
    return Sample(Drawn([0], [], [list(text) for text in tokens]), places, np.asarray(chance))


def test_copies_of_texts_that_stand_apart_are_seen() -> None:
    tokens = np.random.default_rng(5).integers(0, 4, (16, 24))
    fair = np.full(4, 0.25)
    assert copies([texts_of(tokens, fair)]).p_value == 1.0
    tokens[8:] = tokens[:8]
    assert copies([texts_of(tokens, fair)]).p_value < 1e-10
    assert copies([texts_of(np.zeros((16, 24), int), [1.0, 0.0, 0.0, 0.0])]).p_value == 1.0


def test_copies_are_weighed_by_an_e_value() -> None:
    """Over every pair of texts of two tokens its mean is 1."""
    chance, pairs = np.array([0.5, 0.3, 0.2]), list(itertools.product(itertools.product(range(3), repeat=2), repeat=2))
    weight = [np.prod(chance[list(one)]) * np.prod(chance[list(other)]) for one, other in pairs]
    value = [1 / np.prod(chance[list(one)]) if one == other else 0.0 for one, other in pairs]
    assert np.dot(weight, value) == pytest.approx(1.0)
    assert copies([texts_of([(2, 2), (2, 2)], chance)]).p_value == pytest.approx(0.04)
