"""What an engine can say of the time that passes and drafters take."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol, runtime_checkable


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
