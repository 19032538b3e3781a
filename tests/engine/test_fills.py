"""Long texts computed beside others: chunks of any size, in any company, change no bit of any row."""

from __future__ import annotations

import numpy as np
import pytest

from engine.pages import TEXT, check_pages, exact_engine, random_proposal, recorded, rows, state
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import Fill, Proposal, Work


@pytest.fixture(scope="module", params=[0, 64], ids=["computed", "found"])
def engine(request, tmp_path_factory):
    loaded = exact_engine(tmp_path_factory.mktemp("cache"), idle=request.param)
    yield loaded
    loaded.close()


@pytest.mark.parametrize("size", [1, 2, 7, 31, 32, 33, 64, 149])
def test_a_prompt_in_chunks_beside_texts_that_go_on(engine, size):
    rng = np.random.default_rng(size)
    long, beside = engine.open(TEXT[:150]), [engine.open(TEXT[start : start + 20]) for start in (3, 40)]
    while long.num_uncached > 1:
        works = [Work(each, random_proposal(rng, int(rng.integers(0, 5)))) for each in beside]
        before, count = long.num_uncached, min(size, long.num_uncached - 1)
        scores = [each.logits.copy() for each in engine.forward(works, [Fill(long, count)])]
        assert len(scores) == 2
        for work, logits in zip(works, scores, strict=True):
            np.testing.assert_array_equal(logits, rows(engine, list(work.sequence.tokens), work.proposal))
            if len(work.sequence.tokens) < 60:
                work.sequence.commit([4])
        assert long.num_uncached <= before - count
    tree = Proposal(np.array([1, 2, 3]), np.array([-1, -1, 1]), (None,) * 3)
    np.testing.assert_array_equal(engine.forward([Work(long, tree)])[0].logits.copy(), rows(engine, TEXT[:150], tree))
    for each in (long, *beside):
        each.close()


def test_more_rows_than_one_pass_takes(engine, monkeypatch):
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.CHUNK_ROWS", 16)
    work, first, second = (engine.open(TEXT[start : start + 60]) for start in (0, 10, 20))
    logits = engine.forward([Work(work, Proposal.chain([1]))], [Fill(first, 59), Fill(second, 33)])[0].logits.copy()
    np.testing.assert_array_equal(logits, rows(engine, TEXT[:60], Proposal.chain([1])))
    assert (first.num_uncached, second.num_uncached) == (1, 60 - 33)
    for start, each in ((10, first), (20, second)):
        np.testing.assert_array_equal(
            engine.forward([Work(each)])[0].logits.copy(), rows(engine, TEXT[start : start + 60])
        )
    for each in (work, first, second):
        each.close()


def test_a_pass_is_one_pass(engine):
    work, fill = engine.open([5, *TEXT[:20]]), engine.open([6, *TEXT[:70]])
    engine.forward([Work(work, Proposal.chain([1]))], [Fill(fill, 50)])
    assert engine.passes[-1] == [22, 50]
    work.close()
    fill.close()


def test_what_does_not_fit_in_a_pass_goes_before_it(engine, monkeypatch):
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.CHUNK_ROWS", 16)
    text = engine.open([7, *TEXT[:32]])
    engine.forward([Work(text)])
    assert engine.passes[-2:] == [[16], [17]]
    text.close()


def test_a_lone_row_has_a_slot_for_its_double(engine, monkeypatch):
    text = engine.open([6, *TEXT[1:70]], alone=True)
    for count in (31, 1):  # up to the last slot of the first page
        engine.forward([], [Fill(text, count)])
    assert len(text.pages) == 2
    text.evict()
    monkeypatch.setattr("truedraw.engine.cpu.paged_engine.CHUNK_ROWS", 31)
    engine.forward([], [Fill(text, 32)])
    assert len(text.pages) == 1
    text.close()


def test_a_pass_that_breaks_leaves_no_drafts_behind(engine, monkeypatch):
    text = engine.open([5, *TEXT[1:40]])
    engine.forward([Work(text, Proposal.chain([1, 2]))])

    def breaks(batch):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine._passes.runner, "run", breaks)
        with pytest.raises(KeyboardInterrupt):
            engine.forward([Work(text, Proposal.chain([3, 4]))])
    text.commit([1, 2, 7])
    assert text.num_uncached == 3
    check_pages(engine, [text])
    expected = rows(engine, [5, *TEXT[1:40], 1, 2, 7])
    np.testing.assert_array_equal(engine.forward([Work(text)])[0].logits, expected)
    text.close()


@pytest.mark.parametrize("count", [-1, 0, 40, 41])
def test_a_fill_leaves_the_last_token_to_a_work(engine, count):
    text = engine.open([8, *TEXT[:39]])
    with pytest.raises(EngineError, match="give 1 to 39"):
        engine.forward([], [Fill(text, count)])
    assert text.num_uncached == 40
    text.close()


def test_a_text_that_is_computed_cannot_be_filled(engine):
    text = engine.open([8])
    with pytest.raises(EngineError, match="leave the fill out"):
        engine.forward([], [Fill(text, 1)])
    text.close()


def test_a_text_stands_once_in_a_pass(engine):
    text = engine.open([9, *TEXT[:40]])
    for works, fills in (([Work(text)], [Fill(text, 2)]), ([], [Fill(text, 2), Fill(text, 3)])):
        with pytest.raises(EngineError, match="only once"):
            engine.forward(works, fills)
        with pytest.raises(EngineError, match="only once"):
            engine.fits(works, fills)
    text.close()


def test_a_fill_without_room(tmp_path):
    engine = exact_engine(recorded(tmp_path), pages=4)
    one, other = engine.open(TEXT[:40]), engine.open(TEXT[60:150])
    engine.forward([Work(one)])
    assert not engine.fits([Work(one)], [Fill(other, 70)])
    with pytest.raises(OutOfPages, match="3 more are needed and 2 of 4"):
        engine.forward([Work(one)], [Fill(other, 70)])
    assert (one.num_uncached, other.num_uncached) == (1, 90)
    assert engine.fits([Work(one)], [Fill(other, 64)])
    engine.forward([Work(one)], [Fill(other, 64)])
    assert state(engine) == (0, 0, 4)
    check_pages(engine, [one, other])
    other.evict()
    assert state(engine) == (2, 0, 2)
    engine.close()
