"""Sampling parameters with more than one part, as they are written on a command line."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.errors import BadParameter


def biases(pairs: Sequence[str]) -> dict[int, float]:
    """{token id: bias} from "ID=NUMBER"; raises BadParameter."""
    found: dict[int, float] = {}
    for pair in pairs:
        token, _, bias = pair.partition("=")
        try:
            found[int(token)] = float(bias)
        except ValueError:
            raise BadParameter("--logit-bias", f"got {pair!r}; give a token id and a number, as 42=-1.5") from None
    return found


def schedules(lines: Sequence[str]) -> dict[str, list[list[float]]]:
    """{parameter: [[tokens, value], ...]} from "NAME=TOKENS:VALUE,TOKENS:VALUE"; raises BadParameter."""
    found: dict[str, list[list[float]]] = {}
    for line in lines:
        name, _, points = line.partition("=")
        try:
            found[name.strip().replace("-", "_")] = [_point(point) for point in points.split(",")]
        except ValueError:
            raise BadParameter(
                "--schedule", f"got {line!r}; give tokens:value pairs, as temperature=0:1.2,100:0.7"
            ) from None
    return found


def order(text: str) -> str | list[str]:
    """A preset, or the steps of "a,b,c"; one name alone is a preset unless a comma follows it."""
    names = [name.strip().replace("-", "_") for name in text.split(",") if name.strip()]
    return names if "," in text else text.strip()


def _point(text: str) -> list[float]:
    tokens, _, value = text.partition(":")
    return [int(tokens), float(value)]
