"""Parts of plug-ins whose calls are made in a thread beside: one that never returns is told, and the check goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from truedraw.generate.calls import SECONDS, Calls
from truedraw.generate.foreign_drafter import ForeignDrafter
from truedraw.protocol import Drafter, Proposal, Randomness, Rows, Verdict, Verifier

Make = Callable[[], Drafter]
NO_SETTING = ""  # a check has a limit of its own, whatever the draft_timeout


def drafter_beside(make: Make) -> Make:
    """Makes the same drafters; once a call has not returned in time all others raise TimeoutError, as it does."""
    calls = Calls(SECONDS, beside=True, limit=NO_SETTING)
    return lambda: ForeignDrafter(calls.timed(make)[0], calls)


class RuleBeside:
    """protocol.Verifier around another one, which is registered by this name."""

    exact: ClassVar[bool] = True
    coupled: ClassVar[bool] = False

    def __init__(self, name: str, make: Callable[[], Verifier]) -> None:
        self.name, self._calls = name, Calls(SECONDS, beside=True, limit=NO_SETTING)
        self._rule, _ = self._calls.timed(make)
        self.coupled = self._rule.coupled  # type: ignore[misc] # of this rule

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """The other's verdict; raises TimeoutError where none comes."""
        return self._calls.timed(lambda: self._rule(proposal, rows, randomness, position))[0]
