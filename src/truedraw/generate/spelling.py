"""Words to the tokens that spell them."""

from __future__ import annotations

from truedraw.text import Tokenizer


def spelling(tokenizer: Tokenizer, text: str) -> list[int]:
    """Ids of a text; none where the vocabulary cannot spell it and would put an unknown token in its place."""
    ids = tokenizer.encode(text, add_special=False)
    return ids if tokenizer.decode(ids, skip_special=False).strip() == text.strip() else []
