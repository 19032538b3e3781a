"""Tokens of one sample to text as they come, up to a stop string."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.text import Detokenizer, StopStrings, Tokenizer


class TextReader:
    """ending.Reader: `pieces` holds what each token added to the text; a token that adds nothing yet adds ""."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str]) -> None:
        self.token_bytes = tokenizer.token_bytes
        self._tokenizer, self._stop = tokenizer, stop
        self._detokenizer = Detokenizer(tokenizer, continues=True)
        self._stops = StopStrings(stop)
        self._finished = False
        self._taken = 0
        self.pieces: list[str] = []

    def push(self, token: int) -> bool:
        """Take one token; True where a stop string has just been completed."""
        self._taken += 1
        self.pieces.append(self._stops.push(self._detokenizer.push(token)))
        return self._stops.stopped_by is not None

    def finish(self) -> bool:
        """No token comes any more: what was held back belongs to the text. True where a stop string was completed, as
        by half a character, which becomes U+FFFD. Calling it twice is harmless."""
        if self._stops.stopped_by is None and not self._finished:
            self.pieces.append(self._stops.push(self._detokenizer.flush()) + self._stops.flush())
        self._finished = True
        return self._stops.stopped_by is not None

    def keep(self, tokens: Sequence[int]) -> None:
        """See ending.Reader: what was held back depends on all that came, so that the text is read once more."""
        if self._taken > len(tokens):
            again = TextReader(self._tokenizer, self._stop)
            for token in tokens:
                again.push(token)
            vars(self).update(vars(again))  # in one step: others may be reading

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self.pieces)
