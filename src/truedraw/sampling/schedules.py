"""Parameters that change over the text: {"temperature": [[0, 1.2], [100, 0.7]]} goes from 1.2 at the first token to 0.7
at the hundred and first, in a straight line, and stays there. Exact like any fixed value: the law at a place is known
before the place is reached.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.order import SCHEDULED
from truedraw.sampling.ranges import RANGES, Numbers, Wholes
from truedraw.sampling.values import shown

Points = tuple[tuple[int, float], ...]

NAME = "schedule"
LARGEST = 1e100  # of a number in a schedule: what lies between two of them can be computed
TOKENS = Wholes(0, "the number of tokens generated before, 0 or more")
NEVER_OFF: dict[str, Numbers | Wholes] = {"top_k": Wholes(1, "1 or more"), "top_n_sigma": RANGES["mirostat_tau"]}
"""A line towards "off" has no meaning where off is written as 0."""


def schedules(value: Any) -> dict[str, Points]:
    """{parameter: points}; raises BadParameter."""
    given = {} if value is None else value
    if not hasattr(given, "items"):
        raise BadParameter(NAME, f'got {shown(value)}; give a mapping like {{"temperature": [[0, 1.2], [100, 0.7]]}}')
    return {name: points(name, line) for name, line in given.items()}


def points(name: str, line: Any) -> Points:
    """The points of one parameter, rising; raises BadParameter."""
    if name not in SCHEDULED:
        raise BadParameter(NAME, f"{shown(name)} cannot change over the text; these can: {', '.join(SCHEDULED)}")
    try:
        found = tuple((tokens, value) for tokens, value in line)
    except (TypeError, ValueError):
        found = ()
    if not found:
        raise BadParameter(
            NAME, f"got {shown(line)} for {name}; give pairs of tokens and value: [[0, 1.2], [100, 0.7]]"
        )
    for tokens, value in found:
        TOKENS.check(NAME, tokens)
        _check(name, value)
    if _too_large(found):
        raise BadParameter(NAME, f"got {shown(line)} for {name}; give numbers of less than {LARGEST:.0e}")
    if any(after <= before for (before, _), (after, _) in pairwise(found)):
        raise BadParameter(NAME, f"got {shown(line)} for {name}; the numbers of tokens must rise")
    return found


def _too_large(points: Points) -> bool:
    return any(abs(number) >= LARGEST for point in points for number in point)


def _check(name: str, value: object) -> None:
    try:
        NEVER_OFF.get(name, RANGES[name]).check(name, value)
    except BadParameter as error:
        raise BadParameter(NAME, str(error)) from None
