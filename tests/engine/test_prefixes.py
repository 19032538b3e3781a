"""Texts that begin alike share pages, found by their tokens; not one bit of any row changes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.pages import ROWS, TEXT, check_pages, exact_engine, recorded, rows, state
from truedraw.engine.paged.ledger import Holder
from truedraw.engine.paged.page_memory import Tensors
from truedraw.engine.paged.pages import Claim, PagePool
from truedraw.engine.paged.prefixes import Prefixes
from truedraw.engine.paged.sequence import PagedSequence
from truedraw.engine.paged.tasks import Scoring
from truedraw.engine.texts import Limits
from truedraw.errors import OutOfPages
from truedraw.protocol import ROOT, Fill, Proposal, Work


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def engine(cache):
    loaded = exact_engine(cache)
    yield loaded
    loaded.close()


def computed(engine, text):
    sequence = engine.open(text)
    engine.forward([Work(sequence)])
    return sequence


@pytest.mark.parametrize(
    ("length", "found"), [(1, 0), (32, 0), (33, 32), (64, 32), (65, 64), (100, 96), (101, 96), (128, 96), (150, 96)]
)
@pytest.mark.parametrize("alive", [True, False])
def test_whole_pages_but_for_the_last_token_are_found(engine, length, found, alive):
    first = computed(engine, TEXT[:101])
    if not alive:
        first.close()
    text = [*TEXT[:101], *TEXT[:49]][:length]
    sequence = engine.open(text)
    assert sequence.num_uncached == length - found
    np.testing.assert_array_equal(engine.forward([Work(sequence)])[0].logits.copy(), rows(engine, text))
    use = engine.cache_use()
    assert (use.tokens_asked, use.tokens_found) == (101 + length, found)


@pytest.mark.parametrize("place", [0, 31, 32, 40, 63, 64, 98])
def test_one_other_token_ends_what_is_shared(engine, place):
    computed(engine, TEXT[:100])
    text = list(TEXT[:100])
    text[place] = (text[place] + 1) % engine.vocab_size
    sequence = engine.open(text)
    assert sequence.num_uncached == 100 - place // ROWS * ROWS
    np.testing.assert_array_equal(engine.forward([Work(sequence)])[0].logits.copy(), rows(engine, text))


def test_the_same_page_after_another_one_is_another_page(engine):
    computed(engine, TEXT[:100])
    text = [*TEXT[32:64], *TEXT[32:64], *TEXT[:32], 5]
    sequence = engine.open(text)
    assert sequence.num_uncached == len(text)
    np.testing.assert_array_equal(engine.forward([Work(sequence)])[0].logits.copy(), rows(engine, text))


def test_equal_hashes_are_not_equal_texts():
    first, second = (0, 1), (2**61 - 1, 1)
    assert hash(first) == hash(second)
    prefixes = Prefixes(8)
    one = prefixes.add(prefixes.root, first, 1)
    other = prefixes.add(prefixes.root, second, 2)
    assert (one.page, other.page) == (1, 2)
    assert prefixes.add(prefixes.root, first, 3) is one


def test_drafts_are_found_once_they_are_committed_and_not_before(engine):
    draft = TEXT[60:70]
    sequence = computed(engine, TEXT[:60])
    engine.forward([Work(sequence, Proposal.chain(draft))])
    assert engine.open(TEXT[:80]).num_uncached == 80 - 32
    sequence.commit(draft[:3])
    assert engine.open(TEXT[:80]).num_uncached == 80 - 32
    sequence.commit(draft[3:6])
    again = engine.open(TEXT[:80])
    assert again.num_uncached == 80 - 64
    np.testing.assert_array_equal(engine.forward([Work(again)])[0].logits.copy(), rows(engine, TEXT[:80]))


def test_rejected_drafts_are_never_found(engine):
    sequence = computed(engine, TEXT[:60])
    engine.forward([Work(sequence, Proposal.chain(TEXT[60:70]))])
    sequence.commit([(TEXT[60] + 1) % engine.vocab_size])
    assert engine.open(TEXT[:80]).num_uncached == 80 - 32
    np.testing.assert_array_equal(rows(engine, TEXT[:80]), engine.forward([Work(engine.open(TEXT[:80]))])[0].logits)


def test_equal_texts_computed_in_one_pass_end_on_the_same_pages(engine):
    sequences = [engine.open(TEXT[:100]) for _ in range(5)]
    engine.forward([Work(sequence) for sequence in sequences])
    assert state(engine)[2] == 3 + 5  # three full pages, and the last one of each text
    check_pages(engine, sequences)
    expected = rows(engine, TEXT[:100], Proposal.chain([1, 2]))
    for each in engine.forward([Work(sequence, Proposal.chain([1, 2])) for sequence in sequences]):
        np.testing.assert_array_equal(each.logits, expected)


def test_what_was_computed_after_the_text_was_opened_is_found_in_time(engine):
    late = engine.open(TEXT[:100])
    computed(engine, TEXT[:100])
    assert late.num_uncached == 100
    engine.forward([], [Fill(late, 1)])
    assert late.num_uncached == 100 - 96 - 1
    np.testing.assert_array_equal(engine.forward([Work(late)])[0].logits.copy(), rows(engine, TEXT[:100]))
    assert engine.cache_use().tokens_found == 96


def test_a_fill_that_finds_all_it_wanted_needs_no_pass(engine):
    late = engine.open(TEXT[:97])
    computed(engine, TEXT[:97])
    before = len(engine.passes)
    assert engine.forward([], [Fill(late, 96)]) == []
    assert len(engine.passes) == before
    assert late.num_uncached == 1
    np.testing.assert_array_equal(engine.forward([Work(late)])[0].logits.copy(), rows(engine, TEXT[:97]))


def test_forks_find_and_are_found(engine):
    parent = engine.open(TEXT[:50])
    children = engine.fork(parent, 3)
    for step, child in enumerate(children):
        child.commit([*TEXT[50:64], step, 1])
    engine.forward([Work(child) for child in children])
    assert state(engine)[2] == 1 + 1 + 1 + 3  # the first page; the parent's second; the children's second and thirds
    check_pages(engine, [parent, *children])
    for step, child in enumerate(children):
        text = [*TEXT[:64], step, 1]
        np.testing.assert_array_equal(engine.forward([Work(child)])[0].logits.copy(), rows(engine, text))


def test_evicted_texts_find_their_own_pages_again(engine):
    sequence = computed(engine, TEXT[:100])
    sequence.evict()
    assert (sequence.num_uncached, list(sequence.tokens)) == (100, TEXT[:100])
    assert state(engine)[::2] == (3, 0)
    np.testing.assert_array_equal(engine.forward([Work(sequence)])[0].logits.copy(), rows(engine, TEXT[:100]))
    use = engine.cache_use()
    assert (use.tokens_asked, use.tokens_found) == (200, 96)


def test_it_can_be_switched_off(cache):
    engine = exact_engine(cache, idle=0)
    computed(engine, TEXT[:100])
    assert engine.open(TEXT[:100]).num_uncached == 100
    assert engine.cache_use().tokens_asked == 0
    engine.close()


def test_what_is_closed_can_be_forgotten_and_what_is_open_stays(engine):
    computed(engine, TEXT[:100]).close()
    still = computed(engine, TEXT[40:140])
    engine.forget_closed()
    check_pages(engine, [still])
    assert state(engine)[0] == 0
    assert engine.open(TEXT[:100]).num_uncached == 100
    assert engine.open(TEXT[40:140]).num_uncached == 100 - 3 * ROWS


def test_texts_alone_neither_find_nor_are_found(engine):
    alone = engine.open(TEXT[:100], alone=True)
    engine.forward([Work(alone)])
    assert computed(engine, TEXT[:100]).pages[0] != alone.pages[0]
    assert engine.open(TEXT[:100], alone=True).num_uncached == 100


@pytest.mark.parametrize("drafts", [1, 2, 5])
@pytest.mark.parametrize("length", range(1, 13))
def test_a_path_beside_the_first_has_room_aside(length, drafts):
    pool = PagePool(9, 4, Tensors([(1, 4, 1)], 1, 9))
    text = PagedSequence([0] * length, pool, Limits(9, 99), None)
    pool.reserve([Claim(text.pages, 0, length)])
    text.computed(length, [])
    parents = np.array([ROOT, *range(drafts - 1)] * 2)
    parents[drafts + 1 :] += drafts
    task = Scoring(text, Proposal(np.repeat([0, 1], drafts), parents, (None,) * 2 * drafts), unroll=True)
    free, path = pool.num_free, Holder(pool.ledger)
    pool.branch(path, text.pages, length - 1, length + drafts)
    assert task.aside() == free - pool.num_free


def test_a_text_alone_that_gave_its_pages_up_stays_alone(engine):
    alone, other = engine.open(TEXT[:100], alone=True), computed(engine, TEXT[:100])
    engine.forward([Work(alone)])
    alone.evict()
    engine.forward([Work(alone)])
    assert not {*alone.pages} & {*other.pages}
    other.close()
    engine._pool.forget_idle()
    alone.evict()
    engine.forward([Work(alone)])
    assert engine.open(TEXT[:100]).num_uncached == 100


def test_no_more_than_the_limit_is_idle_and_the_oldest_goes_first(cache):
    engine = exact_engine(cache, idle=4)
    for start in (0, 20, 40):
        computed(engine, TEXT[start : start + 70]).close()
    assert state(engine)[0] == 4
    assert [engine.open(TEXT[start : start + 70]).num_uncached for start in (0, 20, 40)] == [70, 6, 6]
    engine.close()


def test_the_end_of_a_text_goes_before_its_beginning(cache):
    engine = exact_engine(cache, pages=8)
    computed(engine, TEXT[:160]).close()
    assert state(engine) == (4, 4, 0)
    taken = [computed(engine, [step] * 64) for step in range(2)]  # three pages each
    check_pages(engine, taken)
    assert engine.open(TEXT[:160]).num_uncached == 160 - 2 * ROWS
    engine.close()


def test_what_was_found_lately_stays_longest(cache):
    engine = exact_engine(cache, idle=4)
    computed(engine, TEXT[:70]).close()
    computed(engine, TEXT[50:120]).close()
    engine.open(TEXT[:70]).close()
    computed(engine, TEXT[90:160]).close()
    assert engine.open(TEXT[:70]).num_uncached == 6
    assert engine.open(TEXT[50:120]).num_uncached == 70
    engine.close()


def test_idle_pages_never_cost_a_pass(cache):
    engine = exact_engine(cache, pages=8)
    for start in range(0, 64, 8):
        computed(engine, TEXT[start : start + 70]).close()
    idle, free, held = state(engine)
    assert (idle + free, held) == (8, 0)
    assert idle > 4
    wide = [engine.open([step] * 60) for step in range(4)]  # two pages each
    assert engine.fits([Work(sequence) for sequence in wide])
    for step, scores in enumerate(engine.forward([Work(sequence) for sequence in wide])):
        logits = scores.logits.copy()
        assert logits.shape == (1, engine.vocab_size), step
    assert state(engine) == (0, 0, 8)
    for sequence in wide:
        sequence.close()
    assert sum(state(engine)[:2]) == 8
    engine.close()


def test_a_pass_without_room_changes_nothing_and_says_what_is_needed(cache):
    engine = exact_engine(cache, pages=4)
    late = engine.open([*TEXT[:70], 1])
    held = computed(engine, TEXT[:70])
    other = engine.open(TEXT[80:160])
    before = (late.num_uncached, other.num_uncached, *state(engine))
    assert not engine.fits([Work(late), Work(other)])
    with pytest.raises(OutOfPages, match=r"4 more are needed and 1 of 4 are free.*raise cache_bytes"):
        engine.forward([Work(late), Work(other)])
    assert (late.num_uncached, other.num_uncached, *state(engine)) == before
    check_pages(engine, [held, late, other])
    assert engine.fits([Work(late)])
    np.testing.assert_array_equal(engine.forward([Work(late)])[0].logits.copy(), rows_elsewhere(cache, [*TEXT[:70], 1]))
    engine.close()


def rows_elsewhere(cache, text):
    engine = exact_engine(cache)
    logits = rows(engine, text)
    engine.close()
    return logits


def test_a_fork_without_room_changes_nothing(cache):
    engine = exact_engine(cache, pages=4)
    held = computed(engine, TEXT[:70])
    other = engine.open(TEXT[80:160])
    with pytest.raises(OutOfPages):
        engine.fork(other, 2)
    assert other.num_uncached == 80
    check_pages(engine, [held, other])
    engine.close()


def test_a_tree_counts_the_pages_of_its_paths_before_anything_is_run(cache):
    engine = exact_engine(cache, pages=6)
    sequence = engine.open(TEXT[:70])
    wide = Proposal(np.arange(9), np.full(9, -1), (None,) * 9)
    assert not engine.fits([Work(sequence, wide)])
    with pytest.raises(OutOfPages, match="11 more"):
        engine.forward([Work(sequence, wide)])
    assert sequence.num_uncached == 70
    assert state(engine) == (0, 6, 0)
    narrow = Proposal(np.arange(4), np.full(4, -1), (None,) * 4)
    assert engine.fits([Work(sequence, narrow)])
    engine.forward([Work(sequence, narrow)])
    check_pages(engine, [sequence])
    engine.close()


def test_recycled_pages_are_used_before_untouched_ones_are_needed(cache):
    """A hundred texts one after the other touch the pages that one text and the idle ones need, and no more."""
    engine = exact_engine(cache, pages=64, idle=4)
    rng = np.random.default_rng(4)
    highest = 0
    for _ in range(100):
        sequence = computed(engine, rng.integers(0, engine.vocab_size, 70).tolist())
        highest = max(highest, *sequence.pages)
        sequence.close()
    assert highest <= 4 + 3
    check_pages(engine, [])
    engine.close()


def test_a_page_that_can_be_found_is_copied_even_by_its_only_holder():
    memory = Tensors([(1, 2, 4)], 4, 5)
    pool = PagePool(5, 2, memory, max_idle=4)
    pages: list[int] = []
    pool.reserve([Claim(pages, 0, 4)])
    memory.tensors[0][pages] = 7
    block = pool.keep(pool.prefixes.root, (1, 2), pages[0])
    assert pool.missing([Claim(pages, 1, 4)]) == 1
    pool.reserve([Claim(pages, 1, 4)])
    assert pages[0] != block.page
    assert (memory.tensors[0][pages[0]] == 7).all()
    assert (pool.prefixes.num_idle, pool.num_free) == (1, 2)


def test_two_holders_of_a_found_page_that_both_write_need_two_copies():
    pool = PagePool(4, 2, Tensors([(1, 2, 4)], 4, 4), max_idle=4)
    mine: list[int] = []
    pool.reserve([Claim(mine, 0, 2)])
    pool.keep(pool.prefixes.root, (1, 2), mine[0])
    yours = list(mine)
    pool.share(yours)
    assert pool.missing([Claim(mine, 1, 2), Claim(yours, 1, 2)]) == 2
