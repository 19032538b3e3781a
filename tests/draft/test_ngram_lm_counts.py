"""Counting against its definition, and the law behind a text against the recursion it is defined by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draft.ngram_lm_texts import TEXTS, VOCAB, law_by_definition, ngrams
from truedraw.draft import ngram_lm_source
from truedraw.draft.automaton import SuffixAutomaton
from truedraw.draft.ngram_lm_counts import count_ngrams, without_rare
from truedraw.draft.ngram_lm_source import NgramSource

TEXT = st.lists(st.integers(0, 3), max_size=12)


def walked(counts):
    """{n-gram: count}, read from the columns."""
    found = {}

    def below(prefix, nodes, level):
        for node in nodes:
            gram = (*prefix, int(counts.tokens[node]))
            found[gram] = int(counts.counts[node])
            if level < counts.order:
                below(gram, range(counts.begins[node], counts.begins[node + 1]), level + 1)

    below((), range(counts.levels[0]), 1)
    return found


def law(source, texts_behind, text):
    """The opinion behind `text`, dense, where `texts_behind` were written before it."""
    automaton = SuffixAutomaton(source.order)
    for other in texts_behind:
        automaton.write(automaton.text(), other)
    place = source.written(source.place([], (automaton, automaton.text())), text)
    opinion = source.opinion(place)
    if opinion is None:
        return None
    q = np.zeros(source.vocab_size)
    q[opinion.tokens] = np.exp(opinion.logits.astype(np.float64))
    return q / q.sum()


@settings(deadline=None)  # the first call compiles
@given(st.lists(TEXT, max_size=4), st.integers(1, 5))
def test_every_ngram_is_counted_within_its_text(texts, order) -> None:
    counts = count_ngrams(texts, order)
    expected = {gram: c for n in range(1, order + 1) for gram, c in ngrams(texts, n).items()}
    assert walked(counts) == expected
    assert counts.levels == tuple(len(ngrams(texts, n)) for n in range(1, order + 1))
    assert (counts.num_tokens, counts.num_texts) == (sum(map(len, texts)), len(texts))


@settings(deadline=None)
@given(st.lists(TEXT, max_size=3), TEXT, TEXT, st.integers(1, 5), st.integers(1, 5))
def test_the_law_is_that_of_its_definition(on_file, other, text, order, on_file_order) -> None:
    source = NgramSource(count_ngrams(on_file, max(order, on_file_order)), order, VOCAB)
    found, expected = law(source, [other], text), law_by_definition(on_file, [other, text], text, order)
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_context_behind_all_known_ones_is_not_the_next_ones() -> None:
    """0 was never followed by 2, and the first token that followed 1, which stands behind, is 2."""
    on_file, text = [[0, 0], [1, 2, 3], [2, 1], [2, 4]], [0, 2]
    found = law(NgramSource(count_ngrams(on_file, 3), 3, VOCAB), [], text)
    np.testing.assert_allclose(found, law_by_definition(on_file, [[], text], text, 3), atol=1e-6)


def test_shorter_counts_on_file_serve_a_higher_order() -> None:
    on_file, text = TEXTS[:2], TEXTS[4]
    deep, shallow = (NgramSource(count_ngrams(on_file, n), 4, VOCAB) for n in (4, 2))
    assert not np.allclose(law(deep, [], text[:4]), law(shallow, [], text[:4]))
    assert law(shallow, [], text[:4])[0] > 0


def test_the_board_is_clean_after_each_opinion() -> None:
    source = NgramSource(count_ngrams(TEXTS, 3), 3, VOCAB)
    first = law(source, [], [0, 1])
    law(source, [[5, 5]], [4, 4, 4])
    assert np.array_equal(law(source, [], [0, 1]), first)


def test_whoever_is_interrupted_leaves_a_clean_board_to_others(monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    first = law(NgramSource(count_ngrams(TEXTS, 3), 3, VOCAB), [], [0, 1])
    with monkeypatch.context() as while_it_is_full:
        while_it_is_full.setattr("truedraw.draft.ngram_lm_blend.taken_from", interrupted)
        with pytest.raises(KeyboardInterrupt):
            law(NgramSource(count_ngrams(TEXTS, 3), 3, VOCAB), [], [0, 1])
    assert np.array_equal(law(NgramSource(count_ngrams(TEXTS, 3), 3, VOCAB), [], [0, 1]), first)


def test_tokens_that_nobody_wrote_have_no_mass() -> None:
    assert law(NgramSource(count_ngrams(TEXTS, 3), 3, 9), [], [0])[5:].tolist() == [0.0] * 4
    assert law(NgramSource(None, 3, 9), [], []) is None


def test_only_frequent_tokens_stand_below_the_contexts(monkeypatch) -> None:
    monkeypatch.setattr(ngram_lm_source, "TOP", 2)
    source = NgramSource(count_ngrams([[0, 0, 0, 3, 3, 1]], 2), 2, VOCAB)
    assert np.flatnonzero(law(source, [], [])).tolist() == [0, 3]


@pytest.mark.parametrize("texts", [[], [[]], [[3]], [[0], [0]]])
def test_hardly_any_text(texts) -> None:
    counts = count_ngrams(texts, 5)
    assert counts.levels[1:] == (0, 0, 0, 0)
    assert walked(counts) == ngrams(texts, 1)


def test_rare_ngrams_are_left_out_and_the_rest_stays_as_it_was() -> None:
    texts = [np.random.default_rng(seed).integers(0, 4, 60).tolist() for seed in range(6)]
    whole = count_ngrams(texts, 4)
    few = without_rare(whole, 3)
    assert few.levels[:2] == whole.levels[:2]
    assert few.levels[2] < whole.levels[2]
    assert few.num_bytes < whole.num_bytes
    kept = {gram: n for gram, n in walked(whole).items() if len(gram) < 3 or n >= 3}
    assert walked(few) == kept
    assert walked(without_rare(whole, 1)) == walked(whole)
