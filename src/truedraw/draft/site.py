"""What a run gives to a drafter, and what a drafter may ask for by the names of its constructor's parameters.

Whatever else the constructor names is one of the drafter's own settings: a key of the speculative config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from truedraw.protocol import Drafter, DraftState, Engine, Scores
from truedraw.protocol.able import is_able
from truedraw.text import Tokenizer

if TYPE_CHECKING:
    from truedraw.draft.eagle.opening import Eagle
    from truedraw.draft.head.opening import Head
    from truedraw.draft.head.refit.learning import Refit


ANOTHER = "(nor does one that contrasts a model with an amateur); take another method"
"""What is to be said where a target's engine cannot do what a method needs."""


class OpenModel(NamedTuple):
    """A model that drafts."""

    engine: Engine
    tokenizer: Tokenizer


class Models(Protocol):
    """Opens models that draft for one target. Each is opened once, and closed with the target."""

    name: str  # the target's
    tokenizer: Tokenizer  # the target's
    vocab_size: int  # rows of the target
    target: Engine | None  # None where only other models are to draft

    def engine(self, name: str) -> Engine:
        """The engine of a model with the target's own tokenizer; raises BadParameter where it has another."""
        ...

    def any(self, name: str) -> OpenModel:
        """A model with whatever tokenizer."""
        ...

    def copy(self, weights: str) -> Engine:
        """The target's own model with other weights ("int4", "int8"); raises BadParameter where that cannot be."""
        ...

    def head(self, path: str | Path | None) -> Head:
        """A trained draft head; None: the one the target was loaded for. Raises BadParameter, BadFile."""
        ...

    def refit(self, path: str | Path | None) -> Refit:
        """What is learnt on top of such a head while texts are written; all that draft with it share it."""
        ...

    def eagle(self, path: str | Path | None) -> Eagle:
        """An EAGLE draft; None: the one the target was loaded for. Raises BadParameter, BadFile."""
        ...

    def mtp(self) -> Eagle:
        """The target's own layer for multi-token prediction, which it was loaded for. Raises BadParameter, BadFile."""
        ...


@runtime_checkable
class Layered(Protocol):
    """An engine that can run the first layers of its model alone, over its own cache."""

    num_layers: int

    def shallow(self, layers: int) -> Engine:
        """An engine of the first layers, closed with this one; raises EngineError where it cannot be made."""
        ...


@runtime_checkable
class Unrolls(Protocol):
    """An engine that says whether it computes each path of a tree as a text of its own, which has its price."""

    unrolls_trees: bool


def unrolls(target: Engine | None) -> bool:
    """Whether the target's engine does so."""
    return is_able(target, Unrolls) and target.unrolls_trees


def runs_chains(target: Engine | None) -> bool:
    """Whether compiled code runs rounds with chains in the target's engine, and takes less than Python does."""
    return bool(getattr(target, "runs_chains", False))


class Inner(Protocol):
    """Makes the drafters of which a drafter is composed, for the same target and the same rule.

    Those of one that `judges_parts` itself may draft trees whatever the rule takes.
    """

    def __call__(self, config: Mapping[str, Any] | str) -> Drafter:
        """From a method's name or a speculative config with a `method` and its settings; raises BadParameter."""
        ...


def hear(state: DraftState, tokens: Sequence[int], scores: Scores | None, *, dozing: bool) -> None:
    """A state sees its text grow; one that may doze, because it is not asked in the next round either, hears it later.

    See protocol.Dozes; there need be no scores for one that does.
    """
    doze = getattr(state, "doze", None) if dozing else None
    (doze or state.commit)(tokens, scores)  # type: ignore[arg-type] # who dozes wants none


def close(part: object) -> None:
    """Close a drafter or a draft state that holds something; most hold nothing and have no close()."""
    getattr(part, "close", lambda: None)()


def worths_of(state: object) -> Callable[[int], Sequence[tuple[float, int]] | None] | None:
    """protocol.Shapes.worths of a state that has it, at a hundredth of what asking for a runtime protocol takes."""
    found: Callable[[int], Sequence[tuple[float, int]] | None] | None = getattr(state, "worths", None)
    return found


def told(worths: Sequence[tuple[float, int]] | None, nodes: int) -> list[tuple[float, int]] | None:
    """What a drafter tells, as far as it can be meant: at most so many shares of a token, none above the one before.

    No level comes before the one above it.
    """
    if worths is None:
        return None
    found: list[tuple[float, int]] = []
    least, deepest = 1.0, 0
    for worth, level in worths[:nodes]:
        if not (0.0 < float(worth) <= 1.0 and 1 <= int(level) <= deepest + 1):
            break
        least, deepest = min(least, float(worth)), max(deepest, int(level))
        found.append((least, int(level)))
    return found


def close_each(parts: Iterable[object]) -> None:
    """Close all of them, also where one fails; its error is raised when that is done."""
    with ExitStack() as stack:
        for part in parts:
            stack.callback(close, part)
