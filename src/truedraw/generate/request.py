"""What a batch is asked for, one entry a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, MutableSet
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from truedraw.errors import BadParameter
from truedraw.generate.prompt_ids import Prompt
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Observer
from truedraw.sampling.values import PLAIN, frozen, hash_of, shown

NO_PARAMETERS = ("prompt", "params", "speculative", "observer")
"""What a request says beside its sampling parameters, or cannot say."""
DEEPEST = 100  # lists and mappings in one another, more than a schema may have


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A prompt and how to sample it. `params` by name as in SamplingParams, `speculative` as Model.generate takes it.

    It stays as it was made, whatever becomes of the lists and mappings that were given. Two are equal where all of that
    is, whether ids stand in a list, a tuple or an array.
    observer: sees every verdict while it is made. key: whatever tells the request from others, handed back untouched.
    Raises BadParameter where `params` are no names and values of sampling parameters; what the values may be is checked
    when the request is added.
    """

    prompt: Prompt
    params: Mapping[str, Any] = field(default_factory=dict)
    speculative: Speculation | Mapping[str, Any] | str | bool | None = None
    key: Any = None
    observer: Observer | None = None

    def __post_init__(self) -> None:
        if isinstance(self.prompt, Iterator):  # which could be read only once
            object.__setattr__(self, "prompt", tuple(self.prompt))
        if not isinstance(self.params, Mapping):
            raise BadParameter("params", f"got {shown(self.params)}; give names and values, as {{'temperature': 0.7}}")
        for name in self.params:
            if not isinstance(name, str):
                raise BadParameter("params", f"the key {name!r:.60} is no name; give names of sampling parameters")
            if name in NO_PARAMETERS:
                raise BadParameter(name, "is no sampling parameter; params hold nothing else")
        for name in ("prompt", "params", "speculative"):
            object.__setattr__(self, name, _own(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        return all(frozen(getattr(self, name)) == frozen(getattr(other, name)) for name in NAMES)

    def __hash__(self) -> int:
        """Of what is sampled, and how."""
        return hash_of((frozen(self.prompt), frozen(self.params)))


def _own(given: Any, depth: int = DEEPEST) -> Any:
    """The same, which whoever gave it cannot change any more; in lists and mappings, too."""
    if type(given) in PLAIN or not depth:
        return given
    if isinstance(given, Mapping):
        return {name: _own(each, depth - 1) for name, each in given.items()}
    if type(given) in (list, tuple):
        return type(given)([each if type(each) in PLAIN else _own(each, depth - 1) for each in given])
    return copy(given) if isinstance(given, MutableSequence | MutableSet | np.ndarray) else given


NAMES = tuple(each.name for each in fields(Request))
