"""Parts of rounds that compiled code runs, one behind the other, with nobody asked: jobs of threads/ that keep their
addresses, and whose arrays change in place."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol.arrays import Ints, Logits

if TYPE_CHECKING:
    from truedraw.protocol.drafting import DraftLaw, Proposal
    from truedraw.protocol.engine import Scores
    from truedraw.protocol.randomness import Randomness
    from truedraw.protocol.slate import Slate


@dataclass(frozen=True, slots=True, eq=False)
class PassJob:
    """Passes for compiled code to run, a job of threads/: over the last token of each of some texts, mostly one, and a
    chain of drafts behind it.

    Before each the counters are set to 0, and ids, positions and the past to what it is about. It overwrites what the
    one before has left.
    """

    job: Any  # threads.kept.Kept, to be held as long as it runs
    counters: Ints
    ids: Ints  # [rows]: of each text 1 + drafts
    positions: Ints  # [rows]
    past: Ints  # [texts], tokens before the first of these
    logits: Logits  # [rows, vocab], its own memory, as hidden states are
    hidden: NDArray[np.float32] | None  # [rows, streams, width]


@runtime_checkable
class KeepsPasses(Protocol):
    """A stride whose passes compiled code can run. Optional."""

    def job(self, drafts: int) -> PassJob | None:
        """Of chains of so many drafts, at most as many as were announced; None where that cannot be."""
        ...


class DraftJob(Protocol):
    """Chains of one text, one in each round, that compiled code draws: a job of threads/ that works on a slate."""

    job: Any  # threads.kept.Kept, to be held as long as it runs
    laws: tuple[DraftLaw | None, ...]  # of the drafts, until the next chain is drawn

    @property
    def is_still(self) -> bool:
        """Whether what it works on is where it was."""
        ...

    def begin(self, position: int, rounds: int, texts: int = 1) -> int:
        """Slate and hidden states are as the first of so many rounds needs them, of a text that ends at a position; how
        many of them can be, with so many texts that draft in each: behind these it has to be asked again."""
        ...

    def end(self, rounds: Seq[tuple[Seq[int], Proposal]], scores: Scores, is_last: bool) -> None:
        """So the text went on, in one round or more, as DraftState.commit. `scores` are those of the last one; where it
        is not the last that was begun, only its hidden states are there."""
        ...


@runtime_checkable
class DraftsAbreast(Protocol):
    """A DraftJob that can be done together with those of other texts. Optional."""

    kin: Hashable  # the same for those that can

    def abreast(self, jobs: Seq[Any]) -> Any:
        """threads.kept.Kept, to be held as long as it runs: the chains of all of these, of which this is the first."""
        ...


@runtime_checkable
class DraftsInRow(Protocol):
    """A drafter whose chains compiled code can draw. Optional."""

    def job(
        self, state: Any, randomness: Randomness, slate: Slate, hidden: NDArray[np.float32] | None
    ) -> DraftJob | None:
        """Of a state of its own, for chains as long as the slate has room for, behind a pass with these hidden states
        [1 + drafts, streams, width]; None where that cannot be."""
        ...
