"""What a batch is asked for, one entry a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truedraw.generate.speculation import Speculation


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and how to sample it. `params` by name as in SamplingParams, `speculative` as Model.generate takes it.

    key: whatever tells the request from others, handed back untouched.
    """

    prompt: str | Sequence[int]
    params: Mapping[str, Any] = field(default_factory=dict)
    speculative: Speculation | Mapping[str, Any] | str | bool | None = None
    key: Any = None
