"""Stop strings over a stream of text pieces."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.errors import BadParameter


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
        self._held = ""
        self.stopped_by: str | None = None  # the stop string that ended the text

    def push(self, piece: str) -> str:
        """The text that is safe to show; nothing any more once a stop was found."""
        if not self._stops:
            return piece
        if self.stopped_by is not None:
            return ""
        text = self._held + piece
        found = [(text.index(stop) + len(stop), text.index(stop), stop) for stop in self._stops if stop in text]
        if found:
            _, start, self.stopped_by = min(found)
            self._held = ""
            return text[:start]
        keep = max(_overlap(text, stop) for stop in self._stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """What was held back, when the text ends without the rest of a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that begins `stop` without being all of it."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)
