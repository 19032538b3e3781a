"""The ranges of the settings of lossy rules."""

from __future__ import annotations

from truedraw.errors import BadParameter

MOST = 1e6  # where a setting has no upper end of its own


def check_share(name: str, value: float) -> None:
    """Raises BadParameter unless value is a number above 0 and at most 1."""
    if not (_is_number(value) and 0.0 < value <= 1.0):
        raise BadParameter(name, f"got {value!r}; give a number above 0 and at most 1")


def check_factor(name: str, value: float) -> None:
    """Raises BadParameter unless value is a number from 1 to MOST."""
    if not (_is_number(value) and 1.0 <= value <= MOST):
        raise BadParameter(name, f"got {value!r}; give a number from 1 to {MOST:g}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
