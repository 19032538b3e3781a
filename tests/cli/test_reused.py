"""What the last words of a run say of what it found instead of computing it."""

from types import SimpleNamespace

import pytest

from truedraw.cli.reused import Reused, computed, prompt_tokens, use_of
from truedraw.engine.cache_use import CacheUse
from truedraw.engine.logits_cache import LogitsCacheUse

LOGITS = LogitsCacheUse(hits=57, misses=100, rows=9, bytes=1000, evicted=1)


def use(asked, found):
    return CacheUse(9, 9, 9, 9, tokens_asked=asked, tokens_found=found)


def test_what_an_engine_computed():
    engine = SimpleNamespace(cache_use=lambda: use(70, 40))
    assert computed(use(10, 5), use_of(engine), 60) == 25
    assert use_of(object()) is None
    assert computed(None, None, 60) is None


def test_an_engine_that_keeps_no_prefixes_counts_nothing():
    assert computed(use(0, 0), use(0, 0), 242) is None
    assert computed(use(0, 0), use(0, 0), 0) == 0


@pytest.mark.parametrize(
    ("record", "tokens"),
    [
        ({"prompt_tokens": 7}, 7),
        ({"prompt_tokens": 7, "choices": [{}, {}, {}]}, 21),
        ({"prompt_tokens": 7, "choices": [{}], "dropped": 8}, 63),
        ({"error": {}}, 0),
    ],
)
def test_every_sample_has_the_whole_prompt(record, tokens):
    assert prompt_tokens(record) == tokens


def test_for_people_and_for_programs():
    told = Reused(320, 64, LOGITS)
    prefixes, rows = told.line().split("; ")
    assert prefixes == "reused: 256 of 320 prompt tokens from shared prefixes"
    assert rows == "57 of 157 rows of logits from their cache, without a pass"
    assert told.to_dict() == {
        "prefix_cache": {"tokens_asked": 320, "tokens_found": 256},
        "logits_cache": {"hits": 57, "misses": 100, "rows": 9, "bytes": 1000, "evicted": 1, "refused": 0},
    }
    assert Reused(320, None, LOGITS).line().startswith("reused: 57 of 157 rows")
    assert Reused(320, None, LOGITS).to_dict()["prefix_cache"] is None
    assert Reused(320, 400, LOGITS).tokens_found == 0  # what lost its pages was computed twice
