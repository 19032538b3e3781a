"""Sampling parameters that may not stand together, one rule a function. Nothing that was asked for is ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from truedraw.errors import BadParameter
from truedraw.sampling.grammar import PARAMETERS
from truedraw.sampling.order import OFF, PENALTIES, PRESETS, SWITCHES, TRUNCATIONS, on, steps_of
from truedraw.sampling.values import plain, shown

Values = Mapping[str, Any]

DETAILS = {
    "dynatemp_exponent": ("dynatemp_range", 1.0),
    "xtc_threshold": ("xtc_probability", 0.1),
    "mirostat_tau": ("mirostat", 5.0),
    "mirostat_eta": ("mirostat", 0.1),
}
"""Parameter -> what it is a detail of, and its default: llama.cpp's."""


def check_together(values: Values) -> None:
    """Raises BadParameter naming one of two parameters that contradict each other."""
    for rule in RULES:
        rule(values)


def lengths(values: Values) -> None:
    """A text cannot be shorter than it must be."""
    if values["min_tokens"] > values["max_tokens"]:
        raise BadParameter(
            "min_tokens",
            f"got {shown(values['min_tokens'])}, but max_tokens is {shown(values['max_tokens'])}; give at most that",
        )


def enough_to_choose_from(values: Values) -> None:
    """The samples that are kept are some of those that are drawn."""
    drawn, n = values["best_of"], values["n"]
    if drawn is not None and drawn < n:
        raise BadParameter("best_of", f"got {drawn}, but n is {n}; give at least that, or leave it out")


def somewhere_to_go(values: Values) -> None:
    """An empty list of allowed tokens allows nothing."""
    if values["allowed_token_ids"] == ():
        raise BadParameter("allowed_token_ids", "the list is empty, so nothing could follow; leave it out to allow all")


def one_grammar(values: Values) -> None:
    """At most one grammar, and it decides where the text ends."""
    given = [name for name in PARAMETERS if values[name] is not None]
    if len(given) > 1:
        raise BadParameter(given[1], f"{given[0]} is given too; a text follows one of them, leave the other out")
    if given and values["ignore_eos"]:
        raise BadParameter("ignore_eos", f"{given[0]} ends the text with the model's end token; leave one of them out")


def details(values: Values) -> None:
    """A detail of something that is off."""
    for name, (switch, default) in DETAILS.items():
        if values[name] != default and values[switch] in OFF[switch]:
            raise BadParameter(
                name, f"got {shown(values[name])}, but {switch} is off; set {switch} too, or leave {name} out"
            )


def one_truncation(values: Values) -> None:
    """Mirostat takes the place of all truncations."""
    mirostat = values["mirostat"]
    if isinstance(mirostat, bool) or mirostat not in (0, 2):
        raise BadParameter("mirostat", f"got {shown(mirostat)}; give 2, or 0 to turn it off")
    for name in truncations(values) if mirostat else ():
        raise BadParameter(name, f"mirostat takes the place of every truncation; turn {name} or mirostat off")


def one_value(values: Values) -> None:
    """Either a value or a schedule."""
    for name in values["schedule"]:
        if values[name] not in OFF[name]:
            raise BadParameter(name, f"got {shown(values[name])} and a schedule; give one of the two")


def order(values: Values) -> None:
    """Known names, each once, penalties first, and nothing that is on left out."""
    given, names = values["sampler_order"], ", ".join(SWITCHES)
    if isinstance(given, str):
        if given not in PRESETS:
            raise BadParameter(
                "sampler_order", f"got {shown(given)}; give {' or '.join(PRESETS)}, or a list of: {names}"
            )
        return
    if unknown := [name for name in given if not isinstance(name, str) or name not in SWITCHES]:
        raise BadParameter("sampler_order", f"no step is called {shown(unknown[0])}; the steps are {names}")
    if len(set(given)) < len(given) or PENALTIES in given[1:]:
        raise BadParameter("sampler_order", f"got {list(given)}; name a step once, and {PENALTIES} only as the first")
    left_out = [name for step in SWITCHES if step not in (PENALTIES, *given) for name in on(values, step)]
    if left_out:
        raise BadParameter("sampler_order", f"{left_out[0]} is set, but the list leaves its step out; add it")
    if "mirostat" in given[:-1] and values["mirostat"]:
        raise BadParameter("sampler_order", "mirostat must stand last: its surprise is that of the law drawn from")


RULES: tuple[Callable[[Values], None], ...] = (
    lengths,
    enough_to_choose_from,
    somewhere_to_go,
    one_grammar,
    details,
    one_truncation,
    one_value,
    order,
)


def truncations(values: Values) -> list[str]:
    """The truncation parameters that are on."""
    return [name for step in TRUNCATIONS for name in on(values, step)]


def overruled(given: Values) -> set[str]:
    """The model's own defaults that a request puts out of force without naming them."""
    schedule, wanted, mirostat = given.get("schedule"), given.get("sampler_order"), plain(given.get("mirostat"))
    gone = set(schedule) if isinstance(schedule, Mapping) else set()
    if mirostat:
        gone |= parameters_of(TRUNCATIONS)
    if isinstance(wanted, list | tuple):
        steps = steps_of(tuple(name for name in wanted if isinstance(name, str)))
        gone |= parameters_of(step for step in SWITCHES if step not in (PENALTIES, *steps))
    return gone


def outdone(given: Values) -> set[str]:
    """What else a line's own parameters put out of force, of those of its run."""
    gone = {*PARAMETERS, "ignore_eos"} if any(given.get(name) is not None for name in PARAMETERS) else set[str]()
    is_readable = isinstance(given.get("schedule") or {}, Mapping)
    return gone | ({"mirostat"} if is_readable and truncations(given) else set())


def without_details(values: Values, some: Values) -> dict[str, Any]:
    """Some of these, but for details of what is off."""
    off = {name for name, (switch, _) in DETAILS.items() if plain(values.get(switch, 0)) in OFF[switch]}
    return {name: value for name, value in some.items() if name not in off}


def parameters_of(steps: Iterable[str]) -> set[str]:
    """The parameters that switch steps on."""
    return {name for step in steps for name in SWITCHES[step]}
