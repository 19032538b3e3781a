"""Forbidden words on the toy model, whose vocabulary lacks most of them."""

from __future__ import annotations

import pytest

from truedraw import load
from truedraw.errors import BadParameter


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
