"""What to speculate with, under the names of vLLM's --speculative-config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

from truedraw.control.fixed import FixedController
from truedraw.draft.knobs import TARGET, Knobs
from truedraw.draft.several import ALWAYS_GOOD, name_of, named
from truedraw.errors import BadParameter
from truedraw.generate.calls import SECONDS
from truedraw.generate.config_checks import check_kinds, check_rule, told
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.fence import rule
from truedraw.generate.keys import (
    AUTO,
    COMMON,
    KNOBS,
    NAMED,
    OF_THE_WHOLE,
    OFF,
    RULE,
    arguments,
    keys,
    meant,
    needs_run,
    refuse_shared,
    refuse_unused,
)
from truedraw.generate.making import CHAINS, Maker
from truedraw.protocol import Controller, Drafter, Verifier
from truedraw.registry import BUILT_IN
from truedraw.sampling.fixed_dict import FixedDict
from truedraw.sampling.values import plain, shown

__all__ = ["AUTO", "CHAINS", "OFF", "Speculation", "speculation"]

MOST_DRAFTED = 7
"""Draft tokens a round: more rows than eight cost a pass noticeably more."""
MOST_KEPT = 256  # configs


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
    lossy_options: Mapping[str, float] | None = field(hash=False)
    adaptive: bool
    draft_timeout: float
    settings: Mapping[str, Any] = field(hash=False)

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
        given = {name: plain(value) for name, value in given.items()}
        given["settings"] = FixedDict(told(settings))
        if isinstance(lossy_options, Mapping):
            given["lossy_options"] = FixedDict(given["lossy_options"])
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

    def untuned(self) -> Speculation:
        """The same at the target's temperature, where one would be tuned meanwhile: such drafts can be met again."""
        tunes = self.knobs().tunes and "draft_temperature" in keys(self.method)
        return self.but(draft_temperature=TARGET) if tunes else self

    def drafter(
        self, verifier: Verifier | None = None, drafts: DraftModels | None = None, *, learns: bool = True
    ) -> Drafter:
        """A new drafter of this method, whose drafts `verifier` will judge; `drafts` opens models for the target.

        With `drafts` it is guarded: an error or an illegal law in it ends drafting, not the text. learns: from what is
        kept, for all texts of the model; else its drafts can be met again.
        """
        return Maker(verifier, drafts, speculation, learns).drafter(self)

    def knobs(self) -> Knobs:
        """The draft_ keys."""
        return Knobs(**{name: self.settings[name] for name in KNOBS if name in self.settings})

    def verifier(self, seed: int | None) -> Verifier:
        """The acceptance rule for a run with or without a seed."""
        by_seed = "traversal" if seed is None else "coupled"
        return rule(self.rejection_sample_method or by_seed, self.allow_lossy, self.lossy_options)

    def check_exact(self, what: str) -> None:
        """Raises BadParameter for a rule that does not keep the model's distribution; `what` cannot be had of it."""
        if not self.verifier(None).exact:
            raise BadParameter(
                "rejection_sample_method",
                f"{self.rejection_sample_method} does not keep the model's distribution, so {what}; leave it out",
            )

    def controller(self) -> Controller | None:
        """Who decides how much is drafted, where that is settled beforehand; None: whoever decides for all."""
        if self.method == OFF:
            return FixedController(0)
        return None if self.adaptive else FixedController(self.num_speculative_tokens)

    def parts(self, sources: Sequence[str] = ALWAYS_GOOD) -> dict[str, Speculation]:
        """The drafters of the method auto by their names, `sources` unless it names some; {} for every other method."""
        if self.method != AUTO:
            return {}
        shared = {name: getattr(self, name) for name in (*RULE, "draft_timeout")}
        configs = named(self.settings.get("auto_sources", sources))
        for config in configs.values():
            refuse_shared(config, (*OF_THE_WHOLE, "num_speculative_tokens"))
        return {name: part_of({**shared, **config}) for name, config in configs.items()}

    def _check(self) -> None:
        check_kinds(self)
        common = {name: getattr(self, name) for name in COMMON}
        unusual = {name: value for name, value in common.items() if value != DEFAULTS[name]}
        refuse_unused(self.method, {**unusual, **self.settings})
        if set(NAMED) & set(arguments(self.method)) and self.model is None:
            raise BadParameter(
                "model", f"the method {self.method} drafts with a model; name one in model (--spec-model)"
            )
        check_rule(self)
        if "auto_sources" in self.settings:  # the usual ones are sound, and which these are, the target's draft says
            self.parts()
        if not needs_run(self.method):
            self.drafter()


DEFAULTS = {name: each.default for name, each in signature(Speculation).parameters.items() if name in COMMON}


@lru_cache(maxsize=MOST_KEPT, typed=True)
def kept(**config: Any) -> Speculation:
    """`speculation` of what request after request asks for: nothing, or a part of the method auto."""
    return speculation(config)


def part_of(config: Mapping[str, Any]) -> Speculation:
    """A part of the method auto, made once where it comes with the package and its settings are no lists."""
    try:
        return kept(**config) if config["method"] in BUILT_IN["drafters"] else speculation(config)
    except TypeError:
        return speculation(config)


def speculation(given: Speculation | Mapping[str, Any] | str | bool | None) -> Speculation:
    """From whatever a user may give: a config, a method's name, False for plain sampling, None for the default."""
    if isinstance(given, Speculation):
        return given
    if given is None or given is True:
        return kept()
    if given is False:
        return Speculation(OFF)
    if isinstance(given, str):
        return Speculation(given)
    if not isinstance(given, Mapping):
        raise BadParameter("speculative", f"got {shown(given)}; give a method's name, a config, true or false")
    found = Speculation(**{name if isinstance(name, str) else shown(name): each for name, each in given.items()})
    refuse_unused(found.method, given)
    return found
