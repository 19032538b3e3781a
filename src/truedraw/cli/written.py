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
            token_id, number = int(token), float(bias)
        except ValueError:
            raise BadParameter("--logit-bias", f"got {pair!r}; give a token id and a number, as 42=-1.5") from None
        if token_id in found:
            raise BadParameter("--logit-bias", f"token {token_id} stands there twice; name it once")
        found[token_id] = number
    return found


def schedules(lines: Sequence[str]) -> dict[str, list[list[float]]]:
    """{parameter: [[tokens, value], ...]} from "NAME=TOKENS:VALUE,TOKENS:VALUE"; raises BadParameter."""
    found: dict[str, list[list[float]]] = {}
    for line in lines:
        written, _, points = line.partition("=")
        name = written.strip().replace("-", "_")
        if name in found:
            raise BadParameter("--schedule", f"{name} stands there twice; give all its points in one")
        try:
            found[name] = [_point(point) for point in points.split(",")]
        except ValueError:
            raise BadParameter(
                "--schedule", f"got {line!r}; give tokens:value pairs, as temperature=0:1.2,100:0.7"
            ) from None
    return found


def order(text: str) -> str | list[str]:
    """A preset, or the steps of "a,b,c"; one name alone is a preset unless a comma follows it."""
    names = [name.strip().replace("-", "_") for name in text.split(",") if name.strip()]
    return names if names and "," in text else text.strip()


def _point(text: str) -> list[float]:
    tokens, _, value = text.partition(":")
    return [int(tokens), _number(value)]


def _number(text: str) -> float:
    """Whole where it is written so: some parameters are counts."""
    try:
        return int(text)
    except ValueError:
        return float(text)
