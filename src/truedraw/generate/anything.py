"""What a rule is shown where no token may follow, see rows.py."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import Floats, Law, Logits
from truedraw.sampling.law import one_hot


class Anything:
    """protocol.Law where no token may follow, and below: any would do that does not depend on what was drafted."""

    def __call__(self, logits: Logits) -> Floats:
        """The first token."""
        return one_hot(0, len(logits))

    def after(self, token: int, p: Floats | None = None) -> Law:
        """The same."""
        return self

    def forced(self, limit: int) -> Sequence[int]:
        """Nothing: no text comes here."""
        return ()
