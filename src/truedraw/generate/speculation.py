"""What to speculate with, under the names of vLLM's --speculative-config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.draft.knobs import GUMBEL, Knobs
from truedraw.errors import BadParameter
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.fence import rule
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import Controller, Drafter, Verifier
from truedraw.registry import find

LOOKUP, SIBLINGS, MODEL, OFF = "ngram", "suffix", "model", "none"
ALWAYS = ("method", "rejection_sample_method", "allow_lossy", "lossy_options")
"""Keys that mean something with every method."""
DRAFTING = ("num_speculative_tokens", "adaptive")
"""And these with every method that drafts."""
GIVEN_BY_RUN = ("model", "vocab_size", "coupled", "knobs")
"""What a drafter's constructor can ask for by name beside the keys: the draft model's engine, the target's number of
tokens, whether the rule is a coupled one, and all draft_ keys as one draft.knobs.Knobs."""
KNOBS = tuple(field.name for field in fields(Knobs))
CHAINS = ("token", "block", "kseq", "multipath")
"""Rules that take no siblings without replacement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """method: a registered drafter. num_speculative_tokens: draft tokens a round at most, 0 = plain sampling.

    rejection_sample_method: a registered verifier; None takes "coupled" where a seed is given, otherwise "traversal",
    the rule that keeps the most.
    allow_lossy: lets rejection_sample_method name a rule that does not keep the model's distribution; results are then
    marked. lossy_options: settings of such a rule.
    adaptive: draft only while it pays by the run's own measurements; False drafts in every round.
    model: the model that drafts, a name or a path as `load` takes it, for the method model.
    draft_sample_method, draft_temperature, draft_top_k, draft_top_p, draft_min_p, draft_entropy_k, draft_siblings,
    draft_stop_below, draft_stop_entropy: how that model drafts, see draft/knobs.py.
    prompt_lookup_min, prompt_lookup_max: tokens of a suffix to look up, for the method ngram.
    suffix_decoding_max_tree_depth, suffix_decoding_max_cached_requests, suffix_decoding_max_cached_bytes,
    suffix_decoding_max_spec_factor, suffix_decoding_min_token_prob, suffix_decoding_tree, suffix_decoding_scope: for
    the method suffix, see draft/suffix.py.

    A setting that the method does not use is refused. Raises BadParameter and UnknownName.
    """

    method: str = LOOKUP
    model: str | None = None
    num_speculative_tokens: int = 7
    rejection_sample_method: str | None = None
    allow_lossy: bool = False
    lossy_options: Mapping[str, float] | None = None
    adaptive: bool = True
    draft_sample_method: str | None = None
    draft_temperature: float | None = None
    draft_top_k: int | None = None
    draft_top_p: float | None = None
    draft_min_p: float | None = None
    draft_entropy_k: float | None = None
    draft_siblings: int | None = None
    draft_stop_below: float | None = None
    draft_stop_entropy: float | None = None
    prompt_lookup_min: int | None = None
    prompt_lookup_max: int | None = None
    suffix_decoding_max_tree_depth: int | None = None
    suffix_decoding_max_cached_requests: int | None = None
    suffix_decoding_max_cached_bytes: int | None = None
    suffix_decoding_max_spec_factor: float | None = None
    suffix_decoding_min_token_prob: float | None = None
    suffix_decoding_tree: bool | None = None
    suffix_decoding_scope: str | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        refuse_unused(self.method, {f.name: values[f.name] for f in fields(self) if values[f.name] != f.default})
        if "model" in arguments(self.method) and self.model is None:
            raise BadParameter(
                "model", f"the method {self.method} drafts with a model; name one in model (--spec-model)"
            )
        knobs, verifier = self.knobs(), self.verifier(None)
        if knobs.draft_sample_method == GUMBEL and self.rejection_sample_method and not verifier.coupled:
            raise BadParameter("draft_sample_method", f"{GUMBEL} needs a coupled rule; leave one of the two out")
        if knobs.siblings > 1 and self.rejection_sample_method in CHAINS:
            raise BadParameter(
                "draft_siblings",
                f"the rule {self.rejection_sample_method} takes chains only; leave one of the two out, or verify with "
                '"traversal"',
            )
        if not set(GIVEN_BY_RUN) & set(arguments(self.method)):
            self.drafter()

    def drafter(self, verifier: Verifier | None = None, drafts: DraftModels | None = None) -> Drafter:
        """A new drafter of this method, whose drafts `verifier` will judge; `drafts` opens models for the target.

        With `drafts` it is guarded: an error or an illegal law in it ends drafting, not the text.
        """
        by_run = {
            "coupled": verifier is not None and verifier.coupled,
            "knobs": self.knobs(),
            "vocab_size": None if drafts is None else drafts.vocab_size,
            "model": None if drafts is None or self.model is None else drafts.engine(self.model),
        }
        names = arguments(self.method)
        values = {name: by_run[name] if name in by_run else getattr(self, name, None) for name in names}
        given = {name: value for name, value in values.items() if value is not None}
        drafter: Drafter = find("drafters", self.method)(**given)
        return drafter if drafts is None or self.method == OFF else GuardedDrafter(drafter, drafts.vocab_size)

    def knobs(self) -> Knobs:
        """The draft_ keys."""
        return Knobs(**{name: getattr(self, name) for name in KNOBS})

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

    def _check_kinds(self) -> None:
        for name in ("num_speculative_tokens", "prompt_lookup_min", "prompt_lookup_max"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise BadParameter(name, f"got {value!r}; give a whole number, 0 or more")
        if isinstance(self.model, Path):
            object.__setattr__(self, "model", str(self.model))
        for name in ("method", "rejection_sample_method", "model"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and not (value is None and name != "method"):
                raise BadParameter(name, f"got {value!r}; give a name")
        for name in ("adaptive", "allow_lossy"):
            if not isinstance(getattr(self, name), bool):
                raise BadParameter(name, f"got {getattr(self, name)!r}; give true or false")
        if not isinstance(self.lossy_options, Mapping | None):
            raise BadParameter("lossy_options", f"got {self.lossy_options!r}; give names and numbers")


def speculation(given: Speculation | Mapping[str, Any] | str | bool | None, samples: int = 1) -> Speculation:
    """From whatever a user may give: a config, a method's name, False for plain sampling, None for the default.

    The default drafts one sample of a prompt by ngram, and several by suffix, which shows each what the others wrote.
    A config that names a model and no method means the method model.
    """
    if isinstance(given, Speculation):
        return given
    if given is None or given is True:
        return Speculation(method=LOOKUP if samples == 1 else SIBLINGS)
    if given is False:
        return Speculation(method=OFF)
    if isinstance(given, str):
        return Speculation(method=given)
    if not isinstance(given, Mapping):
        raise BadParameter("speculative", f"got {given!r:.60}; give a method's name, a config, true or false")
    valid = [field.name for field in fields(Speculation)]
    for name in given:
        if name not in valid:
            raise BadParameter(str(name), f"no such key of the speculative config; valid ones are {', '.join(valid)}")
    wanted = {"method": MODEL, **given} if given.get("model") is not None else dict(given)
    found = Speculation(**wanted)
    refuse_unused(found.method, wanted)
    return found


def refuse_unused(method: str, given: Mapping[str, Any]) -> None:
    """Raises BadParameter naming the settings that the method does not use; UnknownName for no method."""
    used = {*ALWAYS, *arguments(method), *(() if method == OFF else DRAFTING)}
    used |= set(KNOBS) if "knobs" in used else set()
    if given.get("num_speculative_tokens") == 0:
        used.add("num_speculative_tokens")  # which is what none means
    if unused := [name for name, value in given.items() if name not in used and value is not None]:
        raise BadParameter(
            unused[0], f"the method {method} does not use {', '.join(unused)}; leave that out, or choose another method"
        )


def arguments(method: str) -> tuple[str, ...]:
    """What the constructor of a drafter takes by name."""
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return tuple(each.name for each in signature(find("drafters", method)).parameters.values() if each.kind in named)
