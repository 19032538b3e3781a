"""Passes behind a prompt: they take half as long again at first, as the wide one has pushed the weights out of the
caches. What a row count takes is learnt from others, with drafts as without."""

from __future__ import annotations

MUCH = 20  # rows a text, from which a pass does so: a prompt's, for no tree of drafts has as many
SETTLES = 16  # passes until narrow ones take what they did
PATIENCE = 64  # narrow ones behind prompts, without any other, after which they count: short texts have no others


def is_wide(rows: int, texts: int) -> bool:
    """Whether a pass over so many rows is one that narrow ones feel."""
    return rows >= MUCH * texts


class Settling:
    """Of one engine's passes, which are counted by whoever asks."""

    def __init__(self) -> None:
        self._wide_at = -SETTLES  # the number of the last wide pass
        self._unsettled = 0  # narrow passes since one that was settled

    def is_over(self, passes: int) -> bool:
        """Whether narrow passes, behind so many, are to be learnt from."""
        return self._is_far(passes) or self._unsettled >= PATIENCE

    def left(self, passes: int) -> int:
        """Passes, behind so many, until narrow ones take what they did."""
        return max(0, self._wide_at + SETTLES - passes)

    def saw(self, rows: int, texts: int, passes: int) -> bool:
        """One came, behind so many; whether to learn from it."""
        if self.was_wide(rows, texts, passes + 1):
            return True
        counts = self.is_over(passes)
        self._unsettled = 0 if self._is_far(passes) else self._unsettled + 1
        return counts

    def was_wide(self, rows: int, texts: int, passes: int) -> bool:
        """Whether the last one of so many was, which narrow ones feel from there on."""
        found = is_wide(rows, texts)
        if found:
            self._wide_at = passes
        return found

    def _is_far(self, passes: int) -> bool:
        return passes - self._wide_at >= SETTLES
