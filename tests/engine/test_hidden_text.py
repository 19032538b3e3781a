"""Hidden states of the text before a text's first scores, from an engine asked for them."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import PLAIN, Decoder, RandomWeights, tiny_engine
from truedraw.engine.cpu import paged_engine as module
from truedraw.protocol import Fill, Proposal, Work

LAYERS = (0, 1)
TEXT = np.random.default_rng(3).integers(0, PLAIN.vocab_size, 90).tolist()
CLOSE = 2e-3


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    loaded = tiny_engine(tmp_path_factory.mktemp("engines"), hidden_layers=LAYERS, hidden_text=True)
    yield loaded
    loaded.close()


def streams(text) -> np.ndarray:
    """[tokens, layers and the norm, width] by the plain decoder."""
    return np.stack(Decoder(PLAIN, RandomWeights(PLAIN)).run(list(text))[1], 1)


def whole(scores, length: int) -> np.ndarray:
    """The rows of the text before the last token; each place once."""
    found = np.full((length, len(LAYERS) + 1, PLAIN.hidden_size), np.nan)
    for rows in scores.text:
        assert np.isnan(found[rows.first : rows.first + len(rows.hidden)]).all()
        found[rows.first : rows.first + len(rows.hidden)] = rows.hidden
    return found


def text(seed: int, length: int = 40) -> list[int]:
    return np.random.default_rng(seed).integers(0, PLAIN.vocab_size, length).tolist()


def test_a_texts_first_scores_bring_all_of_it(engine) -> None:
    proposal = Proposal(np.array([5, 6, 7]), np.array([-1, -1, 0]), (None,) * 3)
    one, two = engine.open(text(1)), engine.open(text(2, 7))
    first, second = engine.forward([Work(one, proposal), Work(two)])
    np.testing.assert_allclose(whole(first, 39), streams(text(1))[:-1], atol=CLOSE)
    np.testing.assert_allclose(whole(second, 6), streams(text(2, 7))[:-1], atol=CLOSE)
    np.testing.assert_allclose(first.hidden[0], streams(text(1))[-1], atol=CLOSE)
    np.testing.assert_allclose(first.hidden[3], streams([*text(1), 5, 7])[-1], atol=CLOSE)
    for sequence, tokens in ((one, [6, 9]), (two, [3])):
        sequence.commit(tokens)
    assert [each.text for each in engine.forward([Work(one), Work(two)])] == [(), ()]


def test_in_chunks_and_after_an_eviction(engine, monkeypatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 16)
    sequence = engine.open(TEXT)
    engine.forward([], [Fill(sequence, 20)])
    engine.forward([], [Fill(sequence, 10)])
    sequence.evict()
    (scores,) = engine.forward([Work(sequence)])
    assert len(scores.text) > 3
    np.testing.assert_allclose(whole(scores, 89), streams(TEXT)[:-1], atol=CLOSE)


def test_forks_share_what_is_known(engine) -> None:
    root = engine.open(text(4))
    forks = engine.fork(root, 2)
    found = engine.forward([Work(each) for each in (*forks, root)])
    np.testing.assert_allclose(whole(found[0], 39), streams(text(4))[:-1], atol=CLOSE)
    assert all(each is other for scores in found[1:] for each, other in zip(scores.text, found[0].text, strict=True))


def test_pages_that_were_found_bring_nothing(engine) -> None:
    start = text(5, 64)
    before = engine.open([*start, 1])
    engine.forward([Work(before)])
    before.close()
    (scores,) = engine.forward([Work(engine.open([*start, 2, 3]))])
    known = whole(scores, 65)
    assert np.isnan(known[:64]).all()
    np.testing.assert_allclose(known[64], streams([*start, 2])[-1], atol=CLOSE)


def test_what_was_told_is_not_overwritten(engine) -> None:
    (scores,) = engine.forward([Work(engine.open(text(6)))])
    kept = whole(scores, 39)
    engine.forward([Work(engine.open(text(7)))])
    np.testing.assert_array_equal(whole(scores, 39), kept)


@pytest.mark.parametrize("options", [{"hidden_layers": LAYERS}, {}, {"hidden_text": True}], ids=str)
def test_nobody_else_is_told(tmp_path, engine, options) -> None:
    """And the logits are the same bits, in float32: in 16 bits a graph with other outputs rounds elsewhere."""
    plain = tiny_engine(tmp_path, **options)
    proposal = Proposal.chain([4, 5])
    (found,) = plain.forward([Work(plain.open(text(8)), proposal)])
    assert found.text == ()
    assert (found.hidden is None) == ("hidden_layers" not in options)
    (with_text,) = engine.forward([Work(engine.open(text(8)), proposal)])
    np.testing.assert_array_equal(found.logits, with_text.logits)
    plain.close()
