"""Stop strings over a stream of text pieces."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.errors import BadParameter
from truedraw.text.stop_automaton import START, stop_automaton


class StopStrings:
    """Cuts a stream before the first stop string, and holds back only what could still become one.

    The stop that is complete first wins, the longer one where two end together; so the outcome does not
    depend on how the text is cut into pieces. Raises BadParameter for an empty stop string.
    """

    def __init__(self, stops: Iterable[str] = ()) -> None:
        self._stops = tuple(dict.fromkeys([stops] if isinstance(stops, str) else stops))
        for stop in self._stops:
            if not isinstance(stop, str) or not stop:
                raise BadParameter("stop", f"{stop!r} is not a text of at least one character")
        self._automaton = stop_automaton(self._stops)
        self._state = START
        self._held = ""
        self.stopped_by: str | None = None  # the stop string that ended the text

    def push(self, piece: str) -> str:
        """The text that is safe to show; nothing any more once a stop was found."""
        if not self._stops:
            return piece
        if self.stopped_by is not None:
            return ""
        text, read = self._held + piece, len(self._held)
        for end, character in enumerate(piece, start=read + 1):
            self._state = self._automaton.step(self._state, character)
            if length := self._automaton.word_length(self._state):
                self._held, self.stopped_by = "", text[end - length : end]
                return text[: end - length]
        return self._held_back(text, self._automaton.depth[self._state])

    def flush(self) -> str:
        """What was held back, when the text ends without the rest of a stop string."""
        held, self._held, self._state = self._held, "", START
        return held

    def _held_back(self, text: str, count: int) -> str:
        """The text but for its last characters."""
        self._held = text[len(text) - count :]
        return text[: len(text) - count]
