"""All tokens of a vocabulary at once stand for what each stands for alone, and gaps and doubles keep their places."""

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models

from truedraw.text.byte_level import bytes_of_all
from truedraw.text.token_bytes import DecodingRule, byte_table, decoding_rule


def _alone(token):
    """By the rule of GPT-2, written anew: printable bytes as themselves, the others from U+0100 on."""
    same = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    moved = [byte for byte in range(256) if byte not in same]
    values = {chr(byte): byte for byte in same} | {chr(256 + i): byte for i, byte in enumerate(moved)}
    return bytes(values[each] for each in token) if all(each in values for each in token) else token.encode()


EVERY_BYTE = "".join(chr(i) for i in range(0x144))


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [""],
        ["the", "Ġthe", "", "Ċ"],
        list(EVERY_BYTE),
        ["a b", "Ġok", "日本", "<|end|>", "\u0144", "🙂", "Ń", "a\u00ad"],
        ["", "日", "", "x"],
    ],
)
def test_as_each_alone(tokens):
    assert bytes_of_all(tokens) == [_alone(token) for token in tokens]


def _table(model, added=()):
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(each) for each in added])
    return byte_table(tokenizer, decoding_rule(tokenizer))


def test_ids_without_a_token_stand_for_nothing():
    assert _table(models.BPE({"a": 0, "b": 3}, [])) == [b"a", b"", b"", b"b"]


def test_added_tokens_follow():
    assert _table(models.BPE({"a": 0, "Ġ": 1}, []), ["<é>", "a"]) == [b"a", b" ", "<é>".encode()]


def test_two_ids_of_one_text_both_stand_for_it():
    assert _table(models.Unigram([("a", 0.0), ("b", 0.0), ("a", 0.0)])) == [b"a", b"b", b"a"]


def test_an_empty_vocabulary():
    assert _table(models.BPE({}, [])) == []


def test_where_texts_are_counted_once_ids_behind_them_have_theirs():
    """As the tokenizers package had it up to 0.21."""
    tokens = ["a", "b", "c", "a", "b"]

    class Once:
        def get_vocab_size(self, with_added_tokens):
            return len({*tokens})

        def get_vocab(self, with_added_tokens):
            return {token: i for i, token in enumerate(tokens)}

        def id_to_token(self, i):
            return tokens[i] if i < len(tokens) else None

        def get_added_tokens_decoder(self):
            return {}

    assert byte_table(Once(), DecodingRule(bytes_of_all, drops_first_space=False)) == [b"a", b"b", b"c", b"a", b"b"]
