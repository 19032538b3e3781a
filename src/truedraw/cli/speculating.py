"""What to speculate with, from flags that may say it in two ways and in three places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truedraw.cli.flags import SpeculationFlags
from truedraw.cli.grouping import ORDER
from truedraw.errors import BadInput, BadParameter
from truedraw.sampling.values import not_json, once_each

if TYPE_CHECKING:
    from truedraw.generate.speculation import Speculation

WHOLE = "--speculative-config"
SHORT = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
"""Flags for single keys."""


def speculation_of(flags: SpeculationFlags, amateur: str | None = None) -> Speculation:
    """What was asked for, or the default; an amateur drafts where a model is to draft and none is named.

    What the command line says counts before the environment, that before a file.
    Raises BadParameter for bad JSON, unknown keys, and a flag and a key of one place that contradict each other.
    """
    from truedraw.generate.keys import naming
    from truedraw.generate.speculation import speculation

    config: dict[str, Any] = {}
    for place in ORDER:
        config = below(config, given_in(place, flags))
    return speculation(naming(config, amateur) or None)


def given_in(place: str, flags: SpeculationFlags) -> dict[str, Any]:
    """The speculative config of one place; raises BadParameter where it contradicts itself."""
    here = {name: getattr(flags, name) for name in (*SHORT, "speculative_config")
            if flags.sources.get(name, ORDER[0]) == place}  # fmt: skip
    text = here.pop("speculative_config", None)
    config = {} if text is None else config_of(WHOLE, text)
    for name, value in here.items():
        if value is not None and config.setdefault(SHORT[name], value) != value:
            key, flag = SHORT[name], "--" + name.replace("_", "-")
            raise BadParameter(flag, f"{value!r} contradicts {key} {config[key]!r} in {WHOLE}; give one")
    return config


def below(config: Mapping[str, Any], weaker: Mapping[str, Any]) -> dict[str, Any]:
    """A config, and what a weaker one says beside it.

    They are about one drafter where the weaker one's can have all settings of the stronger one, and where it cannot,
    about that of the stronger one: then settings of the other drafter count no more.
    """
    from truedraw.generate.keys import GENERAL, every_key, used

    if not config or not weaker:
        return dict(config or weaker)
    mine, theirs = config.get("method") or method_of(config), method_of(weaker)
    if not config.get("method") and theirs is not None and (mine is None or config.keys() <= {*used(theirs)}):
        mine = theirs
    if mine is None or mine == theirs:
        return {**weaker, **config, **({} if mine is None else {"method": mine})}
    theirs_too = GENERAL if weaker.get("method") else used(mine)
    kept = {key: value for key, value in weaker.items()
            if (key in theirs_too and key in used(mine)) or key not in every_key()}  # fmt: skip
    return {**kept, **config, "method": mine}


def method_of(config: Mapping[str, Any]) -> str | None:
    """Whom a config is about, by name or because nobody else has its settings; None: about any drafter."""
    from truedraw.generate.keys import AUTO, COMMON, keys, meant

    own = {key: value for key, value in config.items() if key not in COMMON}
    found = config.get("method") or meant(config.get("model"), own)
    return None if found == AUTO and not config.get("method") and not (own and own.keys() <= {*keys(AUTO)}) else found


def config_of(flag: str, text: str) -> dict[str, Any]:
    """A speculative config out of JSON; raises BadParameter that names the flag."""
    try:
        config = once_each(text)
    except BadInput as error:
        raise BadParameter(flag, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadParameter(flag, f"not JSON ({not_json(error)}): {text[:80]!r}") from error
    if not isinstance(config, dict):
        raise BadParameter(flag, f'got {text[:80]!r}; give an object, as {{"method": "ngram"}}')
    for key in ("method", "rejection_sample_method"):
        if not isinstance(config.get(key, ""), str):
            raise BadParameter(flag, f"{key} is {config[key]!r}; give a name")
    return config
