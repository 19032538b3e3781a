"""What to speculate with, under the names of vLLM's --speculative-config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.errors import BadParameter
from truedraw.generate.fence import rule
from truedraw.protocol import Controller, Drafter, Verifier
from truedraw.registry import find

LOOKUP = "ngram"
OFF = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """method: a registered drafter. num_speculative_tokens: draft tokens a round, 0 = plain sampling.

    rejection_sample_method: a registered verifier; None takes "coupled" where a seed is given, otherwise "traversal",
    the rule that keeps the most.
    allow_lossy: lets rejection_sample_method name a rule that does not keep the model's distribution; results are then
    marked. lossy_options: settings of such a rule.
    adaptive: draft only while it pays by the run's own measurements; False drafts in every round.
    prompt_lookup_min, prompt_lookup_max: tokens of a suffix to look up, for the method ngram.
    Raises BadParameter and UnknownName.
    """

    method: str = LOOKUP
    num_speculative_tokens: int = 7
    rejection_sample_method: str | None = None
    allow_lossy: bool = False
    lossy_options: Mapping[str, float] | None = None
    adaptive: bool = True
    prompt_lookup_min: int | None = None
    prompt_lookup_max: int | None = None

    def __post_init__(self) -> None:
        for name in ("num_speculative_tokens", "prompt_lookup_min", "prompt_lookup_max"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise BadParameter(name, f"got {value!r}; give a whole number, 0 or more")
        for name in ("method", "rejection_sample_method"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (value is None and name != "method"):
                raise BadParameter(name, f"got {value!r}; give a name")
        for name in ("adaptive", "allow_lossy"):
            if not isinstance(getattr(self, name), bool):
                raise BadParameter(name, f"got {getattr(self, name)!r}; give true or false")
        if not isinstance(self.lossy_options, Mapping | None):
            raise BadParameter("lossy_options", f"got {self.lossy_options!r}; give names and numbers")
        if self.method != LOOKUP and (self.prompt_lookup_min or self.prompt_lookup_max):
            raise BadParameter("prompt_lookup_min", f"only the method {LOOKUP} looks up, not {self.method}")
        self.drafter()
        self.verifier(None)

    def drafter(self) -> Drafter:
        """A new drafter of this method."""
        names = ("prompt_lookup_min", "prompt_lookup_max")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        drafter: Drafter = find("drafters", self.method)(**given)
        return drafter

    def verifier(self, seed: int | None) -> Verifier:
        """The acceptance rule for a run with or without a seed."""
        by_seed = "traversal" if seed is None else "coupled"
        return rule(self.rejection_sample_method or by_seed, self.allow_lossy, self.lossy_options)

    def controller(self) -> Controller:
        """How much to draft."""
        if self.method == OFF:
            return FixedController(0)
        kind = PayoffController if self.adaptive else FixedController
        return kind(self.num_speculative_tokens)


def speculation(given: Speculation | Mapping[str, Any] | str | bool | None) -> Speculation:
    """From whatever a user may give: a config, a method's name, False for plain sampling, None for the default."""
    if isinstance(given, Speculation):
        return given
    if given is None or given is True:
        return Speculation()
    if given is False:
        return Speculation(method=OFF)
    if isinstance(given, str):
        return Speculation(method=given)
    valid = [field.name for field in fields(Speculation)]
    for name in given:
        if name not in valid:
            raise BadParameter(name, f"no such key of the speculative config; valid ones are {', '.join(valid)}")
    return Speculation(**given)
