"""Acceptance: what a rule decides, and who may watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from truedraw.protocol.drafting import Proposal
from truedraw.protocol.law import Rows
from truedraw.protocol.randomness import Randomness


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier decided: the accepted drafts, then one token drawn from the target (or its residual)."""

    tokens: tuple[int, ...]  # num_accepted + 1; an observer sees one less where no token may follow the last draft
    num_accepted: int
    rejected: bool  # True: the last token is a residual token; False: a bonus token, or plain
    coupled: bool = field(default=False, compare=False)  # told to observers: whether the rule is


class DecidingRows(Rows, Protocol):
    """Rows that can decide a whole round by compiled code. Optional; verify/coupled.py and traversal.py ask for it."""

    def decide(self, coupled: bool, proposal: Proposal, randomness: Randomness, position: int) -> Verdict | None:
        """What verify/coupled.py, or else verify/traversal.py, decides of these rows; None: that is for the rule."""
        ...


@runtime_checkable
class Verifier(Protocol):
    """An acceptance rule: numbers in, verdict out; no model, no state."""

    exact: ClassVar[bool]
    """Whether the emitted text has exactly the target's law."""
    coupled: ClassVar[bool]
    """Whether every token is a function of its own law and the noise of its own position alone."""

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """`position` is the length of the committed text: the absolute position of the first token decided here."""
        ...


@dataclass(frozen=True, slots=True)
class Loss:
    """How far from the target's law a lossy rule may have taken the tokens of a run."""

    rule: str
    settings: dict[str, float] = field(hash=False)
    tokens: int  # decided by the rule; the stop rules have not been applied
    tv_per_token: float | None  # upper bound of the mean total variation a token; None: no useful bound exists
    meaning: str  # what the bound says, in words
    details: dict[str, float] = field(default_factory=dict, hash=False)


@runtime_checkable
class LossyVerifier(Verifier, Protocol):
    """A rule whose `exact` is False. It tells what it did; what it tells never changes what it does."""

    def loss(self) -> Loss:
        """Of all verdicts of this object so far."""
        ...


class Observer(Protocol):
    """Watches verdicts while they are made, for statistics that need the laws; it changes nothing.

    It is called in the midst of a pass: a text that it asks the model for is refused. When that is over the rows are
    gone: a vector that was taken stays, what was not looked at by then raises BadInput.
    """

    def __call__(self, sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
        """One round of sample number `sample`; the stop rules have not been applied to the verdict."""
        ...
