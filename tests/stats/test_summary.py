"""What became of the drafts, counted from rounds: the histogram and each position, and how people see it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from truedraw import Model, load
from truedraw.cli.statistics import MOST_POSITIONS, block, positions
from truedraw.protocol import Round
from truedraw.stats.summary import Stats, summary

PROMPT = "the cat sat ran dog sat ran the cat"


def a_round(
    drafted: int, accepted: int, forced: int = 0, rejected: bool | None = None, cut: int | None = None
) -> Round:
    """Of a chain, unless it is said whether a draft was rejected; `cut`: tokens that the stop rules left."""
    rejected = drafted > accepted if rejected is None else rejected
    last = "residual" if rejected else "bonus" if drafted else "plain"
    tokens = tuple(range(forced + accepted + 1))[:cut]
    origins = ("forced",) * forced + ("draft",) * accepted + (last,)
    nothing = (0.0,) * len(tokens)
    return Round(0, tokens, origins[: len(tokens)], nothing, nothing, drafted, accepted, min(forced, len(tokens)))


CHAINS = [a_round(3, 3), a_round(3, 1), a_round(2, 0), a_round(0, 0), a_round(3, 0), a_round(1, 1)]


def test_time_of_the_engine_beside_the_rounds_is_added_to_theirs() -> None:
    rounds = [replace(each, engine_seconds=0.5) for each in CHAINS]
    assert summary(rounds, 9.0, 2.0).engine_seconds == 5.0


def test_rounds_by_what_they_kept() -> None:
    stats = summary(CHAINS)
    assert stats.draft_rounds == 5
    assert stats.acceptance_histogram == (2, 2, 0, 1)
    assert stats.kept_by_position == (3, 1, 1)
    assert stats.tried_by_position == (5, 2, 1)


def test_positions_that_were_tried_and_never_kept_are_counted() -> None:
    stats = summary([a_round(4, 0), a_round(4, 1)])
    assert (stats.kept_by_position, stats.tried_by_position) == ((1, 0), (2, 1))
    assert stats.acceptance_histogram == (1, 1, 0, 0, 0)


def test_branches_beside_the_path_are_no_tries_below_it() -> None:
    leaf = a_round(5, 1, rejected=False)  # kept one of five siblings, which had nothing below it
    stats = summary([leaf, a_round(5, 1, rejected=True)])
    assert (stats.kept_by_position, stats.tried_by_position) == ((2, 0), (2, 1))


def test_what_had_to_come_is_no_draft() -> None:
    stats = summary([a_round(2, 1, forced=4), a_round(0, 0, forced=3)])
    assert stats.draft_rounds == 1
    assert (stats.kept_by_position, stats.tried_by_position, stats.forced) == ((1, 0), (1, 1), 7)


@pytest.mark.parametrize("cut", [1, 2])
def test_a_round_that_was_cut_short_counts_as_the_rule_saw_it(cut: int) -> None:
    stats = summary([a_round(3, 2, cut=cut)])
    assert (stats.kept_by_position, stats.tried_by_position) == ((1, 1, 0), (1, 1, 1))
    assert summary([a_round(2, 2, cut=cut)]).tried_by_position == (1, 1)


def test_drafts_that_the_stop_rules_cut_off_count_as_accepted(model: Model) -> None:
    assert (summary([a_round(3, 2, cut=1)]).accepted, summary([a_round(3, 2, cut=1)]).tokens) == (2, 1)
    said = " ".join((Stats.__doc__ or "").split())
    assert "also those that the stop rules cut off" in said
    spec = {"method": "ngram", "prompt_lookup_min": 1, "adaptive": False, "num_speculative_tokens": 5}
    done = [model.generate(PROMPT, speculative=spec, seed=seed, stop=["sat"], max_tokens=30) for seed in range(30)]
    kept = sum(origin == "draft" for each in done for origin in each.choices[0].origins)
    assert sum(each.stats.accepted for each in done) > kept


def test_speed_ups_are_told_of_a_run_alone_and_not_of_its_choices(model: Model) -> None:
    alone = model.generate(PROMPT, seed=1, n=2, ignore_eos=True, max_tokens=60)
    assert alone.stats.predicted_speedup is not None
    assert [each.stats.predicted_speedup for each in alone.choices] == [None, None]
    with model.batch() as batch:
        batch.add(PROMPT, seed=1, ignore_eos=True, max_tokens=60)
        (run,) = batch.completed()
    stats = run.result().stats
    assert (stats.predicted_speedup, stats.actual_speedup) == (None, None)
    off = model.generate(PROMPT, seed=1, max_tokens=9, speculative={"method": "ngram", "adaptive": False}).stats
    assert (off.predicted_speedup, off.actual_speedup) == (None, None)


def test_nothing_drafted_is_nothing_to_count() -> None:
    for rounds in ([], [a_round(0, 0)]):
        stats = summary(rounds)
        assert stats.draft_rounds == 0
        assert stats.acceptance_histogram == stats.kept_by_position == stats.tried_by_position == ()
        assert positions(stats) == ""


@pytest.mark.parametrize("trees", [False, True])
def test_the_counts_hold_together(trees: bool) -> None:
    rng = np.random.default_rng(7)
    rounds = []
    for _ in range(400):
        drafted = int(rng.integers(0, 8))
        accepted = int(rng.integers(0, drafted + 1))
        rejected = bool(rng.random() < 0.5) if trees and 0 < accepted < drafted else None
        rounds.append(a_round(drafted, accepted, int(rng.integers(0, 2)), rejected, rng.choice([None, 1])))
    stats = summary(rounds)
    assert sum(stats.acceptance_histogram) == stats.draft_rounds == sum(r.drafted > 0 for r in rounds)
    assert sum(j * n for j, n in enumerate(stats.acceptance_histogram)) == stats.accepted == sum(stats.kept_by_position)
    assert len(stats.acceptance_histogram) == 1 + max(r.drafted for r in rounds)
    assert stats.tried_by_position[0] == stats.draft_rounds
    pairs = list(zip(stats.kept_by_position, stats.tried_by_position, strict=True))
    assert all(kept <= tried for kept, tried in pairs)
    assert all(tried <= kept for (kept, _), (_, tried) in pairwise(pairs))


def test_reasons_are_part_of_the_statistics() -> None:
    assert summary([], fallbacks=(None, "it broke")).fallbacks == ("it broke",)
    assert summary([]).fallbacks == ()


@pytest.fixture(scope="module")
def model() -> Model:
    with load("tabular") as loaded:
        yield loaded


@pytest.mark.parametrize("spec", [{"method": "ngram"}, {"method": "suffix", "suffix_decoding_tree": True}], ids=str)
@pytest.mark.parametrize("seed", [3, None])
def test_of_a_run(model: Model, spec, seed) -> None:
    result = model.generate(
        PROMPT, speculative={**spec, "adaptive": False}, seed=seed, n=3, ignore_eos=True, max_tokens=80
    )
    stats = result.stats
    assert stats.accepted > 0
    assert sum(stats.acceptance_histogram) == stats.draft_rounds <= stats.rounds
    assert sum(j * n for j, n in enumerate(stats.acceptance_histogram)) == stats.accepted
    by_choice = [choice.stats.kept_by_position for choice in result.choices]
    together = [sum(each[i] for each in by_choice if len(each) > i) for i in range(len(stats.kept_by_position))]
    assert tuple(together) == stats.kept_by_position
    shown = json.loads(json.dumps(result.to_dict(), allow_nan=False))["stats"]
    assert shown["acceptance_histogram"] == list(stats.acceptance_histogram)
    assert (shown["tried_by_position"], shown["fallbacks"]) == (list(stats.tried_by_position), [])
    assert f"accepted ({stats.acceptance_rate:.0%}); by position " in block(result)


def test_people_see_the_first_positions() -> None:
    assert positions(summary(CHAINS)) == "; by position 60% 50% 100%"
    assert positions(summary([a_round(1, 1), a_round(1, 0)])) == ""  # which the rate says already
    many: Stats = summary([a_round(20, 20)])
    assert positions(many).count("100%") == MOST_POSITIONS
    assert positions(replace(many, kept_by_position=(), tried_by_position=())) == ""
