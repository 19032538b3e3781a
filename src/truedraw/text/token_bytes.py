"""The bytes that each token stands for, read off a tokenizer's decoder.

Two families cover the models here. Byte-level BPE writes every byte as a printable character. SentencePiece
writes a space as "▁", and a byte that no piece covers as "<0xAB>".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.text.byte_level import bytes_of_all

if TYPE_CHECKING:
    import tokenizers

ToBytes = Callable[[Sequence[str]], list[bytes]]
"""What tokens stand for, from how they are written."""

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
        return DecodingRule(bytes_of_all, drops_first_space=False)
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
    """The bytes of every id, [ids]; an added token stands for its own text, or what the rule reads where it is written,
    which a normalizer may have put a space before; a gap for nothing. Raises BadModelFile for gaps that no vocabulary
    has."""
    table = rule.to_bytes(_written(tokenizer))
    for i, added in tokenizer.get_added_tokens_decoder().items():
        if added.special or not rule.of_added:
            table[i] = added.content.encode()
    return table


def _written(tokenizer: tokenizers.Tokenizer) -> list[str]:
    """How the token of each id is written; nothing for a gap."""
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    tokens = [tokenizer.id_to_token(i) for i in range(size)]
    whole = [token for token in tokens if token is not None]
    if len({*whole}) == size and tokenizer.id_to_token(size) is None:
        return whole  # each text of the vocabulary
    return [tokenizer.id_to_token(i) or "" for i in range(_count(tokenizer))]  # by id: two of them may have one text


def _count(tokenizer: tokenizers.Tokenizer) -> int:
    """Ids up to the last one that has a token; raises BadModelFile."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    largest = max(vocabulary.values(), default=-1)
    if largest > len(vocabulary) + MOST_GAPS:
        found = f"the tokenizer has {len(vocabulary)} tokens, and one of them the id {largest}"
        raise BadModelFile(f"{found}; fetch it again")
    return 1 + largest


def _steps(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    return list(decoder["decoders"]) if decoder["type"] == "Sequence" else [decoder]


def _is_one_space(strip: list[dict[str, Any]]) -> bool:
    wanted = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return not strip or strip[0] == wanted


def _piece(space: str) -> ToBytes:
    def to_bytes(token: str) -> bytes:
        byte = BYTE_PIECE.fullmatch(token)
        return bytes([int(byte[1], 16)]) if byte else token.replace(space, " ").encode()

    return lambda tokens: [to_bytes(token) for token in tokens]
