"""Which keys of a speculative config mean something with which method: what its drafter's constructor takes by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from truedraw.draft.knobs import Knobs
from truedraw.draft.several import NOBODY
from truedraw.errors import BadParameter, UnknownName, did_you_mean
from truedraw.registry import BUILT_IN, find, names
from truedraw.sampling.values import shown

MODEL, AUTO, OFF = "model", "auto", NOBODY
RULE = ("rejection_sample_method", "allow_lossy", "lossy_options")
ALWAYS = ("method", *RULE)
"""Keys that mean something with every method."""
DRAFTING = ("num_speculative_tokens", "adaptive", "draft_timeout")
"""And these with every method that drafts."""
COMMON = (*ALWAYS, MODEL, *DRAFTING)
"""Keys that are no drafter's own setting."""
GENERAL = (*RULE, MODEL, *DRAFTING)
"""What of them may go from one drafter to another."""
OF_THE_WHOLE = (*RULE, "adaptive", "draft_timeout")
"""Keys that a drafter which is part of another one cannot have for itself."""
GIVEN_BY_RUN = ("model", "model_name", "models", "inner", "vocab_size", "coupled", "trees", "knobs", "tempering",
                "siblings", "blending")  # fmt: skip
"""What a drafter's constructor can ask for by name beside its own settings: the engine of the model that drafts, that
model's name, draft.site.Models, draft.site.Inner, the target's number of rows, whether the rule is a coupled one,
whether it takes trees, all draft_ keys as one draft.knobs.Knobs, where a temperature is to be tuned
draft.tempering.Tempering, draft.siblings.Known, and what is known of how laws are mixed,
draft.head_ngram_weights.Weights."""
FOR_ANYBODY = ("model", "model_name", "vocab_size", "coupled", "trees")
"""What of it plug-ins can ask for: in theirs the other names are settings."""
IN_THE_CONFIG = ("trees",)
"""What of it is known without a run."""
NAMED = ("model", "model_name")
"""Who asks for these needs the key `model`."""
PARTS = ("auto_sources", "sources", "stage")
"""What a drafter is made of."""
KNOBS = tuple(field.name for field in fields(Knobs))


def meant(model: str | Path | None, settings: Mapping[str, Any]) -> str:
    """The method of a config that names none: the one that has all its settings, and none that others lack who do."""
    if model is not None:
        return MODEL
    wanted = {name for name, value in settings.items() if value is not None}
    if not wanted:
        return AUTO
    known = {method: {*keys(method)} for method in usable_methods()}
    having = [method for method, own in known.items() if wanted <= own]
    simplest = [each for each in having if all(known[each] <= known[other] for other in having)]
    return simplest[0] if len(simplest) == 1 else AUTO


def naming(given: Any, model: str | None) -> Any:
    """A speculative config as a user gives it, with `model` where a method drafts with a model and none is named."""
    if isinstance(given, str):
        return {"method": given, MODEL: model} if model is not None and drafts_with_model(given) else given
    if not isinstance(given, Mapping) or model is None:
        return given
    found, method = dict(given), given.get("method")
    if not isinstance(method, str) or method in BUILT_IN["drafters"]:  # a plug-in's keys of these names are its own
        found |= {key: _naming_parts(given[key], model) for key in PARTS if key in given}
    if isinstance(method, str) and found.get(MODEL) is None and drafts_with_model(method):
        found[MODEL] = model
    return found


def _naming_parts(parts: Any, model: str) -> Any:
    """Of one drafter that another one is made of, or of several."""
    return [naming(each, model) for each in parts] if isinstance(parts, list | tuple) else naming(parts, model)


def drafts_with_model(method: str) -> bool:
    """Whether it needs the key `model`; False for what is no method."""
    return method in names("drafters") and bool(set(NAMED) & set(arguments(method)))


def keys(method: str) -> tuple[str, ...]:
    """The keys that are one method's own."""
    named = arguments(method)
    return (
        *(("model",) if set(NAMED) & set(named) else ()),
        *(name for name in named if name not in (*given_by_run(method), *COMMON)),
        *(KNOBS if "knobs" in set(given_by_run(method)) & set(named) else ()),
    )


def used(method: str) -> tuple[str, ...]:
    """All keys that mean something with the method."""
    return (*ALWAYS, *(() if method == OFF else DRAFTING), *keys(method))


def every_key() -> set[str]:
    """That means something with any method."""
    return {*COMMON, *(key for method in usable_methods() for key in keys(method))}


def usable_methods() -> Iterator[str]:
    """All but plug-ins that cannot be loaded, or do not say what they take; they concern only those who name them."""
    for method in names("drafters"):
        try:
            _parameters(method)
        except UnknownName:
            continue
        yield method


def needs_run(method: str) -> bool:
    """Whether its drafter cannot be made without what only a run can give."""
    run_alone = set(given_by_run(method)) - set(IN_THE_CONFIG)
    return any(each.name in run_alone and each.default is Parameter.empty for each in _parameters(method))


def given_by_run(method: str) -> tuple[str, ...]:
    """What the run gives a drafter that asks for it by name."""
    return GIVEN_BY_RUN if method in BUILT_IN["drafters"] else FOR_ANYBODY


def arguments(method: str) -> tuple[str, ...]:
    """What the constructor of a drafter takes by name."""
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return tuple(each.name for each in _parameters(method) if each.kind in by_name)


def _parameters(method: str) -> tuple[Parameter, ...]:
    """Of the constructor. Every text asks for them, so those of our own drafters are looked up once.

    Raises UnknownName, too, for a plug-in that does not say what it takes.
    """
    kind = find("drafters", method)
    if method in BUILT_IN["drafters"]:
        return tuple(_signature(kind).parameters.values())
    try:
        return tuple(signature(kind).parameters.values())
    except (TypeError, ValueError) as error:
        what = f"the plug-in {method!r} is {shown(kind)}, which does not say what it takes: {error}"
        raise UnknownName(f"{what}; register a class or function of Python") from error


_signature = cache(signature)


def refuse_unused(method: str, given: Mapping[str, Any]) -> None:
    """Raises BadParameter naming what is no key, or none of the method's; UnknownName for no method."""
    usable = used(method)
    others = [name for name in given if name not in usable]
    if given.get("num_speculative_tokens") == 0:
        others = [name for name in others if name != "num_speculative_tokens"]  # 0 is what none means
    if not others:
        return
    known = every_key()
    if strange := [name for name in others if name not in known]:
        said = f"no such key of the speculative config{did_you_mean(strange[0], usable)}; with {method}"
        raise BadParameter(strange[0], f"{said}: {', '.join(usable)}")
    if unused := [name for name in others if given[name] is not None]:
        raise BadParameter(
            unused[0], f"the method {method} does not use {', '.join(unused)}; leave that out, or choose another method"
        )


def refuse_shared(config: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raises BadParameter for a setting of one drafter that only all of them together can have."""
    for name in names:
        if config.get(name) is not None:
            raise BadParameter(name, "a setting of the whole, not of one of its drafters; give it beside them")
