"""What a run gives to a drafter, and what a drafter may ask for by the names of its constructor's parameters.

Whatever else the constructor names is one of the drafter's own settings: a key of the speculative config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from truedraw.protocol import Drafter, Engine
from truedraw.text import Tokenizer


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


@runtime_checkable
class Layered(Protocol):
    """An engine that can run the first layers of its model alone, over its own cache."""

    num_layers: int

    def shallow(self, layers: int) -> Engine:
        """An engine of the first layers, closed with this one; raises EngineError where it cannot be made."""
        ...


class Inner(Protocol):
    """Makes the drafters of which a drafter is composed, for the same target and the same rule."""

    def __call__(self, config: Mapping[str, Any] | str) -> Drafter:
        """From a method's name or a speculative config with a `method` and its settings; raises BadParameter."""
        ...


def close(part: object) -> None:
    """Close a drafter or a draft state that holds something; most hold nothing and have no close()."""
    getattr(part, "close", lambda: None)()
