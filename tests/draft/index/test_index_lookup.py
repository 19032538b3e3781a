"""Look-ups in an index against their definition: scan every text for the longest suffix that something followed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_files import index_of
from truedraw.draft.index import mapping, writing
from truedraw.draft.index.known_texts import LONGEST, KnownTexts
from truedraw.draft.index.layout import DEPTH
from truedraw.draft.index.mapping import open_index

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=14), min_size=1, max_size=3)


def followers(texts, wanted) -> Counter:
    """What followed a string, and how often."""
    n, wanted = len(wanted), list(wanted)
    return Counter(text[i] for text in texts for i in range(n, len(text)) if text[i - n : i] == wanted)


def longest(texts, text, most):
    for n in range(min(most, len(text)), 0, -1):
        if followers(texts, text[-n:]):
            return text[-n:]
    return []


def chances(texts, suffix, budget, floor):
    """Of the likeliest nodes of all that could be drafted."""
    found, grown = [], [(suffix, 1.0, 0)]
    while grown:
        end, chance, level = grown.pop()
        counts = followers(texts, end)
        for token, count in counts.items() if level < budget else ():
            below = chance * count / counts.total()
            if below >= floor:
                found.append(below)
                grown.append(([*end, token], below, level + 1))
    return sorted(found, reverse=True)[:budget]


def known(batches, depth, merged=False):
    """An index with a segment a batch, unless `merged`."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "GROWTH", 2 if merged else 0)
        path = Path(folder) / "x.tdx"
        header = index_of(path, *batches)
        assert len(header.segments) == len(batches) or merged
        return KnownTexts(open_index(path), depth)


def tail(source, text):
    return source.behind(source.text(), text)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.integers(2, 6), st.lists(st.integers(0, 3), max_size=12))
def test_the_match_is_the_longest_suffix_that_a_scan_finds(batches, depth, text) -> None:
    texts, source = [text for batch in batches for text in batch], known(batches, depth)
    at_once, stepwise = tail(source, text), source.text()
    for token in text:
        source.write(stepwise, [token])
        source.match(stepwise)
    expected = len(longest(texts, text, depth - 1))
    assert source.match(at_once) == source.match(stepwise) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.booleans(), st.lists(st.integers(0, 2), max_size=8),
       st.integers(1, 6), st.sampled_from([0, 0.2]))  # fmt: skip
def test_a_tree_holds_the_likeliest_nodes(batches, merged, text, budget, floor) -> None:
    texts, source = [text for batch in batches for text in batch], known(batches, 6, merged)
    tokens, parents, found = source.draft(tail(source, text), budget, floor, True)
    suffix = longest(texts, text, 5)
    assert found == pytest.approx(chances(texts, suffix, budget, floor) if suffix else [])
    ends = [suffix]
    for token, parent, chance in zip(tokens.tolist(), parents.tolist(), found, strict=True):
        counts = followers(texts, ends[(parent + 1)])
        above = 1.0 if parent == -1 else found[parent]
        assert chance == pytest.approx(above * counts[token] / counts.total())
        ends.append([*ends[parent + 1], token])


def test_a_token_may_stand_behind_several_nodes() -> None:
    source = known([[[5, 1, 3], [5, 2, 3]]], 6)
    tokens, parents, found = source.draft(tail(source, [5]), 4, 0.0, True)
    assert (tokens.tolist(), parents.tolist(), found.tolist()) == ([1, 2, 3, 3], [-1, -1, 0, 1], [0.5] * 4)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(st.integers(0, 2), max_size=8), st.integers(1, 6),
       st.sampled_from([0, 0.4]))  # fmt: skip
def test_a_chain_takes_a_most_frequent_token_at_every_step(batches, text, budget, floor) -> None:
    texts, source = [text for batch in batches for text in batch], known(batches, 6)
    tokens, parents, found = source.draft(tail(source, text), budget, floor, False)
    assert parents.tolist() == list(range(-1, len(tokens) - 1))
    end, chance = longest(texts, text, 5), 1.0
    for token, estimated in zip(tokens.tolist(), found, strict=True):
        counts = followers(texts, end)
        chance *= counts[token] / counts.total()
        assert counts[token] == max(counts.values())
        assert estimated == pytest.approx(chance)
        end = [*end, token]
    if len(tokens) < budget and end:
        counts = followers(texts, end)
        assert not counts or chance * max(counts.values()) / counts.total() < floor


def test_what_is_frequent_is_found_among_many_rare_ones() -> None:
    rng = np.random.default_rng(5)
    behind = [*range(100, 1100), *[50] * 130, *[1099] * 180, *[7] * 20]
    rng.shuffle(behind)
    source = known([[[3, token] for token in behind]], 24)
    tokens, _, found = source.draft(tail(source, [3]), 5, 0.09, True)
    assert tokens.tolist() == [1099, 50]
    assert found == pytest.approx([181 / 1330, 130 / 1330])
    assert source.draft(tail(source, [3]), 5, 0.0, False)[0].tolist() == [1099]


def test_long_strings_are_looked_up_as_far_as_they_are_sorted() -> None:
    text = list(range(200))
    source = known([[text, [150, 5]]], 1000)
    here = tail(source, text[:120])
    assert source.match(here) == LONGEST
    assert source.draft(here, 100, 0.1, False)[0].tolist() == text[120 : 120 + DEPTH - LONGEST]


def test_an_unknown_text_matches_nothing_and_a_known_end_drafts_nothing() -> None:
    source = known([[[1, 2, 3]]], 8)
    for text in ([], [9], [3], [1, 2, 9]):
        assert source.match(tail(source, text)) == 0
        assert len(source.draft(tail(source, text), 4, 0.0, True)[0]) == 0
    assert source.draft(tail(source, [1]), 4, 0.0, True)[0].tolist() == [2, 3]


def test_a_damaged_file_that_was_not_read_in_full_gives_bad_guesses_and_no_crash(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mapping, "CHECKED_BYTES", 0)
    rng, path = np.random.default_rng(2), tmp_path / "x.tdx"
    (segment,) = index_of(path, [rng.integers(0, 5, 300).tolist() for _ in range(5)]).segments
    words = np.fromfile(path, np.int32)
    words[segment.start : segment.end] = rng.integers(-(2**31), 2**31, segment.num_words)
    words[segment.start + 50 : segment.start + 1500] = rng.integers(0, 5, 1450)
    words.tofile(path)
    source = KnownTexts(open_index(path), 24)
    for _ in range(200):
        text = rng.integers(0, 5, 30).tolist()
        assert len(source.draft(tail(source, text), 7, 0.0, True)[0]) <= 7
