"""Two drafters that had something for the same text: whose offer was worth more, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from truedraw.control.sums import add_up


@dataclass(slots=True)
class Rivalry:
    """Wherever both had something; sums of what their offers were worth, less what drafting them would take."""

    times: int = 0
    first: float = 0.0  # tokens
    second: float = 0.0

    def add(self, other: Rivalry) -> None:
        """Another run's."""
        add_up(self, other)


def preference(first: str, second: str, rivalry: Rivalry) -> dict[str, Any]:
    """Two drafters for JSON, the one whose offers were worth more on average before the other."""
    means = {first: rivalry.first / rivalry.times, second: rivalry.second / rivalry.times}
    better, worse = sorted(means, key=lambda name: -means[name])
    return {"drafter": better, "to": worse, "times": rivalry.times, "worth": means[better], "other_worth": means[worse]}
