"""What a user may ask of sampling, with the field's names, checked where it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.randomness import check_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """The law to sample from and when to stop. Raises BadParameter naming the first parameter out of range.

    temperature: >= 0; 0 takes the likeliest token. top_k: tokens kept, 0 or -1 = all. top_p, typical_p: mass kept, in
    (0, 1]. min_p: likelihood relative to the likeliest token, in [0, 1]. n: samples of each prompt. max_tokens: new
    tokens at most. stop: strings that end the text and are not part of it. stop_token_ids: tokens that end it, beside
    the model's own. ignore_eos: the model's own end tokens do not end it. seed: 0 to 2**64 - 1; the same seed gives
    the same text, whatever is drafted; None = a new one every time.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    n: int = 1
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "stop_token_ids", tuple(self.stop_token_ids or ()))
        self._check_numbers()
        self._check_stops()

    def _check_numbers(self) -> None:
        _number("temperature", self.temperature, 0.0, math.inf, "0 or more")
        _number("top_p", self.top_p, 0.0, 1.0, "above 0, at most 1", open_low=True)
        _number("min_p", self.min_p, 0.0, 1.0, "from 0 to 1")
        _number("typical_p", self.typical_p, 0.0, 1.0, "above 0, at most 1", open_low=True)
        _whole("top_k", self.top_k, -1, "0 or more; 0 and -1 keep all tokens")
        _whole("n", self.n, 1, "1 or more")
        _whole("max_tokens", self.max_tokens, 1, "1 or more")
        if self.seed is not None:
            check_seed(self.seed)

    def _check_stops(self) -> None:
        for text in self.stop:
            if not isinstance(text, str) or not text:
                raise BadParameter("stop", f"got {text!r}; give strings of at least one character")
        for token in self.stop_token_ids:
            _whole("stop_token_ids", token, 0, "token ids, 0 or more")
        if not isinstance(self.ignore_eos, bool):
            raise BadParameter("ignore_eos", f"got {self.ignore_eos!r}; give true or false")


def sampling_params(given: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> SamplingParams:
    """SamplingParams from names and values; None = not given; `defaults` (the model's own) apply below `given`.

    Raises BadParameter with the list of valid names where one is unknown.
    """
    valid = [field.name for field in fields(SamplingParams)]
    for name in given:
        if name not in valid:
            raise BadParameter(name, f"no such sampling parameter; valid ones are {', '.join(valid)}")
    below = {name: value for name, value in (defaults or {}).items() if name in valid and value is not None}
    return SamplingParams(**{**below, **{name: value for name, value in given.items() if value is not None}})


def _number(name: str, value: object, low: float, high: float, allowed: str, open_low: bool = False) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high or (open_low and value == low):  # type: ignore[operator]
        raise BadParameter(name, f"got {value!r}; give a number {allowed}")


def _whole(name: str, value: object, low: int, allowed: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise BadParameter(name, f"got {value!r}; give a whole number, {allowed}")
