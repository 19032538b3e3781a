import pytest

from truedraw.bench.pairs import Pair
from truedraw.bench.report import report, speedup
from truedraw.stats.summary import Stats


def stats(tokens, seconds, rounds=None, drafted=0, accepted=0, engine=0.0, draft=0.0):
    return Stats(
        rounds=rounds or tokens,
        drafted=drafted,
        accepted=accepted,
        acceptance_rate=None,
        tokens_per_round=None,
        tokens=tokens,
        seconds=seconds,
        tokens_per_second=tokens / seconds,
        engine_seconds=engine,
        draft_seconds=draft,
        other_seconds=seconds - engine - draft,
    )


def pair(task, category, plain_seconds, seconds, tokens=10, identical=True, **counts):
    plain = stats(tokens, plain_seconds, engine=plain_seconds * 0.8)
    return Pair(task, category, plain, stats(tokens, seconds, engine=seconds * 0.5, **counts), identical)


def test_speedup_is_seconds_a_token_and_pools_repeats():
    assert speedup([pair(0, "a", 4.0, 2.0)]) == 2.0
    assert speedup([pair(0, "a", 4.0, 2.0), pair(0, "a", 2.0, 4.0)]) == 1.0
    different_lengths = Pair(0, "a", stats(10, 10.0), stats(20, 10.0), False)
    assert speedup([different_lengths]) == 2.0


def test_the_report_groups_by_category_and_prompt():
    found = report(
        [
            pair(0, "story", 4.0, 2.0, rounds=5, drafted=10, accepted=5),
            pair(1, "story", 3.0, 2.0, rounds=5, drafted=10, accepted=5),
            pair(2, "code", 6.0, 2.0, rounds=2, drafted=8, accepted=8, identical=False),
            pair(0, "story", 4.0, 2.0, rounds=5, drafted=10, accepted=5),
        ]
    )
    assert found["prompts"] == 3
    assert found["speedup"]["median"] == 2.0
    assert list(found["by_category"]) == ["story", "code"]
    story, code = found["by_category"].values()
    assert (story["prompts"], story["speedup"]["median"]) == (2, 1.75)
    assert story["tokens_per_round"] == 2.0
    assert story["acceptance_rate"] == 0.5
    assert code["speedup"] == {"median": 3.0, "low": None, "high": None}
    assert code["acceptance_rate"] == 1.0
    assert code["identical_texts"] == {"count": 0, "of": 1}
    assert found["identical_texts"] == {"count": 3, "of": 4}
    assert report([pair(0, "code", 2.0, 1.0, identical=None)])["identical_texts"] is None
    assert found["plain_tokens_per_second"] == pytest.approx(40 / 17)
    assert found["tokens_per_second"] == pytest.approx(40 / 8)
    assert found["overhead_fraction"] == pytest.approx(0.25)
    assert found["overhead_fraction_speculative"] == pytest.approx(1.0)


def test_what_was_never_drafted_has_no_acceptance_rate():
    assert report([pair(0, "a", 1.0, 1.0)])["acceptance_rate"] is None
