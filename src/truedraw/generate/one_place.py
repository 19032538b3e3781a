"""Objects that stay where they are: what they hold, an engine, its memory, threads, cannot be had twice."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class OnePlace:
    """Neither copied nor pickled; `instead` says what to do."""

    instead = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """For copy, deepcopy and pickle; raises TypeError."""
        raise TypeError(f"{self!r} cannot be copied or pickled; {self.instead}")
