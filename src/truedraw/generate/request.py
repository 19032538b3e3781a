"""What a batch is asked for, one entry a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truedraw.errors import BadParameter
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Observer

NO_PARAMETERS = ("prompt", "params", "speculative", "observer")
"""What a request says beside its sampling parameters, or cannot say."""


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and how to sample it. `params` by name as in SamplingParams, `speculative` as Model.generate takes it.

    observer: sees every verdict while it is made. key: whatever tells the request from others, handed back untouched.
    Raises BadParameter where `params` are no names and values of sampling parameters; what the values may be is checked
    when the request is added.
    """

    prompt: str | Sequence[int]
    params: Mapping[str, Any] = field(default_factory=dict)
    speculative: Speculation | Mapping[str, Any] | str | bool | None = None
    key: Any = None
    observer: Observer | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.params, Mapping):
            raise BadParameter("params", f"got {self.params!r:.60}; give names and values, as {{'temperature': 0.7}}")
        for name in self.params:
            if not isinstance(name, str):
                raise BadParameter("params", f"the key {name!r:.60} is no name; give names of sampling parameters")
            if name in NO_PARAMETERS:
                raise BadParameter(name, "is no sampling parameter; params hold nothing else")
