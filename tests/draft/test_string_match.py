"""String-level matching: exact by enumeration, and what of a draft model's text may be offered in other tokens."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from draft.other_tokens import ABC, OTHER, Site, letters
from known_laws import SCENARIOS, random_table
from models.tiny_models import byte_tokenizer
from text.sentence_piece import tokenizer_of
from truedraw.draft.respelling import respelling, speller
from truedraw.draft.string_match import StringMatchDrafter
from truedraw.draft.string_match_text import LONGEST, Beginning, StringMatchState, Written, offered
from truedraw.errors import BadParameter
from truedraw.protocol import Proposal
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact
from truedraw.text import Tokenizer

PROMPT = (0, 1, 0)
LAW = SamplingLaw(SamplingParams())
FOUR = random_table(4, 1, 400)
THREE = [replace(each, draft_tokens=2, max_tokens=3) for each in SCENARIOS if len(each.target[()]) == 3]


def drafter(table=FOUR, target=ABC, draft=OTHER, **more) -> StringMatchDrafter:
    return StringMatchDrafter(Site(target, draft, table), "small", **more)


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath"])
@pytest.mark.parametrize("case", THREE, ids=str)
def test_another_vocabulary_keeps_the_law(case, rule: str) -> None:
    require_exact(case, PROMPT, find("verifiers", rule)(), drafter())


@pytest.mark.parametrize("more", [{}, {"draft_stop_below": 0.5}, {"draft_stop_entropy": 0.9}], ids=str)
def test_it_keeps_the_contract_of_a_drafter(more) -> None:
    for check in drafter_checks(lambda: drafter(**more), 3):
        check()


def chain(count: int, *tokens: int):
    """A table that says these tokens in turn, whatever stood before: token i follows token i - 1."""
    table = {(): np.full(count, 1 / count).tolist()}
    for before, token in pairwise(tokens):
        table[(before,)] = [float(i == token) for i in range(count)]
    return table


WORDS = letters(["h", "e", "l", "o", " ", "he", "hel", "lo", " h", " he", " hel", " hello"],
                [" +h", " h+e", " he+l", "l+o", " hel+lo", "h+e", "he+l"])  # fmt: skip
HALVES = letters(["h", "e", "l", "o", " ", "el", "lo"], ["e+l", "l+o"])


def test_words_are_spelled_anew_and_the_open_end_is_held_back() -> None:
    """The draft model says ' h el lo h el' in tokens of its own; what may still become longer is not offered."""
    table = {**chain(7, 4, 0, 5, 6, 4), (): [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]}
    made = drafter(table, WORDS, HALVES)
    for budget, tokens in ((1, []), (2, []), (4, [11]), (5, [11]), (8, [11, 11])):
        state = made.open([0, 1, 2, 2, 3], LAW)
        state.begins.ratio = 1.0
        [proposal] = made.propose([state], [budget], [PhiloxRandomness(1)])
        assert proposal.tokens.tolist() == tokens
        assert proposal.laws == (None,) * len(tokens)
        assert ((proposal.confidence > 0) & (proposal.confidence < 1)).all()


def written(draft: Tokenizer, *ids: int) -> Written:
    return Written(draft, Proposal.chain(ids, confidence=np.linspace(0.9, 0.5, len(ids))))


def test_what_stands_open_is_spelled_together_with_what_follows_where_its_tokens_stay() -> None:
    spell = speller(WORDS)
    assert offered(spell, WORDS, [4], written(HALVES, 0, 5, 6, 4)) == [6, 7]  # a space stays one beside "hello"
    assert offered(spell, WORDS, [10], written(HALVES, 6, 4, 0)) == [7]  # " hel" stays, though " hello" is a token
    assert offered(spell, WORDS, [0], written(HALVES, 5, 6, 4)) == [1, 2, 7]


def test_the_end_of_a_text_settles_it() -> None:
    target = letters(["a", "b", "ab"], ["a+b"], control=["<end>"], eos_ids=(3,))
    draft = letters(["b", "a"], control=["</s>", "<x>"], eos_ids=(2,))
    spell = speller(target)
    assert offered(spell, target, [], written(draft, 1, 0, 1, 2)) == [2, 0, 3]
    assert offered(spell, target, [], written(draft, 1, 0, 1, 3)) == [2, 0]  # a control token that means nothing here
    assert offered(spell, target, [], written(draft, 1, 0, 1)) == [2]
    assert offered(spell, target, [], written(draft, 2)) == [3]
    assert offered(spell, target, [], written(draft)) == []


def test_a_token_is_as_likely_as_what_the_draft_model_began_inside_it() -> None:
    text = written(HALVES, 4, 0, 5, 6, 4)  # " ", "h", "el", "lo", " " with 0.9, 0.8, 0.7, 0.6, 0.5
    found = text.confidence(WORDS, [8, 1, 2, 7])
    assert found == pytest.approx([0.72, 0.7, 1.0 - 1e-6, 0.6])


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    return Tokenizer(byte_tokenizer(), eos_ids=(2,), bos_id=1)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory) -> Tokenizer:
    return tokenizer_of(tmp_path_factory.mktemp("pieces") / "m.gguf")


TEXT = "hello wor\n𝄞 hé  hello\t\U0001f469‍\U0001f52c e\u0301 hello world"


@pytest.mark.parametrize("one_way", [True, False])
def test_what_was_written_comes_back_in_the_targets_own_spelling(byte_level, pieces, one_way: bool) -> None:
    """Both families of tokenizers, in either role; at every place of a text the rest is spelled, up to its open end."""
    target, draft = (byte_level, pieces) if one_way else (pieces, byte_level)
    tokens, way = target.encode(TEXT), respelling(target, draft)
    ids = way.opening(tokens)
    assert draft.decode(ids) == TEXT
    for cut in range(2, len(tokens)):
        beginning = Beginning(way, target, tokens[:cut])
        rest = way.text(tokens[cut:])
        text = Written(draft, Proposal.chain(rest))
        assert text.data == b"".join(map(target.token_bytes, tokens[cut:]))
        found = offered(speller(target), target, beginning.open, text)
        assert b"".join(map(target.token_bytes, found)) == text.data[: sum(len(target.token_bytes(i)) for i in found)]
        assert sum(len(target.token_bytes(i)) for i in found) <= text.settled


def test_half_characters_are_never_offered(byte_level, pieces) -> None:
    clef = [pieces.token_id(f"<0x{byte:02X}>") for byte in "𝄞".encode()]
    text = Written(pieces, Proposal.chain([*clef, *clef[:3]]))
    assert offered(speller(byte_level), byte_level, [], text) == byte_level.encode("𝄞")


def test_a_text_is_settled_where_a_word_begins(byte_level) -> None:
    begins = Beginning(respelling(byte_level, byte_level), byte_level, byte_level.encode("hello wo hello"))
    assert byte_level.decode(begins.open) == " hello"
    assert byte_level.decode(begins.settled) == "hello wo"
    end = byte_level.encode("hello<|im_end|>")
    assert begins.cut(end) == len(end)
    assert begins.cut(byte_level.encode("x  y")) == 0  # of two spaces it is not known whose the second is
    assert begins.cut([100] * LONGEST) == 0
    assert begins.cut([100] * (LONGEST + 1)) == LONGEST // 2


def test_the_draft_model_reads_the_text_as_if_it_had_been_there_from_the_beginning(byte_level, pieces) -> None:
    tokens = byte_level.encode("hello wor hello world hello hello wor")
    for one_at_a_time in (1, 3):
        made = StringMatchDrafter(Site(byte_level, pieces, {(): [1 / pieces.vocab_size] * pieces.vocab_size}), "small")
        state: StringMatchState = made.open(tokens[:3], LAW)
        for i in range(3, len(tokens), one_at_a_time):
            state.commit(tokens[i : i + one_at_a_time])
        look = state.ahead([tokens[1]]).writing()
        assert pieces.decode([*look.text.tokens, *look.behind]) == byte_level.decode([*tokens, tokens[1]])
        whole = pieces.encode(byte_level.decode(tokens))
        seen = state.writing()
        assert [*seen.text.tokens, *seen.behind] == whole


@pytest.mark.parametrize(("rows", "left"), [(12, [6, 7, 11]), (11, [6, 7]), (7, [6]), (6, [])])
def test_tokens_without_a_row_are_not_offered(rows, left) -> None:
    made = StringMatchDrafter(Site(WORDS, HALVES, chain(7, 4, 0, 5, 6, 4), vocab_size=rows), "small")
    [proposal] = made.propose([made.open([0, 4], LAW)], [9], [PhiloxRandomness(1)])
    assert proposal.tokens.tolist() == left


@pytest.mark.parametrize("more", [{"draft_stop_below": 2.0}, {"draft_stop_entropy": -1.0}], ids=str)
def test_settings_that_cannot_be(more) -> None:
    with pytest.raises(BadParameter, match=next(iter(more))):
        drafter(**more)


def test_tokens_without_a_row_are_left_out(byte_level, pieces) -> None:
    tokens, way = byte_level.encode(TEXT), respelling(byte_level, pieces)
    rows = max(way.opening(tokens))
    short = respelling(byte_level, pieces, rows)
    begins = Beginning(short, byte_level, tokens)
    assert begins.settled == [each for each in way.opening(tokens[: len(tokens) - len(begins.open)]) if each < rows]
    assert short.text(tokens) == [each for each in way.text(tokens) if each < rows]
    assert rows not in short.text(tokens)
    assert Beginning(respelling(byte_level, pieces, 0), byte_level, tokens).settled == [0]


def test_the_name_of_a_control_token_is_text_where_it_was_written_in_letters(byte_level, pieces) -> None:
    for target, draft in ((byte_level, pieces), (pieces, byte_level)):
        name = b"hello" + draft.token_bytes(1)
        written = speller(target)(name + target.token_bytes(2))
        assert not any(map(target.is_special, written))
        read = respelling(target, draft).text(written)
        assert not any(map(draft.is_special, read))
        assert b"".join(map(draft.token_bytes, read)) == name + target.token_bytes(2)
        assert respelling(target, draft).text([2]) == list(respelling(target, draft).controls[2])
