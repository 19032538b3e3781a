"""What is wrong with the common keys of a speculative config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truedraw.draft.knobs import GUMBEL
from truedraw.errors import BadParameter
from truedraw.generate.making import CHAINS
from truedraw.sampling.ranges import POSITIVE, Wholes
from truedraw.sampling.values import plain_number, shown

if TYPE_CHECKING:
    from truedraw.generate.speculation import Speculation


def check_rule(of: Speculation) -> None:
    """What a rule cannot verify is not drafted; raises BadParameter."""
    knobs, verifier = of.knobs(), of.verifier(None)
    if knobs.draft_sample_method == GUMBEL and of.rejection_sample_method and not verifier.coupled:
        raise BadParameter("draft_sample_method", f"{GUMBEL} needs a coupled rule; leave one of the two out")
    if knobs.siblings > 1 and of.rejection_sample_method in CHAINS:
        raise BadParameter(
            "draft_siblings",
            f"the rule {of.rejection_sample_method} takes chains only; leave one of the two out, or verify with "
            '"traversal"',
        )


def check_kinds(of: Speculation) -> None:
    """Each common key is of its kind, and in its range; raises BadParameter."""
    Wholes(0, "0 or more").check("num_speculative_tokens", of.num_speculative_tokens)
    POSITIVE.check("draft_timeout", of.draft_timeout)
    for name in ("method", "rejection_sample_method", "model"):
        value = getattr(of, name)
        if not (isinstance(value, str) and value) and not (value is None and name != "method"):
            raise BadParameter(name, f"got {shown(value)}; give a name")
    for name in ("adaptive", "allow_lossy"):
        if not isinstance(getattr(of, name), bool):
            raise BadParameter(name, f"got {shown(getattr(of, name))}; give true or false")
    if not isinstance(of.lossy_options, Mapping | None):
        raise BadParameter("lossy_options", f"got {shown(of.lossy_options)}; give names and numbers")


def told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are given; dataclasses.replace hands them over under their field's name."""
    whole = settings.get("settings")
    if isinstance(whole, Mapping):
        settings = {**whole, **{name: value for name, value in settings.items() if name != "settings"}}
    return {name: plain_number(value) for name, value in settings.items() if value is not None}
