"""Values as they are given: as Python's own, and as a message repeats them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from truedraw.errors import BadInput, BadParameter
from truedraw.handlers import pass_on

LONGEST_SHOWN = 60  # characters of a value that a message repeats
PLAIN = frozenset({int, float, str, bool, type(None)})
DEEPEST = 4  # lists in lists: a schedule is a mapping to lists of pairs
BYTES = bytes | bytearray | memoryview  # of a text that nobody has decoded: no list of numbers
UNKNOWN = "–"
MOST_DIGITS = 400  # of a whole number: no float is as large
Lost = tuple[dict[str, Any], str]  # an object, and a key that stood there twice


def plain(value: Any, depth: int = DEEPEST) -> Any:
    """numpy's numbers and arrays as Python's own, which JSON takes as well; in lists and mappings, too."""
    if type(value) in PLAIN or not depth:
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)([each if type(each) in PLAIN else plain(each, depth - 1) for each in value])
    if isinstance(value, Mapping):
        return {plain(key, depth - 1): plain(each, depth - 1) for key, each in value.items()}
    return plain_number(value)


def plain_number(value: Any) -> Any:
    """A number of numpy as Python's own; anything else as it is."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def frozen(value: Any) -> Any:
    """Equal for values that mean the same, as a list, a tuple and an array of the same ids."""
    if isinstance(value, np.ndarray):
        return frozen(value.tolist())
    if isinstance(value, list | tuple):
        return tuple(each if type(each) in PLAIN else frozen(each) for each in value)
    if isinstance(value, Mapping):
        return {name: frozen(each) for name, each in value.items()}
    return value


def hash_of(value: Any) -> int:
    """The same for values that are equal once frozen, whatever is in them."""
    if isinstance(value, Mapping):
        return hash(frozenset((name, hash_of(each)) for name, each in value.items()))
    if isinstance(value, tuple):
        return hash(tuple(hash_of(each) for each in value))
    try:
        return hash(value)
    except TypeError:  # a set, and what brings no hash of its own
        return 0


def differs(value: object, usual: object) -> bool:
    """Whether it is something else, also where it is an array, which has no one answer to that."""
    return not isinstance(value, type(usual)) or value != usual


def is_one_of(value: object, names: Iterable[str]) -> bool:
    """Whether it is a text, and one of these."""
    return isinstance(value, str) and value in names


def shown(value: object) -> str:
    """A value as a message repeats it: short, and without an error where Python refuses to write a number out, or what
    somebody made has no words for itself."""
    try:
        text = repr(value)
    except Exception as error:
        pass_on(error)
        is_long = type(error) is ValueError and "digits" in str(error)
        return "a number of thousands of digits" if is_long else f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def shortest(number: int | float) -> str:
    """The shortest text that means the number; 1 and 1.0 have the same."""
    if isinstance(number, int):  # of any length
        return str(number)
    return str(int(number)) if number.is_integer() else repr(number)


def number(value: float | None, layout: str) -> str:
    """A number, or a dash where there is none."""
    return UNKNOWN if value is None else format(value, layout)


def parsed(text: str | bytes) -> Any:
    """What JSON says; raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(not_json(error)) from error


def not_json(error: Exception) -> str:
    """What json.loads has raised, in words."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def whole_number(text: str) -> int:
    """`parse_int` for json.loads; raises BadInput for more digits than any parameter takes."""
    if len(text) > MOST_DIGITS:
        raise BadInput(f"a number has {len(text)} digits; give one of at most {MOST_DIGITS}")
    return int(text)


def once_each(text: str | bytes) -> Any:
    """What JSON says, with no key twice in an object.

    Raises BadParameter for such a key, by its path, BadInput for a number of too many digits, and as json.loads.
    """
    twice: list[Lost] = []
    whole = json.loads(text, object_pairs_hook=_kept(twice), parse_int=whole_number)
    _check_once(twice, whole)
    return whole


def once_each_at(text: str, at: int) -> tuple[Any, int]:
    """The same of JSON that begins there, and where it ends."""
    twice: list[Lost] = []
    whole, end = json.JSONDecoder(object_pairs_hook=_kept(twice), parse_int=whole_number).raw_decode(text, at)
    _check_once(twice, whole)
    return whole, end


def _kept(twice: list[Lost]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.append((found, Counter(name for name, _ in pairs).most_common(1)[0][0]))
        return found

    return kept


def _check_once(twice: Sequence[Lost], whole: object) -> None:
    if twice:
        inside, name = twice[-1]  # nothing around it has lost a key, so it is in the whole
        raise BadParameter(".".join([*_path(inside, whole), name]), "the key stands there twice; give it once")


def _path(wanted: object, whole: object) -> list[str]:
    """The keys and numbers that lead to it."""
    waiting: list[tuple[object, list[str]]] = [(whole, [])]
    while waiting:
        here, path = waiting.pop()
        if here is wanted:
            return path
        parts = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        waiting += [(part, [*path, str(name)]) for name, part in parts]
    return []
