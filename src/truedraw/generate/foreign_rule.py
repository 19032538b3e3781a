"""Somebody else's acceptance rule: what it is shown it cannot write into, and what it says is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

from truedraw.errors import BadParameter, TruedrawError
from truedraw.generate.foreign import asked
from truedraw.generate.lent_rows import LentRows
from truedraw.handlers import fault_of
from truedraw.protocol import Loss, LossyVerifier, Proposal, Randomness, Rows, Verdict, Verifier
from truedraw.protocol.able import is_able
from truedraw.sampling.ranges import Numbers
from truedraw.sampling.values import plain, shown

METHOD = "rejection_sample_method"
MOST = 1e300


class ForeignRule:
    """protocol.Verifier around another one, which is registered by this name."""

    def __init__(self, name: str, rule: Any) -> None:
        self.name, self.rule = name, rule
        self.exact, self.coupled = rule.exact, rule.coupled

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """The other's verdict; raises what that raises, and TruedrawError where it would end the program."""
        try:
            return self.rule(proposal, LentRows(rows), randomness, position)  # type: ignore[no-any-return]
        except Exception:
            raise
        except BaseException as error:
            raise TruedrawError(f"the rule {self.name!r}: a call ended in {fault_of(error)}") from error


class ForeignLossyRule(ForeignRule):
    """protocol.LossyVerifier around another one."""

    def loss(self) -> Loss:
        """What the other says; raises BadParameter where that is nothing that can be told."""
        return asked(METHOD, f"the rule {self.name!r} cannot say what it lost", lambda: told(self.rule.loss()))


def foreign_rule(name: str, kind: Callable[..., Any], options: Mapping[str, Any]) -> Verifier:
    """A plug-in's rule; raises BadParameter where it cannot be made, or is none."""
    return cast(Verifier, asked(METHOD, f"the plug-in {name!r} cannot be made", lambda: _made(name, kind, options)))


def check_numbers(name: str, options: Mapping[str, Any]) -> None:
    """Raises BadParameter for an option that is no number; which ones it takes, the rule of this name knows itself."""
    for option, value in options.items():
        Numbers(-MOST, MOST, f"for the rule {name!r}").check(option, value)


def _made(name: str, kind: Callable[..., Any], options: Mapping[str, Any]) -> ForeignRule:
    rule = kind(**options)
    if not is_able(rule, Verifier):
        raise TypeError(f"it is {shown(rule)}; give what has `exact` and `coupled` and can be called")
    if getattr(kind, "exact", None) is True and rule.exact is not True:
        raise TypeError("its class says that it is exact, and it says that it is not; let both say the same")
    if not is_able(rule, LossyVerifier) or rule.exact is True:
        return ForeignRule(name, rule)
    lossy = ForeignLossyRule(name, rule)
    lossy.loss()  # result() may ask at any time, also before anything was drawn
    return lossy


def told(loss: Any) -> Loss:
    """The same of Python's own numbers; raises TypeError for what is no Loss, and for anything else in it."""
    if not isinstance(loss, Loss):
        raise TypeError(f"loss() gave {shown(loss)}; give a protocol.Loss")
    given = {each.name: plain(getattr(loss, each.name)) for each in fields(Loss)}
    for name in ("rule", "meaning"):
        if not isinstance(given[name], str):
            raise TypeError(f"its {name} is {shown(given[name])}; give a text")
    numbers = {"tokens": given["tokens"]}
    numbers |= {} if given["tv_per_token"] is None else {"tv_per_token": given["tv_per_token"]}
    for name in ("settings", "details"):
        if not isinstance(given[name], Mapping):
            raise TypeError(f"its {name} are {shown(given[name])}; give names and numbers")
        numbers |= {f"{name}[{key!r}]": each for key, each in given[name].items()}
    for name, value in numbers.items():
        _check_number(name, value)
    return Loss(**given)


def _check_number(name: str, value: object) -> None:
    """Raises TypeError."""
    try:
        Numbers(-MOST, MOST, "there").check(name, value)
    except BadParameter as error:
        raise TypeError(str(error)) from error
