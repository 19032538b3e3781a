"""Tokens to text as they come, never half a character."""

from __future__ import annotations

import codecs

from truedraw.text.tokenizer import Tokenizer


class Detokenizer:
    """The pieces joined equal Tokenizer.decode of all tokens, whatever the tokens are.

    Bytes that may still become a character wait for the next token; bytes that cannot become U+FFFD at once.
    """

    def __init__(self, tokenizer: Tokenizer, *, skip_special: bool = True, continues: bool = False) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._drops_space = tokenizer.drops_first_space and not continues
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """The text that this token completes, perhaps none."""
        if self._skip_special and self._tokenizer.is_special(token):
            return ""
        data = self._tokenizer.token_bytes(token)
        if self._drops_space and data:
            data, self._drops_space = data.removeprefix(b" "), False
        if data.isascii() and not self._decoder.buffer:
            return data.decode("ascii")
        return self._decoder.decode(data)

    def flush(self) -> str:
        """What still waits, when no further token comes."""
        return self._decoder.decode(b"", final=True)
