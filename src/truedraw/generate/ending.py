"""When a text ends. The rules look at what verification kept; they never reach into verification itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Reader(Protocol):
    """Turns tokens into text as they come."""

    def push(self, token: int) -> bool:
        """Take one token; True where a stop string has just been completed."""
        ...

    def finish(self) -> bool:
        """No token comes any more; True where that completes a stop string. Calling it twice is harmless."""
        ...

    def keep(self, tokens: Sequence[int]) -> None:
        """The text is made of these; whatever was taken behind them is taken back."""
        ...


class Ending:
    """End tokens, stop strings and the token limit of one text."""

    def __init__(self, end_ids: Collection[int], max_tokens: int, reader: Reader | None = None) -> None:
        self.end_ids = frozenset(end_ids)
        self._reader = reader
        self.room = max_tokens
        """Tokens that may still be emitted."""

    def cut(self, tokens: Sequence[int]) -> tuple[tuple[int, ...], str | None]:
        """The tokens of a round up to the end of the text, end token included, and the reason if it ends there."""
        for count, token in enumerate(tokens, start=1):
            self.room -= 1
            if reason := self._reason(token):
                return tuple(tokens[:count]), reason
        return tuple(tokens), None

    def finish(self) -> None:
        """The text ends here, whether or not its rules say so."""
        if self._reader is not None:
            self._reader.finish()

    def break_off(self, tokens: Sequence[int]) -> None:
        """The same, of a text that has no more tokens than these: its last round may have failed behind `cut`."""
        if self._reader is not None:
            self._reader.keep(tokens)
        self.finish()

    def _reason(self, token: int) -> str | None:
        if token in self.end_ids:
            return "stop"
        if self._reader is not None and self._reader.push(token):
            return "stop"
        if self.room:
            return None
        return "stop" if self._reader is not None and self._reader.finish() else "length"
