"""The fence around lossy rules: the one place that can let one in, and only by its name and on request."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from truedraw.errors import BadParameter, UnknownName
from truedraw.generate.foreign import asked
from truedraw.generate.foreign_rule import check_numbers, foreign_rule
from truedraw.protocol import LossyVerifier, Verifier
from truedraw.protocol.able import is_able
from truedraw.registry import BUILT_IN, find, names


def rule(name: str, allow_lossy: bool, options: Mapping[str, float] | None) -> Verifier:
    """The acceptance rule of this name; `options` are the settings of a lossy one.

    Raises UnknownName, and BadParameter for a lossy rule without `allow_lossy`, for options that do not fit, and for a
    plug-in that makes no rule.
    """
    kind, ours = _kind(name, allow_lossy)
    if says_exact(kind):
        if options:
            raise BadParameter("lossy_options", f"the rule {name} is exact and takes none; leave them out")
        verifier: Verifier = kind() if ours else foreign_rule(name, kind, {})
        return verifier
    return _lossy(name, kind, dict(options or {}), ours)


def _kind(name: str, allow_lossy: bool) -> tuple[Any, bool]:
    """(the class, whether it is built in); nothing of a lossy rule is imported unless it is allowed."""
    try:
        kind = find("verifiers", name)
    except UnknownName as error:
        if name not in names("lossy_verifiers"):
            raise UnknownName(f"rejection_sample_method: {error}") from error
        _require(allow_lossy, name)
        return find("lossy_verifiers", name), name in BUILT_IN["lossy_verifiers"]
    _require(allow_lossy or says_exact(kind), name)
    return kind, name in BUILT_IN["verifiers"]


def says_exact(kind: Any) -> bool:
    """Whether all rules of a class are exact; one that leaves it to its objects, or says nothing, does not say so."""
    return getattr(kind, "exact", None) is True


def _require(allowed: bool, name: str) -> None:
    if not allowed:
        raise BadParameter(
            "rejection_sample_method",
            f"{name} does not keep the model's distribution; add allow_lossy: true if that is what you want, "
            f"or choose one that does: {', '.join(BUILT_IN['verifiers'])}",
        )


def _lossy(name: str, kind: Any, options: dict[str, float], ours: bool) -> Verifier:
    what = f"the plug-in {name!r} does not say which options it has"
    valid = list(asked("rejection_sample_method", what, lambda: signature(kind)).parameters)
    for option in options:
        if option not in valid:
            raise BadParameter("lossy_options", f"{name} has no option {option!r}; valid ones are {', '.join(valid)}")
    if not ours:
        check_numbers(name, options)
    verifier: Verifier = kind(**options) if ours else foreign_rule(name, kind, options)
    if not is_able(verifier, LossyVerifier):
        raise BadParameter(
            "rejection_sample_method",
            f"{name} says neither that it is exact, as `exact = True` on its class, "
            "nor what it loses, by loss(); its author has to say one of them",
        )
    return verifier
