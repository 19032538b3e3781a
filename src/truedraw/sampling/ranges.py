"""What values a sampling parameter may have, one by one. What may not stand together is in contradictions.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.values import BYTES, MOST_DIGITS, plain, shown


@dataclass(frozen=True, slots=True)
class Numbers:
    """An interval; `words` say it to a person."""

    low: float
    high: float
    words: str
    open_low: bool = False
    also: tuple[float, ...] = ()  # values outside that mean "off"

    def check(self, name: str, value: object) -> None:
        """Raises BadParameter."""
        number = _is_finite(value)
        if number and value in self.also:
            return
        if not number or not self.low <= value <= self.high or (self.open_low and value == self.low):  # type: ignore[operator]
            raise BadParameter(name, f"got {shown(value)}; give a number {self.words}")


@dataclass(frozen=True, slots=True)
class Wholes:
    """Whole numbers from `low` on, up to `high` where there is one."""

    low: int
    words: str
    high: int | None = None

    def check(self, name: str, value: object) -> None:
        """Raises BadParameter."""
        if isinstance(value, bool) or not isinstance(value, int) or not self._holds(value):
            raise BadParameter(name, f"got {shown(value)}; give a whole number, {self.words}")

    def _holds(self, value: int) -> bool:
        return value >= self.low and (self.high is None or value <= self.high)


def _is_finite(value: object) -> bool:
    """Whether it is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


BIAS = Numbers(
    -1e300, 1e300, "from -1e300 to 1e300"
)  # a hundredth of it as a penalty multiplies it, and it still is a number
COUNT = Wholes(0, "0 or more; 0 turns it off")
IDS = Wholes(0, "token ids, 0 or more")
SHARE = Numbers(0.0, 1.0, "from 0 to 1")
MASS = Numbers(0.0, 1.0, "above 0, at most 1", open_low=True)
NOT_NEGATIVE = Numbers(0.0, math.inf, "0 or more")
TEMPERATURE = Numbers(0.0, 1e6, "from 0 to 1000000")  # above it, logits that differ give weights that are equal
POSITIVE = Numbers(0.0, math.inf, "above 0", open_low=True)
THREADS = Wholes(1, "1 to 4096", 4096)  # no machine has more cores, and each thread has a stack of its own
SAMPLES = Wholes(1, "1 or more, at most 65536", 1 << 16)  # one result holds them all
PENALTY = Numbers(-2.0, 2.0, "from -2 to 2")  # the OpenAI API's range
REPETITION = Numbers(0.01, 100.0, "from 0.01 to 100; 1 turns it off")

RANGES: dict[str, Numbers | Wholes] = {
    "temperature": TEMPERATURE,
    "dynatemp_range": TEMPERATURE,
    "dynatemp_exponent": POSITIVE,
    "top_k": Wholes(-1, "0 or more; 0 and -1 keep all tokens"),
    "top_p": MASS,
    "min_p": SHARE,
    "typical_p": MASS,
    "epsilon_cutoff": SHARE,
    "eta_cutoff": SHARE,
    "top_n_sigma": Numbers(0.0, math.inf, "above 0; 0 and -1 turn it off", also=(-1.0,)),
    "xtc_probability": SHARE,
    "xtc_threshold": Numbers(1e-300, 1.0, "from 1e-300 to 1"),  # what is left can be made to sum to 1
    "mirostat_tau": POSITIVE,
    "mirostat_eta": POSITIVE,
    "repetition_penalty": REPETITION,
    "presence_penalty": PENALTY,
    "frequency_penalty": PENALTY,
    "no_repeat_ngram": COUNT,
    "min_tokens": COUNT,
    "max_tokens": Wholes(1, "1 or more"),
    "n": SAMPLES,
    "best_of": SAMPLES,
    "logprobs": Wholes(0, "from 0 to 20", 20),  # the OpenAI API's range
}
OPTIONAL = ("best_of", "logprobs")
"""None leaves them out."""


def check_number(name: str, value: object) -> None:
    """One value against its range; raises BadParameter."""
    RANGES[name].check(name, value)


def a_list(name: str, value: Any, ordered: bool = False, wanted: str = "a list") -> tuple[Any, ...]:
    """A tuple of a list, None = empty; raises BadParameter on a string or something that is no list.

    ordered: nor is a set, whose order is another one in every process. wanted: what to give instead.
    """
    if value is None:
        return ()
    value = plain(value) if hasattr(value, "tolist") else value
    refused = str | BYTES | Mapping | Set if ordered else str | BYTES | Mapping
    if isinstance(value, refused) or not hasattr(value, "__iter__"):
        raise BadParameter(name, f"got {shown(value)}; give {wanted}")
    return tuple(value)


def ids(name: str, value: Any, ordered: bool = False) -> tuple[int, ...]:
    """Token ids; raises BadParameter."""
    tokens = a_list(name, value, ordered)
    for token in tokens:
        IDS.check(name, token)
    return tokens


def biases(value: Any) -> dict[int, float]:
    """{token id: bias}; ids may be written as strings, as JSON makes them. Raises BadParameter."""
    name = "logit_bias"
    given = {} if value is None else value
    if not hasattr(given, "items"):
        raise BadParameter(name, f"got {shown(value)}; give a mapping of token ids to numbers")
    found: dict[int, float] = {}
    for token, bias in given.items():
        token_id = int(token) if isinstance(token, str) and token.isdecimal() and len(token) <= MOST_DIGITS else token
        IDS.check(name, token_id)
        BIAS.check(name, bias)
        if token_id in found:
            raise BadParameter(name, f"token {token_id} stands there twice; name it once")
        found[token_id] = float(bias)
    return found


def words(value: Any) -> tuple[str | tuple[int, ...], ...]:
    """Strings, or sequences of token ids; raises BadParameter."""
    name = "bad_words"
    found = tuple(word if isinstance(word, str) else ids(name, word, ordered=True) for word in a_list(name, value))
    for word in found:
        if not word:
            raise BadParameter(name, f"got {shown(word)}; give words of at least one character or one token")
        if isinstance(word, str) and not word.strip():
            raise BadParameter(name, f"got {shown(word)}, which is white space alone; give its token ids, as [[198]]")
        if isinstance(word, str):
            check_utf8(name, word)
    return found


def strings(name: str, value: Any) -> tuple[str, ...]:
    """One string or several, none empty; raises BadParameter."""
    found = (value,) if isinstance(value, str) else a_list(name, value, wanted="a string or a list of strings")
    for text in found:
        if not isinstance(text, str) or not text:
            raise BadParameter(name, f"got {shown(text)}; give strings of at least one character")
        check_utf8(name, text)
    return found


def check_utf8(name: str, text: str) -> None:
    """Raises BadParameter for half of a surrogate pair, as which a byte arrives that is not UTF-8: it is no character.

    No text of a model holds one, so what looks for it never finds it.
    """
    for letter in text:
        if "\ud800" <= letter <= "\udfff":
            raise BadParameter(name, f"got {shown(text)}, which is not UTF-8 at {letter!r}; give text in UTF-8")
