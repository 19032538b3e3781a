"""Pieces joined are the text, whatever the tokens; no piece is ever taken back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truedraw.generate.ending import Ending
from truedraw.generate.reader import TextReader
from truedraw.text import Detokenizer, StopStrings

ID = st.integers(0, 300)


def stream(tokenizer, ids, **options):
    detokenizer = Detokenizer(tokenizer, **options)
    return [*map(detokenizer.push, ids), detokenizer.flush()]


@pytest.mark.parametrize("skip_special", [True, False])
@pytest.mark.parametrize("continues", [True, False])
@given(ids=st.lists(ID))
def test_pieces_join_to_the_text(byte_level, pieces, ids, skip_special, continues):
    options = {"skip_special": skip_special, "continues": continues}
    for tokenizer in (byte_level, pieces):
        known = [i for i in ids if i < tokenizer.vocab_size]
        assert "".join(stream(tokenizer, known, **options)) == tokenizer.decode(known, **options)


@given(ids=st.lists(ID))
def test_what_was_shown_is_never_taken_back(byte_level, ids):
    """Every prefix of the stream is a prefix of the text of any longer one."""
    known = [i for i in ids if i < byte_level.vocab_size]
    shown = "".join(stream(byte_level, known)[:-1])
    for more in ([], [known[0]] if known else [], byte_level.encode("é")):
        assert byte_level.decode(known + more).startswith(shown)


@given(text=st.text())
def test_a_text_streams_by_whole_characters(byte_level, text):
    ids = byte_level.encode(text)
    assert "".join(stream(byte_level, ids, skip_special=False)) == text
    if "\ufffd" not in text:
        assert all("\ufffd" not in piece for piece in stream(byte_level, ids, skip_special=False))


def test_a_character_of_four_tokens(byte_level):
    assert stream(byte_level, byte_level.encode("😀!")) == ["", "", "", "😀", "!", ""]


def test_an_unfinished_character_shows_at_the_end(byte_level):
    assert stream(byte_level, byte_level.encode("é")[:1]) == ["", "\ufffd"]


def test_a_byte_that_begins_nothing_shows_at_once(byte_level):
    stray = byte_level.encode("é")[1]
    assert stream(byte_level, [stray, stray]) == ["\ufffd", "\ufffd", ""]


def test_a_control_token_within_a_character_does_not_break_it(byte_level):
    first, second = byte_level.encode("é")
    assert stream(byte_level, [first, 2, second]) == ["", "", "é", ""]


def test_the_first_space_of_sentence_piece(pieces):
    ids = pieces.encode("hello world", add_special=False)
    assert stream(pieces, ids) == ["hello", " wor", "ld", ""]
    assert stream(pieces, ids, continues=True) == [" hello", " wor", "ld", ""]


def test_a_row_without_a_token_leaves_the_first_space_to_be_dropped(pieces):
    ids = [pieces.vocab_size, *pieces.encode("hello", add_special=False)]
    assert "".join(stream(pieces, ids)) == pieces.decode(ids) == "hello"


def test_streaming_into_stops(byte_level):
    detokenizer, stops = Detokenizer(byte_level), StopStrings(["é!"])
    shown = [stops.push(detokenizer.push(i)) for i in byte_level.encode("aé b é! c")]
    assert "".join(shown) == "aé b "
    assert stops.stopped_by == "é!"


@pytest.mark.parametrize(("stop", "reason", "text"), [("\ufffd", "stop", "a"), ("x", "length", "a\ufffd")])
def test_half_a_character_at_the_last_token_may_be_a_stop_string(byte_level, stop, reason, text):
    tokens = byte_level.encode("aé")[:2]
    reader = TextReader(byte_level, [stop])
    ending = Ending((), len(tokens), reader)
    assert ending.cut(tokens) == (tuple(tokens), reason)
    ending.finish()
    assert reader.text == text
