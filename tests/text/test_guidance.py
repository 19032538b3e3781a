"""The tokenizer handed to llguidance, of both families: masks follow the tokens' bytes, text is spelled right."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sentence_piece import tokenizer_of
from tiny_models import byte_tokenizer
from tokenizers import Tokenizer as Raw
from tokenizers import decoders, models, pre_tokenizers

from truedraw.errors import BadParameter
from truedraw.sampling.grammar import OVER, opened
from truedraw.sampling.params import SamplingParams
from truedraw.text import Tokenizer, guidance
from truedraw.text.guidance import Vocabulary, continuing
from truedraw.text.guided import ends_of, masks

ODD = [
    "hello world",
    " hello",
    "  two spaces",
    "naïve 日本 \U0001f40d",
    "e\u0301\u200d\ufeff",
    "<s></s>",
    "\x00\x07",
    "▁lo",
]


@pytest.fixture(params=["byte_level", "pieces", "pieces without a space"])
def tokenizer(request, tmp_path) -> Tokenizer:
    if request.param.endswith("space"):
        return tokenizer_of(tmp_path / "m.gguf", add_space_prefix=False)
    return request.getfixturevalue(request.param)


def step_of(tokenizer: Tokenizer, parameter: str, text: str, extra_rows: int = 0):
    rows = tokenizer.vocab_size + extra_rows
    return opened(parameter, text, tokenizer.guidance(rows, tokenizer.eos_ids), frozenset(tokenizer.eos_ids))


def legal(step, rows: int) -> set[int]:
    return set(np.flatnonzero(step.legal(rows)).tolist())


def test_the_mask_is_the_one_of_the_tokens_bytes(tokenizer: Tokenizer) -> None:
    """Two tokens of the same bytes, as a SentencePiece letter and its byte, are both legal."""
    step, rows = step_of(tokenizer, "regex", "[ helowrd]{2,40}x", 7), tokenizer.vocab_size + 7
    expected = {
        token
        for token in range(tokenizer.vocab_size)
        if not tokenizer.is_special(token) and (data := tokenizer.token_bytes(token)) and set(data) <= set(b" helowrd")
    }
    assert len(expected) > 7
    assert legal(step, rows) == expected


@pytest.mark.parametrize("text", ODD)
def test_text_that_must_come_is_spelled_in_bytes(tokenizer: Tokenizer, text: str) -> None:
    """No space is put before it, and a control token's name is text."""
    step, tokens = step_of(tokenizer, "grammar", f"start: {json.dumps(text)}"), []
    while step is not OVER:
        tokens.append(max(legal(step, tokenizer.vocab_size)))
        step = step.after(tokens[-1], None)
    assert tokens[-1] in tokenizer.eos_ids
    assert b"".join(map(tokenizer.token_bytes, tokens[:-1])) == text.encode()


def test_bytes_that_are_no_text_are_not_spelled_by_a_control_token(byte_level: Tokenizer) -> None:
    vocabulary, data = Vocabulary(byte_level, continuing(byte_tokenizer()), (2,)), b"<|im_end|>\xff"
    ids = vocabulary(data)
    assert not set(ids) & set(vocabulary.special_token_ids)
    assert b"".join(map(byte_level.token_bytes, ids)) == data


def test_bytes_that_are_no_text_are_spelled_by_the_longest_tokens(pieces: Tokenizer) -> None:
    vocabulary = Vocabulary(pieces, pieces._tokenizer, (2,))
    spelled = [vocabulary.tokens[i] for i in vocabulary(b" hello wor\xffel")]
    assert spelled == [b" hello", b" wor", b"\xff", b"el"]


def test_a_metaspace_puts_no_space_before_a_continuation() -> None:
    raw = Raw(models.BPE(vocab={"▁": 0, "a": 1, "▁a": 2}, merges=[("▁", "a")]))
    raw.pre_tokenizer = pre_tokenizers.Metaspace()
    assert raw.encode("a").tokens == ["▁a"]
    assert continuing(raw).encode("a").tokens == ["a"]


def test_a_vocabulary_that_has_no_way_to_write_most_texts_is_guided_all_the_same() -> None:
    raw = Raw(models.Unigram([("▁", -1.0), ("a", -2.0), ("b", -2.0), ("ab", -1.5)], None, False))
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    raw.add_special_tokens(["</s>"])
    tokenizer = Tokenizer(raw, eos_ids=(4,))
    assert legal(step_of(tokenizer, "regex", "[ab]+"), 5) == {1, 2, 3}
    assert legal(step_of(tokenizer, "regex", "ab"), 5) == {3}
    with pytest.raises(BadParameter, match="no token that goes on with it"):
        step_of(tokenizer, "regex", "é")


def test_every_end_token_may_end(byte_level: Tokenizer) -> None:
    ends = (2, 0)
    step = opened("regex", "a?", byte_level.guidance(byte_level.vocab_size, ends), frozenset(ends))
    found = legal(step, byte_level.vocab_size)
    assert set(ends) <= found
    assert 1 not in found


def test_a_row_without_a_token_may_be_the_end(byte_level: Tokenizer) -> None:
    rows = byte_level.vocab_size + 5
    for ends in [(rows - 2,), (2, rows - 1)]:
        step = opened("regex", "a?", byte_level.guidance(rows, ends), frozenset(ends))
        assert legal(step, rows) == {*byte_level.encode("a"), *ends}


def test_the_tokenizer_itself_stays_as_it_was(pieces: Tokenizer) -> None:
    before = pieces.encode(" hello <s>")
    pieces.guidance(pieces.vocab_size, pieces.eos_ids)
    assert pieces.encode(" hello <s>") == before
    assert pieces.guidance(pieces.vocab_size, (2,)) is pieces.guidance(pieces.vocab_size, (2,))


def test_only_the_last_few_sets_of_end_tokens_are_remembered(byte_level: Tokenizer, monkeypatch) -> None:
    made = []
    monkeypatch.setattr(guidance, "guidance_tokenizer", lambda *given: made.append(given[-1]) or object())
    first = byte_level.guidance(300, (0,))
    for end in range(1, 40):
        byte_level.guidance(300, (0, end))
        assert byte_level.guidance(300, (0,)) is first
    assert len(byte_level._guidance) < 10
    assert len(made) == 40


def test_control_tokens_that_stop_are_ends_too(byte_level: Tokenizer) -> None:
    text = byte_level.encode("a")[0]
    assert ends_of(SamplingParams(stop_token_ids=[0, text, 2]), byte_level) == (2, 0)


def test_a_model_without_an_end_token_needs_one() -> None:
    bare = Tokenizer(byte_tokenizer())
    with pytest.raises(BadParameter, match="stop_token_ids") as error:
        masks(SamplingParams(regex="a"), bare, bare.vocab_size)
    assert error.value.parameter == "regex"
    (step,) = masks(SamplingParams(regex="a?", stop_token_ids=[1]), bare, bare.vocab_size)
    assert 1 in legal(step, bare.vocab_size)
    assert masks(SamplingParams(), bare, bare.vocab_size) == ()
