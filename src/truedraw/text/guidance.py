"""A tokenizer in the form that llguidance reads: the bytes of every token, and how a run of bytes is written in tokens.

Right for byte-level BPE and SentencePiece alike, since both are bytes here. Text is encoded as a continuation:
SentencePiece puts no space before it, and a control token's name in the text is text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truedraw.errors import BadPrompt
from truedraw.models.tokenizer_errors import raising

if TYPE_CHECKING:
    import tokenizers

    from truedraw.text.tokenizer import Tokenizer


class Vocabulary:
    """What llguidance.TokenizerWrapper asks for. `spelling` is the same vocabulary as it encodes a continuation."""

    def __init__(self, tokenizer: Tokenizer, spelling: tokenizers.Tokenizer, end_ids: Sequence[int]) -> None:
        ids = range(max(tokenizer.vocab_size, 1 + max(end_ids)))  # a model may end texts with a row without a token
        self.tokens = [tokenizer.token_bytes(i) for i in ids]
        self.special_token_ids = sorted({*end_ids, *(i for i in ids if tokenizer.is_special(i))})
        self.eos_token_id, self.bos_token_id = end_ids[0], tokenizer.bos_id
        special = {*self.special_token_ids}
        self._ids = {data: i for i, data in enumerate(self.tokens) if data and i not in special}
        self._longest = max(map(len, self._ids), default=0)
        self._spelling = spelling

    def __call__(self, data: bytes) -> list[int]:
        """The ids whose bytes are `data`: as the tokenizer writes them, or longest first where it cannot."""
        ids = self._written(data.decode("utf-8", "replace"))
        return ids if b"".join(self.tokens[i] for i in ids) == data else self._longest_first(data)

    def _written(self, text: str) -> list[int]:
        """As the tokenizer writes it; nothing where it has no way to."""
        try:
            with raising(BadPrompt):
                return list(self._spelling.encode(text, add_special_tokens=False).ids)
        except BadPrompt:
            return []

    def _longest_first(self, data: bytes) -> list[int]:
        """Up to the first byte that no token has."""
        ids: list[int] = []
        while data:
            lengths = range(min(self._longest, len(data)), 0, -1)
            length = next((length for length in lengths if data[:length] in self._ids), 0)
            if not length:
                break
            ids.append(self._ids[data[:length]])
            data = data[length:]
        return ids


def guidance_tokenizer(
    tokenizer: Tokenizer, original: tokenizers.Tokenizer, vocab_size: int, end_ids: Sequence[int]
) -> Any:
    """An llguidance.LLTokenizer over `vocab_size` rows; takes a tenth of a second for fifty thousand tokens."""
    from llguidance import LLTokenizer, TokenizerWrapper

    wrapped = TokenizerWrapper(Vocabulary(tokenizer, continuing(original), end_ids))
    return LLTokenizer(wrapped, n_vocab=vocab_size, eos_token=list(end_ids))


def continuing(original: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """A copy that puts nothing before a text and reads control tokens as text."""
    from tokenizers import Tokenizer

    parts = json.loads(original.to_str())
    parts |= {"normalizer": unprefixed(parts.get("normalizer")), "truncation": None, "padding": None}
    parts["pre_tokenizer"] = unprefixed(parts.get("pre_tokenizer"))
    copy = Tokenizer.from_str(json.dumps(parts))
    copy.encode_special_tokens = True
    return copy


def unprefixed(part: dict[str, Any] | None) -> dict[str, Any] | None:
    """A normalizer or pre-tokenizer that adds no space in front."""
    if part is None or part["type"] == "Prepend":
        return None
    changed = dict(part)
    for key in ("normalizers", "pretokenizers"):
        if key in part:
            changed[key] = [kept for each in part[key] if (kept := unprefixed(each)) is not None]
    if part["type"] == "Metaspace":
        changed["prepend_scheme"] = "never"
    if "add_prefix_space" in part:
        changed["add_prefix_space"] = False
    return changed
