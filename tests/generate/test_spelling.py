"""Forbidden words on the toy model, whose vocabulary lacks most of them."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers

from truedraw import load
from truedraw.errors import BadParameter
from truedraw.generate.spelling import spelling
from truedraw.text import Tokenizer


def test_a_word_is_forbidden_and_an_unknown_token_is_not_put_in_its_place() -> None:
    model = load("tabular")
    result = model.generate("the cat", seed=1, n=8, max_tokens=30, ignore_eos=True, bad_words=["dog"])
    tokens = {token for choice in result.choices for token in choice.tokens}
    dog, the = model.tokenizer.encode(" dog")[0], model.tokenizer.encode("the")[0]
    assert dog not in tokens
    assert the in tokens


def test_a_word_without_a_spelling_is_refused() -> None:
    with pytest.raises(BadParameter, match=r"bad_words.*zebra"):
        load("tabular").start("the cat", bad_words=["zebra"])


def letters(normalizer: object) -> Tokenizer:
    """Byte-level BPE that rewrites texts first."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    backend.normalizer, backend.decoder = normalizer, decoders.ByteLevel()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return Tokenizer(backend)


@pytest.mark.parametrize(
    ("normalizer", "word", "read"),
    [
        (normalizers.NFC(), "nai\u0308ve", "na\u00efve"),
        (normalizers.NFC(), "\u1112\u1161\u11ab", "\ud55c"),
        (normalizers.NFD(), "na\u00efve", "nai\u0308ve"),
        (normalizers.NFKC(), "\ufb01ne", "fine"),
        (normalizers.NFKC(), "\u00b4tis", " \u0301tis"),
        (normalizers.NFKC(), "\u00a8", " \u0308"),
        (normalizers.Lowercase(), "Hello", "hello"),
        (normalizers.Lowercase(), "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c3"),
        (normalizers.Prepend(" "), "hello", " hello"),
    ],
    ids=ascii,
)
def test_a_word_that_a_tokenizer_rewrites_is_spelled_as_it_is_read(normalizer, word: str, read: str) -> None:
    tokenizer = letters(normalizer)
    assert tokenizer.decode(spelling(tokenizer, word)) == read


def test_a_text_that_a_tokenizer_has_no_way_to_write_has_no_spelling() -> None:
    backend = Backend(models.Unigram([("a", -1.0), ("b", -2.0)], None, False))
    backend.decoder = decoders.Metaspace()
    assert spelling(Tokenizer(backend), "ab") == [0, 1]
    assert spelling(Tokenizer(backend), "abc") == []
