"""How much of a text is sure to be left when it has been cut into tokens: a bound that costs next to nothing.

Byte-level BPE leaves every byte that has a token of its own, and drops the others. SentencePiece BPE that falls back on
bytes leaves all of them; it writes a space as "▁", so of that character less may be left. Whatever else may shorten a
text (a normaliser that strips blanks, a cut that removes what it finds, an added token that swallows the blanks beside
it, a vocabulary of whole words) makes the bound zero.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tokenizers

KEEPING = ("Split", "Digits", "Punctuation", "ByteLevel")
"""Cuts that keep what they cut, unless their behaviour is to remove it."""
REMOVED = "Removed"
SPACE = "▁"
COMPOSED = 4
"""NFC shortens a text by less than that: Hangul, and the Kelvin sign, to a third of their bytes, nothing further."""


def num_kept_bytes(tokenizer: tokenizers.Tokenizer, text: str, tokens: Collection[bytes]) -> int:
    """UTF-8 bytes that a text's tokens stand for at least, `tokens` being the vocabulary's; 0 = nobody can tell."""
    if _may_drop(tokenizer):
        return 0
    alone = {token[0] for token in tokens if len(token) == 1}
    missing = bytes(byte for byte in range(0x100) if byte not in alone)
    normaliser = _state(tokenizer.normalizer)
    if _is_byte_level(tokenizer):
        shrinks = {(): 1, ("NFC",): COMPOSED}.get(tuple(step["type"] for step in normaliser), 0)
        kept = text.encode("utf-8", "replace").translate(None, missing)
        return len(kept) // shrinks if shrinks else 0
    if missing or tokenizer.pre_tokenizer is not None or not all(map(_shows_spaces, normaliser)):
        return 0
    return len(text.replace(SPACE, "").encode("utf-8", "replace")) if tokenizer.model.byte_fallback else 0


def _may_drop(tokenizer: tokenizers.Tokenizer) -> bool:
    """Whether it is of another kind, ends texts early, or has tokens that take the blanks beside them."""
    from tokenizers.models import BPE

    added = tokenizer.get_added_tokens_decoder().values()
    other = not isinstance(tokenizer.model, BPE) or tokenizer.truncation is not None
    return other or any(token.lstrip or token.rstrip for token in added)


def _is_byte_level(tokenizer: tokenizers.Tokenizer) -> bool:
    cuts = _state(tokenizer.pre_tokenizer)
    keeps = all(cut["type"] in KEEPING and cut.get("behavior") != REMOVED for cut in cuts)
    return keeps and bool(cuts) and cuts[-1]["type"] == "ByteLevel"


def _shows_spaces(step: dict[str, Any]) -> bool:
    """A normaliser of SentencePiece: a space becomes visible, and one stands before the text."""
    if step["type"] == "Replace":
        return bool(step["pattern"] == {"String": " "} and step["content"] == SPACE)
    return bool(step["type"] == "Prepend")


def _state(part: Any) -> list[dict[str, Any]]:
    """The steps of a normaliser or a pre-tokenizer; none where there is none."""
    if part is None:
        return []
    found = json.loads(part.__getstate__())
    return (
        list(found.get("normalizers") or found.get("pretokenizers") or []) if found["type"] == "Sequence" else [found]
    )
