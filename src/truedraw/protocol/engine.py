"""Passes: texts in a cache, what is asked about them, and what a model says."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol.arrays import Logits
from truedraw.protocol.drafting import NOTHING, Proposal
from truedraw.protocol.jobs import PassJob


@runtime_checkable
class Sequence(Protocol):
    """One text and its pages in an engine's cache."""

    @property
    def tokens(self) -> Seq[int]:
        """The committed text, prompt included."""
        ...

    @property
    def num_uncached(self) -> int:
        """Rows of text that the next pass must compute: at least 1, the last token, whose logits are wanted."""
        ...

    def commit(self, tokens: Seq[int]) -> None:
        """Append. The cache keeps its longest agreeing prefix; the rest is recomputed with the next pass."""
        ...

    def evict(self) -> None:
        """Give the pages back and keep the text, which is recomputed when it is run again. Changes no logits."""
        ...

    def close(self) -> None:
        """Give the pages back. Closing twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """One sequence's part in a pass."""

    sequence: Sequence
    proposal: Proposal = NOTHING


@dataclass(frozen=True, slots=True)
class Fill:
    """Text to compute beside a pass, so that a long prompt need not hold up the texts that are being written."""

    sequence: Sequence
    count: int  # of its next uncached tokens, fewer than num_uncached: the last token's logits are a Work's


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TextRows:
    """Hidden states of tokens that stand side by side in a text, and whose logits nobody wanted.

    Texts that were forked share one object. Unlike scores it stays as it is when further passes are run.
    """

    first: int  # place of the first of these tokens in the text
    hidden: NDArray[np.float32]  # [rows, layers, width]


@dataclass(frozen=True, slots=True)
class Scores:
    """What the target says of one work: row 0 follows the committed text, row 1 + i follows draft node i.

    Logits and hidden states are in memory that the engine's next pass may write over: who keeps any of them copies it.
    """

    logits: Logits  # [1 + nodes, vocab]
    hidden: NDArray[np.float32] | None = None  # [1 + nodes, layers, width], where the engine was asked for it
    proposal: Proposal | None = None  # what was scored, for those who did not see it: the loop tells the drafters
    text: tuple[TextRows, ...] = ()  # with a text's first scores, from an engine asked for it; see hidden_text there


@runtime_checkable
class Engine(Protocol):
    """Runs a model over many texts at once."""

    vocab_size: int
    context_length: int  # tokens a text can have at most

    def open(self, tokens: Seq[int]) -> Sequence:
        """Start a text of at least one token; nothing is computed yet."""
        ...

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts equal to `sequence`, which is computed first; pages are shared, and copied when written."""
        ...

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether the cache has room for such a pass, with what nobody uses any more given up for it."""
        ...

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """ONE pass for all works and fills (a work's long uncached text is computed in chunks before it).

        Raises OutOfPages, and changes nothing, where the cache has no room for it.
        """
        ...

    def close(self) -> None:
        """Free everything."""
        ...


class Stride(Protocol):
    """Passes over one text, one behind the other; nothing else is asked of the engine meanwhile.

    Until it ends the text need not have what was kept: dropped before a tree came, it leaves the text as it was.
    """

    rows: int  # of the last pass

    def score(self, proposal: Proposal) -> Scores:
        """One pass, over the last token and a proposal, mostly a chain. The next pass overwrites what it says.

        Raises EngineError for more drafts than were announced, and for unknown tokens.
        """
        ...

    def keep(self, tokens: Seq[int]) -> None:
        """The text goes on by these, the end of the round: drafts of the last pass, and one token more."""
        ...

    def end(self) -> None:
        """The text has all that was kept."""
        ...


@runtime_checkable
class Strides(Protocol):
    """An engine that computes rounds of a text that is alone for less, told how long they may make it. Optional."""

    def stride(self, sequence: Sequence, tokens: int, drafts: int) -> Stride | None:
        """For rounds of a chain of so many drafts at most each, none of which could bring more than so many tokens
        together with those before it; None where it has no room, or no way."""
        ...


class Abreast(Protocol):
    """Passes over the last tokens of several texts and a chain of drafts behind each, one pass behind the other, with
    nothing else asked of the engine.

    Until it ends the texts need not have what was kept: dropped, it leaves them as they were.
    """

    job: PassJob  # as the first pass needs it, where nothing is drafted

    def end(self, kept: Seq[Seq[int]]) -> None:
        """Each text goes on by these tokens, of all passes from the first on; the last one is in none of them yet."""
        ...


@runtime_checkable
class StepsAbreast(Protocol):
    """An engine whose passes over several texts compiled code can run. Optional."""

    def abreast(self, sequences: Seq[Sequence], tokens: Seq[int], drafts: Seq[int]) -> Abreast | None:
        """For passes with so many drafts of each text, none of which could bring it more than so many tokens together
        with those before; None where it has no room, or no way."""
        ...


@runtime_checkable
class KnowsRoom(Protocol):
    """An engine that can say how much of `cache_bytes` a text takes. Optional."""

    def bytes_for(self, tokens: int) -> int:
        """A cache that has room for one text of so many tokens, without drafts, and no others."""
        ...


@runtime_checkable
class FillsUp(Protocol):
    """An engine that computes more rows than it was asked for, where it is prepared for more. Optional."""

    padding_rows: int  # of the last pass, beyond those of texts, drafts and fills
