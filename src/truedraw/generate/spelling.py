"""Words to the tokens that spell them."""

from __future__ import annotations

from unicodedata import normalize

from truedraw.errors import BadPrompt
from truedraw.text import Tokenizer


def spelling(tokenizer: Tokenizer, text: str) -> list[int]:
    """Ids of a text; none where the vocabulary cannot spell it and would put an unknown token in its place.

    Some tokenizers first compose characters, or write all letters small: their ids are of the text so rewritten.
    """
    try:
        ids = tokenizer.encode(text, add_special=False)
    except BadPrompt:
        return []
    return ids if _alike(tokenizer.decode(ids, skip_special=False)) == _alike(text) else []


def _alike(text: str) -> str:
    """The same for all that a tokenizer takes for one text."""
    return normalize("NFKC", text).strip().casefold()  # some accents are composed with a space
