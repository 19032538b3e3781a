"""What to speculate with, under the names of vLLM's --speculative-config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from truedraw.control.fixed import FixedController
from truedraw.draft.knobs import GUMBEL, Knobs
from truedraw.draft.several import ALWAYS_GOOD, SeveralDrafters, Source, name_of, named
from truedraw.errors import BadParameter
from truedraw.generate.calls import SECONDS, Calls
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.fence import rule
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import Controller, Drafter, Verifier
from truedraw.registry import BUILT_IN, find, names
from truedraw.sampling.ranges import POSITIVE, Wholes

MODEL, AUTO, OFF = "model", "auto", "none"
MOST_DRAFTED = 7
"""Draft tokens a round: more rows than eight cost a pass noticeably more."""
RULE = ("rejection_sample_method", "allow_lossy", "lossy_options")
ALWAYS = ("method", *RULE)
"""Keys that mean something with every method."""
OF_THE_WHOLE = (*RULE, "adaptive", "draft_timeout")
"""Keys that a drafter which is part of another one cannot have for itself."""
DRAFTING = ("num_speculative_tokens", "adaptive", "draft_timeout")
"""And these with every method that drafts."""
GIVEN_BY_RUN = ("model", "model_name", "models", "inner", "vocab_size", "coupled", "trees", "knobs")
"""What a drafter's constructor can ask for by name beside its own settings: the engine of the model that drafts, that
model's name, draft.site.Models, draft.site.Inner, the target's number of rows, whether the rule is a coupled one,
whether it takes trees of certain tokens, and all draft_ keys as one draft.knobs.Knobs."""
IN_THE_CONFIG = ("trees",)
"""What of it is known without a run."""
NAMED = ("model", "model_name")
"""Who asks for these needs the key `model`."""
KNOBS = tuple(field.name for field in fields(Knobs))
CHAINS = ("token", "block", "kseq", "multipath")
"""Rules that take no siblings without replacement."""


@dataclass(frozen=True, slots=True, init=False)
class Speculation:
    """method: a registered drafter; None: the one whose settings are given, otherwise auto.

    num_speculative_tokens: draft tokens a round at most, 0 = plain sampling.
    rejection_sample_method: a registered verifier; None takes "coupled" where a seed is given, otherwise "traversal",
    the rule that keeps the most.
    allow_lossy: lets rejection_sample_method name a rule that does not keep the model's distribution; results are then
    marked. lossy_options: settings of such a rule.
    adaptive: draft only while it pays by the run's own measurements; False drafts in every round.
    draft_timeout: seconds that a call of the drafter may take; it is given up after one that takes longer.
    model: the model that drafts, a name or a path as `load` takes it, for methods that need one.
    settings: what else is given by name, the drafter's own settings: what its constructor takes, and for a drafter
    with a law of its own the draft_ keys of draft/knobs.py.

    A setting that the method does not use is refused. Raises BadParameter and UnknownName.
    """

    method: str
    model: str | None
    num_speculative_tokens: int
    rejection_sample_method: str | None
    allow_lossy: bool
    lossy_options: Mapping[str, float] | None
    adaptive: bool
    draft_timeout: float
    settings: Mapping[str, Any]

    def __init__(
        self,
        method: str | None = None,
        *,
        model: str | Path | None = None,
        num_speculative_tokens: int = MOST_DRAFTED,
        rejection_sample_method: str | None = None,
        allow_lossy: bool = False,
        lossy_options: Mapping[str, float] | None = None,
        adaptive: bool = True,
        draft_timeout: float = SECONDS,
        **settings: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in COMMON}
        given["method"] = meant(model, settings) if method is None else method
        given["model"] = str(model) if isinstance(model, Path) else model
        given["settings"] = {name: value for name, value in settings.items() if value is not None}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    @property
    def name(self) -> str:
        """The drafter's, with what is not usual about it."""
        return name_of(self.method, {**self.settings, **({} if self.model is None else {"model": self.model})})

    def config(self) -> dict[str, Any]:
        """All keys, as `speculation` takes them."""
        return {**{name: getattr(self, name) for name in COMMON}, **self.settings}

    def but(self, **changes: Any) -> Speculation:
        """The same with some keys changed."""
        return Speculation(**{**self.config(), **changes})

    def drafter(self, verifier: Verifier | None = None, drafts: DraftModels | None = None) -> Drafter:
        """A new drafter of this method, whose drafts `verifier` will judge; `drafts` opens models for the target.

        With `drafts` it is guarded: an error or an illegal law in it ends drafting, not the text.
        """
        if parts := self.parts() if drafts is not None else {}:
            made = {name: part.drafter(verifier, drafts) for name, part in parts.items()}
            return SeveralDrafters.of({name: Source(drafter, drafter) for name, drafter in made.items()})
        asked = arguments(self.method)
        given = {name: value for name in asked if (value := self._by_run(name, verifier, drafts)) is not None}
        given |= {name: self.settings[name] for name in asked if name in self.settings}
        drafter: Drafter = find("drafters", self.method)(**given)
        if drafts is None or self.method == OFF:
            return drafter
        beside = self.method not in BUILT_IN["drafters"] or ("inner" in given and given["inner"].beside)
        return GuardedDrafter(drafter, drafts.vocab_size, Calls(self.draft_timeout, beside))

    def _by_run(self, name: str, verifier: Verifier | None, drafts: DraftModels | None) -> Any:
        """One of GIVEN_BY_RUN, None where the run has no such thing."""
        if name == "coupled":
            return verifier is not None and verifier.coupled
        if name == "trees":
            judge = verifier or self.verifier(None)
            return not any(isinstance(judge, find("verifiers", rule)) for rule in CHAINS)
        if name == "knobs":
            return self.knobs()
        if name == "model_name":
            return self.model
        if drafts is None:
            return None
        if name == "model":
            return None if self.model is None else drafts.engine(self.model)
        if name == "inner":
            return Composed(verifier, drafts)
        return {"models": drafts, "vocab_size": drafts.vocab_size}.get(name)

    def knobs(self) -> Knobs:
        """The draft_ keys."""
        return Knobs(**{name: self.settings[name] for name in KNOBS if name in self.settings})

    def verifier(self, seed: int | None) -> Verifier:
        """The acceptance rule for a run with or without a seed."""
        by_seed = "traversal" if seed is None else "coupled"
        return rule(self.rejection_sample_method or by_seed, self.allow_lossy, self.lossy_options)

    def controller(self) -> Controller | None:
        """Who decides how much is drafted, where that is settled beforehand; None: whoever decides for all."""
        if self.method == OFF:
            return FixedController(0)
        return None if self.adaptive else FixedController(self.num_speculative_tokens)

    def parts(self) -> dict[str, Speculation]:
        """The drafters of the method auto, by their names; {} for every other method."""
        if self.method != AUTO:
            return {}
        shared = {name: getattr(self, name) for name in (*RULE, "draft_timeout")}
        configs = named(self.settings.get("auto_sources", ALWAYS_GOOD))
        for config in configs.values():
            refuse_shared(config, (*OF_THE_WHOLE, "num_speculative_tokens"))
        return {name: speculation({**shared, **config}) for name, config in configs.items()}

    def _check(self) -> None:
        self._check_kinds()
        given = {**{name: getattr(self, name) for name in COMMON}, **self.settings}
        refuse_unused(self.method, {name: value for name, value in given.items() if value != DEFAULTS.get(name)})
        if set(NAMED) & set(arguments(self.method)) and self.model is None:
            raise BadParameter(
                "model", f"the method {self.method} drafts with a model; name one in model (--spec-model)"
            )
        self._check_rule()
        self.parts()
        if not needs_run(self.method):
            self.drafter()

    def _check_rule(self) -> None:
        knobs, verifier = self.knobs(), self.verifier(None)
        if knobs.draft_sample_method == GUMBEL and self.rejection_sample_method and not verifier.coupled:
            raise BadParameter("draft_sample_method", f"{GUMBEL} needs a coupled rule; leave one of the two out")
        if knobs.siblings > 1 and self.rejection_sample_method in CHAINS:
            raise BadParameter(
                "draft_siblings",
                f"the rule {self.rejection_sample_method} takes chains only; leave one of the two out, or verify with "
                '"traversal"',
            )

    def _check_kinds(self) -> None:
        Wholes(0, "0 or more").check("num_speculative_tokens", self.num_speculative_tokens)
        POSITIVE.check("draft_timeout", self.draft_timeout)
        for name in ("method", "rejection_sample_method", "model"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and not (value is None and name != "method"):
                raise BadParameter(name, f"got {value!r}; give a name")
        for name in ("adaptive", "allow_lossy"):
            if not isinstance(getattr(self, name), bool):
                raise BadParameter(name, f"got {getattr(self, name)!r}; give true or false")
        if not isinstance(self.lossy_options, Mapping | None):
            raise BadParameter("lossy_options", f"got {self.lossy_options!r}; give names and numbers")


@dataclass(slots=True)
class Composed:
    """draft.site.Inner for one run; `beside`: one of them is somebody else's code, whose calls may never return."""

    verifier: Verifier | None
    drafts: DraftModels
    beside: bool = False

    def __call__(self, config: Mapping[str, Any] | str) -> Drafter:
        """Unguarded: the guard of the whole sees what goes wrong in a part, and has the whole's settings."""
        if not isinstance(config, str):
            refuse_shared(config, OF_THE_WHOLE)
        drafter = speculation(config).drafter(self.verifier, self.drafts)
        if isinstance(drafter, SeveralDrafters):
            return SeveralDrafters.of({name: self._bare(source) for name, source in drafter.sources.items()})
        if not isinstance(drafter, GuardedDrafter):
            return drafter
        self.beside = self.beside or drafter.calls.beside
        return drafter.drafter

    def _bare(self, source: Source) -> Source:
        guard = source.drafter
        if not isinstance(guard, GuardedDrafter):
            return source
        self.beside = self.beside or guard.calls.beside
        return Source(guard.drafter, guard.drafter)


COMMON = tuple(field.name for field in fields(Speculation) if field.name != "settings")
DEFAULTS = {name: each.default for name, each in signature(Speculation).parameters.items() if name in COMMON}


def refuse_shared(config: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raises BadParameter for a setting of one drafter that only all of them together can have."""
    for name in keys:
        if config.get(name) is not None:
            raise BadParameter(name, "a setting of the whole, not of one of its drafters; give it beside them")


def speculation(given: Speculation | Mapping[str, Any] | str | bool | None) -> Speculation:
    """From whatever a user may give: a config, a method's name, False for plain sampling, None for the default."""
    if isinstance(given, Speculation):
        return given
    if given is None or given is True:
        return Speculation()
    if given is False:
        return Speculation(OFF)
    if isinstance(given, str):
        return Speculation(given)
    if not isinstance(given, Mapping):
        raise BadParameter("speculative", f"got {given!r:.60}; give a method's name, a config, true or false")
    found = Speculation(**{str(name): value for name, value in given.items()})
    refuse_unused(found.method, given)
    return found


def meant(model: str | Path | None, settings: Mapping[str, Any]) -> str:
    """The method of a config that names none: the only one that has all its settings."""
    if model is not None:
        return MODEL
    wanted = {name for name, value in settings.items() if value is not None}
    having = [method for method in names("drafters") if wanted and wanted <= {*keys(method)}]
    return having[0] if len(having) == 1 else AUTO


def refuse_unused(method: str, given: Mapping[str, Any]) -> None:
    """Raises BadParameter naming what is no key, or none of the method's; UnknownName for no method."""
    used = (*ALWAYS, *(() if method == OFF else DRAFTING), *keys(method))
    unused = [name for name, value in given.items() if name not in used and value is not None]
    if given.get("num_speculative_tokens") == 0:
        unused = [name for name in unused if name != "num_speculative_tokens"]  # 0 is what none means
    if not unused:
        return
    known = {*COMMON, *(key for other in names("drafters") for key in keys(other))}
    if strange := [name for name in unused if name not in known]:
        raise BadParameter(strange[0], f"no such key of the speculative config; with {method}: {', '.join(used)}")
    raise BadParameter(
        unused[0], f"the method {method} does not use {', '.join(unused)}; leave that out, or choose another method"
    )


def keys(method: str) -> tuple[str, ...]:
    """The keys that are one method's own."""
    named = arguments(method)
    return (
        *(("model",) if set(NAMED) & set(named) else ()),
        *(name for name in named if name not in GIVEN_BY_RUN),
        *(KNOBS if "knobs" in named else ()),
    )


def needs_run(method: str) -> bool:
    """Whether its drafter cannot be made without what only a run can give."""
    named = signature(find("drafters", method)).parameters.values()
    run_alone = set(GIVEN_BY_RUN) - set(IN_THE_CONFIG)
    return any(each.name in run_alone and each.default is Parameter.empty for each in named)


def arguments(method: str) -> tuple[str, ...]:
    """What the constructor of a drafter takes by name."""
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return tuple(each.name for each in signature(find("drafters", method)).parameters.values() if each.kind in by_name)
