"""The bytes that each token stands for, read off a tokenizer's decoder.

Two families cover the models here. Byte-level BPE writes every byte as a printable character. SentencePiece
writes a space as "▁", and a byte that no piece covers as "<0xAB>".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadModelFile, UnsupportedModel

if TYPE_CHECKING:
    import tokenizers

ToBytes = Callable[[str], bytes]

PRINTABLE = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))
"""Bytes that byte-level BPE writes as the Latin-1 character of that number; the others follow U+0100."""
NO_BYTE = "\uffff"  # stands for a character that is no byte's, and makes the Latin-1 encoder refuse
MOST_GAPS = 1 << 20  # ids without a token, far more than any padded table has
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class DecodingRule:
    """How tokens become text."""

    to_bytes: ToBytes
    drops_first_space: bool  # SentencePiece: the space that encoding puts before a text
    of_added: bool = False  # whether tokens that were added are written so as well, but for special ones


def decoding_rule(tokenizer: tokenizers.Tokenizer) -> DecodingRule:
    """The rule behind a tokenizer's decoder; raises UnsupportedModel for one of another family."""
    if tokenizer.decoder is None:
        raise UnsupportedModel("the tokenizer has no decoder; supported: byte-level BPE and SentencePiece BPE")
    steps = _steps(json.loads(tokenizer.decoder.__getstate__()))
    kinds = [step["type"] for step in steps]
    if kinds == ["ByteLevel"]:
        return DecodingRule(_byte_level, drops_first_space=False)
    if kinds == ["Metaspace"]:
        scheme = steps[0].get("prepend_scheme", "always")
        return DecodingRule(_piece(steps[0]["replacement"]), scheme != "never", of_added=True)
    if kinds in (["Replace", "ByteFallback", "Fuse"], ["Replace", "ByteFallback", "Fuse", "Strip"]):
        space = steps[0]["pattern"].get("String")
        if space and steps[0]["content"] == " " and _is_one_space(steps[3:]):
            return DecodingRule(_piece(space), len(steps) == 4, of_added=True)
    raise UnsupportedModel(
        f"the tokenizer's decoder ({' + '.join(kinds)}) is not supported; byte-level and SentencePiece are"
    )


def byte_table(tokenizer: tokenizers.Tokenizer, rule: DecodingRule) -> list[bytes]:
    """The bytes of every id, [ids]; an added token stands for its own text, or what the rule reads there; a gap for
    nothing. Raises BadModelFile for gaps that no vocabulary has."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    largest = max(vocabulary.values(), default=-1)
    if largest > len(vocabulary) + MOST_GAPS:
        found = f"the tokenizer has {len(vocabulary)} tokens, and one of them the id {largest}"
        raise BadModelFile(f"{found}; fetch it again")
    table = [b""] * (1 + largest)
    for i in range(len(table)):  # by id: two of one text have one place in `vocabulary`
        token = tokenizer.id_to_token(i)
        table[i] = b"" if token is None else rule.to_bytes(token)
    for i, added in tokenizer.get_added_tokens_decoder().items():
        reads = rule.of_added and not added.special
        table[i] = rule.to_bytes(added.content) if reads else added.content.encode()
    return table


def _steps(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    return list(decoder["decoders"]) if decoder["type"] == "Sequence" else [decoder]


def _is_one_space(strip: list[dict[str, Any]]) -> bool:
    wanted = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return not strip or strip[0] == wanted


def _byte_characters() -> dict[int, str]:
    """Character -> Latin-1 character of its byte, for str.translate."""
    same = [byte for span in PRINTABLE for byte in span]
    moved = [byte for byte in range(0x100) if byte not in same]
    table = dict.fromkeys(moved, NO_BYTE) | {byte: chr(byte) for byte in same}
    return table | {0x100 + i: chr(byte) for i, byte in enumerate(moved)}


_BYTE_OF = _byte_characters()


def _byte_level(token: str) -> bytes:
    try:
        return token.translate(_BYTE_OF).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode()  # not written in byte characters: it stands for itself


def _piece(space: str) -> ToBytes:
    def to_bytes(token: str) -> bytes:
        byte = BYTE_PIECE.fullmatch(token)
        return bytes([int(byte[1], 16)]) if byte else token.replace(space, " ").encode()

    return to_bytes
