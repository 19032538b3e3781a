"""Passes: texts in a cache, what is asked about them, and what a model says."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol.arrays import Logits
from truedraw.protocol.drafting import NOTHING, Proposal


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
    """What the target says of one work: row 0 follows the committed text, row 1 + i follows draft node i."""

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
    """An engine that computes rounds of a text that is alone for less, told how many there will be. Optional."""

    def stride(self, sequence: Sequence, rounds: int, drafts: int) -> Stride | None:
        """For so many rounds, of a chain of so many drafts at most each; None where it has no room, or no way."""
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


@dataclass(frozen=True, slots=True)
class PassTable:
    """Seconds of a pass on this machine, with short texts that are in the cache."""

    rows: Mapping[int, float]  # by rows, all of one text; at least two counts
    texts: Mapping[int, float]  # by texts, with one row each; fewer counts or none
    further: Mapping[int, float] = field(default_factory=dict)  # by rows, each token more of that text; or none
    length: int = 0  # tokens of the texts of the other two

    @property
    def is_sound(self) -> bool:
        """Whether anything was measured, and all of it takes time: an engine may be somebody else's."""
        seconds = (*self.rows.values(), *self.texts.values())
        takes_time = all(isfinite(each) and each > 0 for each in seconds)
        return len(self.rows) > 0 and takes_time and all(isfinite(each) and each >= 0 for each in self.further.values())


@runtime_checkable
class KnowsCosts(Protocol):
    """An engine that can tell what its passes take. Optional."""

    def pass_costs(self) -> PassTable | None:
        """As measured once on this machine, which is done now where it has not been yet; None: it cannot be."""
        ...

    def doubt_costs(self) -> None:
        """What passes took did not fit `pass_costs`: measure again when the model is loaded next."""
        ...


@dataclass(frozen=True, slots=True)
class DraftCost:
    """What a drafter takes for one text, in passes of one row of the model that it drafts for."""

    source: str  # its name in a job
    coupled: bool  # whether the rule was, see Asker
    call: float
    token: float  # of a chain
    level: float  # the first of a tree
    further: float | None = None  # each level behind it; None: as much as the first


@runtime_checkable
class KeepsDraftCosts(Protocol):
    """An engine that keeps on this machine what drafters for its model take. Optional."""

    def draft_costs(self) -> Seq[DraftCost]:
        """As they were kept last; none where nothing was, or where it cannot be read."""
        ...

    def keep_draft_costs(self, costs: Seq[DraftCost]) -> None:
        """Instead of those before; asked when the model is closed. That it cannot be written is no error."""
        ...
