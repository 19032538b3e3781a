"""From a speculative config to its drafter, with what the run gives it and a guard around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from truedraw.draft.several import SeveralDrafters, Source
from truedraw.generate.calls import Calls
from truedraw.generate.draft_model import DraftModels
from truedraw.generate.foreign import asked
from truedraw.generate.foreign_drafter import ForeignDrafter
from truedraw.generate.foreign_rule import ForeignRule
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.generate.keys import DRAFTING, OF_THE_WHOLE, OFF, arguments, given_by_run, refuse_shared
from truedraw.protocol import Drafter, Verifier
from truedraw.registry import BUILT_IN, find

if TYPE_CHECKING:
    from truedraw.generate.speculation import Speculation

RULES = "truedraw.verify."
CHAINS = ("token", "block", "kseq", "multipath")
"""Rules that take no siblings without replacement, each in a module of its own."""
LEARNT = "tempering", "siblings", "blending"
"""What a drafter is given to learn what suits the texts of a model."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Where drafters are made: for whose judgement, with which models, how the configs of their parts are read, whether
    they learn from what they draft for all texts of the model, and whether they are parts of one that itself judges
    what they draft, by rules that take trees."""

    verifier: Verifier | None
    drafts: DraftModels | None
    read: Callable[[Mapping[str, Any] | str], Speculation]
    learns: bool = True
    judged_inside: bool = False

    def drafter(self, spec: Speculation, limit_seconds: float | None = None) -> Drafter:
        """A new drafter of the method, unguarded where there is no run; None: its own draft_timeout holds."""
        if parts := spec.parts(self.drafts.auto_sources) if self.drafts is not None else {}:
            made = {name: self.drafter(part, limit_seconds) for name, part in parts.items()}
            return SeveralDrafters.of({name: Source(drafter, drafter) for name, drafter in made.items()})
        asked = arguments(spec.method)
        limit = spec.draft_timeout if limit_seconds is None else limit_seconds
        by_run = (name for name in asked if name in given_by_run(spec.method))
        given = {name: value for name in by_run if (value := self._given(name, spec, limit)) is not None}
        common = {**{name: getattr(spec, name) for name in DRAFTING}, "draft_timeout": limit}
        given |= {name: value for name, value in common.items() if name in asked}
        given |= {name: spec.settings[name] for name in asked if name in spec.settings}
        drafter = made_of(spec.method, given)
        if self.drafts is None or spec.method == OFF:
            return drafter
        inner = given.get("inner")
        within = inner.calls if isinstance(inner, Composed) else ()
        calls = Calls(limit, spec.method not in BUILT_IN["drafters"], within)
        return GuardedDrafter(drafter, self.drafts.vocab_size, calls)

    def _given(self, name: str, spec: Speculation, limit_seconds: float) -> Any:
        """One of GIVEN_BY_RUN, None where the run has no such thing."""
        if name in LEARNT and not self.learns:
            return None
        if name == "coupled":
            return self.verifier is not None and self.verifier.coupled
        if name == "trees":
            return self.judged_inside or takes_trees(self.verifier or spec.verifier(None))
        if name == "knobs":
            return spec.knobs()
        if name == "model_name":
            return spec.model
        if name == "siblings":
            coupled = self.verifier is not None and self.verifier.coupled
            return None if self.drafts is None else partial(self.drafts.siblings, (spec.name, coupled))
        if name == "inner":
            return None if self.drafts is None else Composed(self._for_parts(spec.method), limit_seconds)
        return None if self.drafts is None else of_run(name, spec, self.drafts)

    def _for_parts(self, method: str) -> Maker:
        """Of drafters that one of this method is made of."""
        judges = getattr(find("drafters", method), "judges_parts", False)
        return replace(self, judged_inside=True) if judges else self


def made_of(method: str, given: Mapping[str, Any]) -> Drafter:
    """A drafter by its constructor; raises BadParameter where somebody else's fails."""
    kind = find("drafters", method)
    if method in BUILT_IN["drafters"]:
        return kind(**given)  # type: ignore[no-any-return]
    what = f"the plug-in {method!r} cannot be made with {sorted(given)}"
    drafter: Drafter = asked("method", what, lambda: kind(**given))
    return drafter


def takes_trees(judge: Verifier) -> bool:
    """Whether a rule takes more than chains: by its `trees`, or of ours all but CHAINS; others are not known to."""
    judge = judge.rule if isinstance(judge, ForeignRule) else judge
    modules = {kind.__module__ for kind in type(judge).__mro__}
    ours = any(module.startswith(RULES) for module in modules)
    said: bool = getattr(judge, "trees", ours and modules.isdisjoint(f"{RULES}{name}" for name in CHAINS))
    return said


def of_run(name: str, spec: Speculation, drafts: DraftModels) -> Any:
    """What of GIVEN_BY_RUN belongs to the target."""
    if name == "model":
        return None if spec.model is None else drafts.engine(spec.model)
    if name == "tempering":
        return drafts.tempering(spec.name) if spec.knobs().tunes else None
    if name == "blending":
        return drafts.blending(spec.name)
    return {"models": drafts, "vocab_size": drafts.vocab_size}.get(name)


@dataclass(slots=True)
class Composed:
    """draft.site.Inner for one drafter; `calls` are those of its parts, which may take `limit_seconds` each."""

    maker: Maker
    limit_seconds: float
    calls: list[Calls] = field(default_factory=list)

    def __call__(self, config: Mapping[str, Any] | str) -> Drafter:
        """Unguarded: the guard of the whole sees what goes wrong in a part.

        But calls of somebody else's code are made beside, one by one: one that never returns can then not go on, late,
        into parts that are not waited for.
        """
        if not isinstance(config, str):
            refuse_shared(config, OF_THE_WHOLE)
        drafter = self.maker.drafter(self.maker.read(config), self.limit_seconds)
        if isinstance(drafter, SeveralDrafters):
            bare = {name: self._bare(source.drafter) for name, source in drafter.sources.items()}
            return SeveralDrafters.of({name: Source(each, each) for name, each in bare.items()})
        return self._bare(drafter)

    def _bare(self, drafter: Drafter) -> Drafter:
        if not isinstance(drafter, GuardedDrafter):
            return drafter
        self.calls.append(drafter.calls)
        return ForeignDrafter(drafter.drafter, drafter.calls) if drafter.calls.beside else drafter.drafter
