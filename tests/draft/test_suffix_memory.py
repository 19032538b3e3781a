"""How much suffix decoding keeps of old texts, and that running ones do not notice."""

from __future__ import annotations

import pytest
from suffix_drafts import PROMPT, drafts, with_text

from truedraw.draft.automaton import GROWTH
from truedraw.draft.shared_index import Shelf
from truedraw.draft.suffix import SuffixDrafter


def test_old_texts_are_dropped_and_running_ones_go_on() -> None:
    drafter = SuffixDrafter(suffix_decoding_max_cached_requests=4)
    running = with_text(drafter, [7, 8, 9])
    for number in range(3):
        with_text(drafter, [5], prompt=[number])
    assert drafts(drafter, drafter.open(PROMPT, None), 1) == [7]
    for number in range(4):
        with_text(drafter, [5], prompt=[10 + number])
    fresh = drafter.open(PROMPT, None)
    assert drafts(drafter, fresh) == []
    running.commit([7])
    assert drafts(drafter, running, 1) == [8]


def test_an_automaton_that_is_full_is_replaced() -> None:
    drafter = SuffixDrafter(suffix_decoding_max_cached_requests=3)
    for _ in range(3):
        with_text(drafter, [7])
    assert drafts(drafter, drafter.open(PROMPT, None), 1) == []


def test_what_was_longest_without_a_new_text_goes_first() -> None:
    shelf = Shelf(8, 3, 1 << 30)
    known = {name: shelf.open(name, name, [1, 2])[0] for name in (b"a", b"b")}
    for name in (b"a", b"c"):  # one more text of the first, then one too many
        shelf.open(name, name, [1, 2])
    assert shelf.open(b"a", b"a", [1, 2])[0] is known[b"a"]
    assert shelf.open(b"b", b"b", [1, 2])[0] is not known[b"b"]


@pytest.mark.parametrize("scope", ["prompt", "all"])
@pytest.mark.parametrize("same", [True, False], ids=["one prompt", "many prompts"])
def test_memory_is_bounded(scope, same) -> None:
    bound, length, shelves = 200_000, 300, 1 if scope == "prompt" else 2
    drafter = SuffixDrafter(suffix_decoding_max_cached_bytes=bound, suffix_decoding_scope=scope)
    sizes = []
    for number in range(60):
        text = [(number * 7919 + place * place * 104729) % 997 for place in range(length)]
        with_text(drafter, text, prompt=PROMPT if same else [number, 5])
        sizes.append(drafter.num_bytes)
    assert 60 * length * 50 > 4 * bound  # all of it would not fit
    assert max(sizes) <= shelves * GROWTH * (bound + length * 150)
    assert max(sizes) > bound / 2


def test_a_long_prompt_is_kept_once_and_does_not_fill_the_memory() -> None:
    drafter, prompt = SuffixDrafter(suffix_decoding_max_cached_bytes=10_000), list(range(5000))
    first = drafter.open(prompt, None)
    size = drafter.num_bytes
    assert size > 10_000
    first.commit([3, 2, 1])
    others = [drafter.open(prompt, None) for _ in range(50)]
    assert drafter.num_bytes < size + 2000
    assert drafts(drafter, others[-1], 1) == [3]
