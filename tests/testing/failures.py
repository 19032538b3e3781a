"""Which checks of a suite a broken part fails."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.testing.checks import Check


def failures(checks: Iterable[Check], *kinds: type[Exception]) -> dict[str, str]:
    """By name, what each of them says; any other error than these kinds is raised."""
    found = {}
    for check in checks:
        try:
            check()
        except kinds as error:
            found[check.name] = str(error)
    return found


def fails(checks: Iterable[Check], *kinds: type[Exception]) -> bool:
    """Whether any does; none is run behind the first one that does."""
    return any(failures([check], *kinds) for check in checks)
