"""The target's sampling law, and the rows that it makes of logits."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import Protocol

from truedraw.protocol.arrays import Floats, Logits
from truedraw.protocol.randomness import Purpose, Randomness


class Law(Protocol):
    """The target's sampling law at one place of a text. It never changes: the law one token later is another object."""

    def __call__(self, logits: Logits) -> Floats:
        """p [vocab], sums to 1, from the logits [vocab] at this place."""
        ...

    def after(self, token: int, p: Floats | None = None) -> Law:
        """The law once `token` stands here; drafts that may be rejected are tried out in this way.

        `p` [vocab] is what this law said here, for a law that carries it on (mirostat). A drafter that cannot know it
        may leave it out: its own law is then a guess, as all of it is.
        """
        ...

    def forced(self, limit: int) -> Seq[int]:
        """At most `limit` tokens that must come here whatever the logits are, as far as that is known; mostly none."""
        ...


class Rows(Protocol):
    """The target's p at every node of a proposal, transformed when first looked at."""

    def __getitem__(self, row: int) -> Floats:
        """p [vocab] after the committed text (row 0) or after draft node i (row 1 + i); never written into.

        Where the sampling law would raise an error after a draft, since no token may follow it, the row is some law:
        what a verdict holds from there on is dropped, and the error is raised once the text has come there.
        """
        ...


class DrawingRows(Rows, Protocol):
    """Rows that can draw without writing p down. Optional; verify/draws.py and verify/proposals.py ask for it."""

    vocab_size: int

    def draw(self, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
        """randomness.choose(self[row], purpose, position, node): the same token, perhaps sooner."""
        ...
