"""Variables of the environment that look like twins of flags and are none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from typing import Any

from truedraw.cli.colour import safe
from truedraw.cli.grouping import ENVIRONMENT, environment_name
from truedraw.cli.notices import notice
from truedraw.errors import did_you_mean


def notice_unknown(program: Any, verb: str) -> None:
    """One line on stderr for each; the other verbs are looked at where this one's flags are not all that is set."""
    given = {name for name in os.environ if name.startswith(ENVIRONMENT)}
    if not given or not (unknown := given - {*_twins([program.commands.get(verb)])}):
        return
    known = {*_twins(program.commands.values())}
    for name in sorted(unknown - known):
        notice(safe(f"no flag has the environment variable {name}{_near(name, known)}"))


def _near(name: str, known: Set[str]) -> str:
    """As flags of other programs are understood; else without what all begin with, which would make any two alike."""
    from truedraw.cli.other_names import ours_of

    own = name.removeprefix(ENVIRONMENT)
    if (ours := environment_name(ours_of(f"--{own.lower()}"))) in known:
        return f" (did you mean {ours}?)"
    rest = did_you_mean(own, [each.removeprefix(ENVIRONMENT) for each in known])
    return rest.replace("mean ", f"mean {ENVIRONMENT}")


def _twins(commands: Iterable[Any]) -> Iterator[str]:
    """Of the flags of these verbs and those below them."""
    for each in commands:
        yield from (flag.envvar for flag in getattr(each, "params", ()) if isinstance(flag.envvar, str))
        yield from _twins(getattr(each, "commands", {}).values())
