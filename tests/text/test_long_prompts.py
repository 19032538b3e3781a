"""Prompts that are certain to be too long are refused before they are cut into tokens, and no others."""

import unicodedata

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from truedraw.errors import BadPrompt
from truedraw.generate.loading import load
from truedraw.text import Tokenizer as OurTokenizer
from truedraw.text.shortening import COMPOSED, num_kept_bytes

CONTEXT = 16
LEFT_OUT = "\x01"


def byte_level(normalizer=None, cut=None, **model) -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [token for token in alphabet if token != "\u0101"]  # the byte 1 has no token, as in some real vocabularies
    vocabulary = {token: i for i, token in enumerate([*tokens, "aa", "aaaa"])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[("a", "a"), ("aa", "aa")], **model))
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([cut, bytes_]) if cut else bytes_
    made.decoder = decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    return made


def check(tokenizer: Tokenizer, text: str) -> None:
    OurTokenizer(tokenizer).check_length(text, CONTEXT)


@pytest.mark.parametrize("normalizer", [None, normalizers.NFC()])
def test_a_text_that_cannot_fit_is_refused_with_what_it_has_at_least(normalizer) -> None:
    with pytest.raises(BadPrompt, match=r"at least \d+ tokens and the model's context 16; shorten it to 15"):
        check(byte_level(normalizer), "a" * 4 * CONTEXT * COMPOSED)


def test_the_bound_is_sharp_where_every_token_is_the_longest() -> None:
    tokenizer = byte_level()
    assert len(tokenizer.encode("a" * 60).ids) == 15
    check(tokenizer, "a" * 60)
    with pytest.raises(BadPrompt, match="at least 16 tokens"):
        check(tokenizer, "a" * 61)


@pytest.mark.parametrize(
    "tokenizer",
    [
        byte_level(normalizers.Replace("a", "")),
        byte_level(normalizers.NFKC()),
        byte_level(cut=pre_tokenizers.Split(Regex("a+"), "removed")),
        byte_level(cut=pre_tokenizers.WhitespaceSplit()),
    ],
)  # fmt: skip
def test_a_tokenizer_that_may_shorten_a_text_is_asked_itself(tokenizer) -> None:
    check(tokenizer, "a" * 10_000)


def test_a_token_that_swallows_blanks() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("<x>", lstrip=True)])
    text = " " * 10_000 + "<x>"
    assert len(tokenizer.encode(text).ids) == 1
    check(tokenizer, text)


def test_a_vocabulary_of_words() -> None:
    with load("tabular") as model:
        assert len(model.tokenizer.encode("x" * 10_000)) == 1
        model.tokenizer.check_length("x" * 10_000, CONTEXT)


def test_bytes_without_a_token_do_not_count() -> None:
    tokenizer = byte_level()
    text = LEFT_OUT * 10_000 + "a"
    assert len(tokenizer.encode(text).ids) == 1
    check(tokenizer, text)


def test_sentence_piece_counts_all_but_its_own_space(pieces) -> None:
    tokenizer, vocabulary = pieces._tokenizer, pieces
    assert num_kept_bytes(tokenizer, "hello world", vocabulary._bytes) == len("hello world")
    for text in ("hello world " * 50, "▁" * 300, "▁hello" * 50, "\x00é漢" * 40):
        kept = num_kept_bytes(tokenizer, text, vocabulary._bytes)
        assert -(-kept // vocabulary._longest) <= len(tokenizer.encode(text).ids)


def test_nfc_never_shortens_by_more_than_is_assumed() -> None:
    marks = ["\u0300", "\u0301", "\u0308", "\u0345", "\u0327", "\u0342", "\u0313"]
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    longest = {}
    for letter in every:
        composed = unicodedata.normalize("NFC", letter)
        longest[composed] = max(
            longest.get(composed, 0), len(letter.encode()), len(unicodedata.normalize("NFD", letter).encode())
        )
    assert max(size / len(letter.encode()) for letter, size in longest.items()) <= COMPOSED - 1
    for base in ("\u2126", "\u212a", "\u212b", "\u1100\u1161\u11a8"):
        for mark in marks:
            text = base + mark
            assert len(text.encode()) / len(unicodedata.normalize("NFC", text).encode()) <= COMPOSED - 1


def test_composed_characters_count_for_what_is_left_of_them() -> None:
    tokenizer, text = OurTokenizer(byte_level(normalizers.NFC())), "\u1112\u1161\u11ab" * 10
    left = unicodedata.normalize("NFC", text).encode()
    assert num_kept_bytes(tokenizer._tokenizer, text, tokenizer._bytes) <= len(left)


def test_a_model_refuses_it_before_the_tokenizer_sees_it(monkeypatch) -> None:
    with load("tabular") as model:
        monkeypatch.setattr(model, "tokenizer", OurTokenizer(byte_level()))
        monkeypatch.setattr(model.tokenizer, "encode", lambda *_a, **_m: pytest.fail("it was cut into tokens"))
        monkeypatch.setattr(model.engine, "context_length", CONTEXT)
        with pytest.raises(BadPrompt, match="at least"):
            model.generate("a" * 1000)
        monkeypatch.setattr(model.tokenizer, "chat", lambda *_a, **_m: "a" * 1000)
        with pytest.raises(BadPrompt, match="at least"):
            model.chat_prompt([{"role": "user", "content": "a"}])
