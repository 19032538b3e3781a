"""The same number of draft tokens every round."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import Round


class FixedController:
    """protocol.Controller with one number."""

    def __init__(self, num_speculative_tokens: int) -> None:
        self._tokens = num_speculative_tokens

    def budget(self, rooms: Sequence[int], samples: Sequence[int]) -> list[int]:
        """The number, or less where the text has less room left."""
        return [min(self._tokens, room) for room in rooms]

    def observe(self, rounds: Sequence[Round]) -> None:
        """Nothing is learnt."""
