"""The suffix automaton against its definition: scan every text for the longest suffix that something followed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truedraw.draft.automaton import SuffixAutomaton


class Scan:
    """Texts behind one prompt, as plain lists; the prompt occurs once, whatever is behind it."""

    def __init__(self, prompt, depth) -> None:
        self.prompt, self.depth, self.texts = prompt, depth, [list(prompt)]

    def followers(self, wanted) -> Counter:
        """What followed a string, and how often."""
        found, n = Counter(), len(wanted)
        for number, text in enumerate(self.texts):
            first = 0 if number == 0 else len(self.prompt)
            for end in range(max(first, n), len(text)):
                if text[end - n : end] == list(wanted):
                    found[text[end]] += 1
        return found

    def longest(self, text):
        """The longest suffix that something followed."""
        for n in range(min(self.depth - 1, len(text)), 0, -1):
            if self.followers(text[-n:]):
                return text[-n:]
        return []

    def chances(self, text, suffix, budget, floor) -> list[float]:
        """Of the likeliest nodes of all that could be drafted."""
        found, grown = [], [(list(suffix), 1.0, 0)]
        while grown:
            end, chance, level = grown.pop()
            known = self.longest(end)
            if not known or level == budget:
                continue
            counts = self.followers(known)
            for token, count in counts.items():
                below = chance * count / counts.total()
                if below >= floor:
                    found.append(below)
                    grown.append(([*known, token], below, level + 1))
        return sorted(found, reverse=True)[:budget]


SMALL = st.lists(st.integers(0, 2), max_size=14)


def written(prompt, parts, depth):
    """The automaton and its cursors, the scan, and the texts; parts are written in turns."""
    automaton, scan = SuffixAutomaton(depth), Scan(prompt, depth)
    first = automaton.text()
    automaton.write(first, prompt)
    cursors = [automaton.copy(first) for _ in parts]
    scan.texts += [list(prompt) for _ in parts]
    for turn in range(0, max(map(len, parts), default=0), 2):
        for number, part in enumerate(parts):
            automaton.write(cursors[number], part[turn : turn + 2])
            scan.texts[number + 1] += part[turn : turn + 2]
    return automaton, cursors, scan


@settings(max_examples=200, deadline=None)
@given(SMALL, st.lists(SMALL, min_size=1, max_size=3), st.integers(2, 6))
def test_the_match_is_the_longest_suffix_that_a_scan_finds(prompt, parts, depth) -> None:
    automaton, cursors, scan = written(prompt, parts, depth)
    for cursor, text in zip(cursors, scan.texts[1:], strict=True):
        assert automaton.match(cursor) == len(scan.longest(text))


@settings(max_examples=200, deadline=None)
@given(SMALL, st.lists(SMALL, min_size=1, max_size=3), st.integers(2, 6), SMALL)
def test_behind_further_tokens_it_finds_what_a_scan_finds_and_changes_nothing(prompt, parts, depth, more) -> None:
    automaton, cursors, scan = written(prompt, parts, depth)
    text, before = scan.texts[1], automaton.draft(cursors[0], 5, 0.0, True)
    ahead = automaton.behind(cursors[0], more)
    assert automaton.match(ahead) == len(scan.longest(text + more))
    again = automaton.draft(cursors[0], 5, 0.0, True)
    assert all(np.array_equal(a, b) for a, b in zip(before, again, strict=True))


@settings(max_examples=200, deadline=None)
@given(SMALL, st.lists(SMALL, min_size=1, max_size=3), st.integers(2, 6), st.integers(1, 5), st.sampled_from([0, 0.2]))
def test_a_tree_holds_the_likeliest_nodes(prompt, parts, depth, budget, floor) -> None:
    automaton, cursors, scan = written(prompt, parts, depth)
    text = scan.texts[1]
    tokens, parents, chances = automaton.draft(cursors[0], budget, floor, True)
    assert chances == pytest.approx(scan.chances(text, text, budget, floor))
    ends = [scan.longest(text)]
    for token, parent, chance in zip(tokens.tolist(), parents.tolist(), chances, strict=True):
        known = scan.longest(ends[parent + 1])
        counts = scan.followers(known)
        above = 1.0 if parent == -1 else chances[parent]
        assert chance == pytest.approx(above * counts[token] / counts.total())
        ends.append([*known, token])


@settings(max_examples=200, deadline=None)
@given(SMALL, st.lists(SMALL, min_size=1, max_size=3), st.integers(2, 6), st.integers(1, 5), st.sampled_from([0, 0.4]))
def test_a_chain_takes_a_most_frequent_token_at_every_step(prompt, parts, depth, budget, floor) -> None:
    automaton, cursors, scan = written(prompt, parts, depth)
    end, chance = scan.texts[1], 1.0
    tokens, parents, chances = automaton.draft(cursors[0], budget, floor, False)
    assert parents.tolist() == list(range(-1, len(tokens) - 1))
    for token, estimated in zip(tokens.tolist(), chances, strict=True):
        known = scan.longest(end)
        counts = scan.followers(known)
        chance *= counts[token] / counts.total()
        assert counts[token] == max(counts.values())
        assert estimated == pytest.approx(chance)
        end = [*known, token]
    if len(tokens) < budget:
        counts = scan.followers(scan.longest(end))
        assert not scan.longest(end) or chance * max(counts.values()) / counts.total() < floor


def test_the_order_of_equals_is_that_of_the_most_recent_first() -> None:
    automaton = SuffixAutomaton(4)
    cursor = automaton.text()
    automaton.write(cursor, [7, 1, 9, 7, 2, 8, 7])
    assert automaton.draft(cursor, 1, 0.1, False)[0].tolist() == [2]


@pytest.mark.parametrize(
    "text",
    [[5] * 8000, [1, 2] * 4000, np.random.default_rng(1).integers(0, 2, 8000).tolist(), list(range(8000))],
    ids=["one token", "a period of two", "two tokens", "all different"],
)
def test_memory_of_a_long_text_is_bounded_by_its_length(text) -> None:
    automaton = SuffixAutomaton(24)
    cursor = automaton.text()
    automaton.write(cursor, text)
    assert automaton.num_bytes < 130 * len(text)
    assert automaton.match(cursor) == len(longest_repeat(text, 23))


def longest_repeat(text, longest):
    for n in range(longest, 0, -1):
        if any(text[i : i + n] == text[-n:] for i in range(len(text) - n)):
            return text[-n:]
    return []


def test_a_period_is_drafted_beyond_the_end_of_the_text() -> None:
    automaton = SuffixAutomaton(8)
    cursor = automaton.text()
    automaton.write(cursor, [1, 2, 3] * 5)
    assert automaton.draft(cursor, 7, 0.9, False)[0].tolist() == [1, 2, 3, 1, 2, 3, 1]


def test_token_ids_of_any_size_are_told_apart() -> None:
    automaton, ids = SuffixAutomaton(4), [0, 2**31 - 1, 65536, 1, 0]
    cursor = automaton.text()
    automaton.write(cursor, ids)
    assert automaton.draft(cursor, 3, 0.0, False)[0].tolist() == ids[1:4]
