"""From flags to what the library takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.flags import ModelFlags, SpeculationFlags
from truedraw.cli.sizes import bytes_of
from truedraw.errors import BadInput, BadParameter
from truedraw.generate.offline.settings import CONTENTS
from truedraw.models.toy import TOY_MODEL
from truedraw.sampling.ranges import whole_number

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.generate.speculation import Speculation


@contextmanager
def opened(flags: ModelFlags, *, apart: bool = False) -> Iterator[Model]:
    """The model, fetched with a progress bar if need be; says so where this machine cannot keep its bits equal.

    `apart`: one run finds nothing that another has computed, as a comparison of their times needs it.
    """
    from truedraw.cli.models import progress_bar
    from truedraw.generate.loading import load

    memory = memory_of(flags, apart)
    with progress_bar() as progress:
        model = load(
            flags.model,
            numerics=flags.numerics,
            weights=flags.weights,
            threads=flags.threads,
            cache=flags.cache,
            progress=progress,
            amateur=flags.amateur,
            contrastive_alpha=flags.contrastive_alpha,
            contrastive_beta=flags.contrastive_beta,
            **memory,
        )
    with model:
        notice_invariance(model.engine)
        yield model


def memory_of(flags: ModelFlags, apart: bool = False) -> dict[str, int]:
    """Amounts of memory that the engine is to be told; raises BadParameter."""
    found: dict[str, int] = {}
    if flags.cache_bytes is not None:
        found["cache_bytes"] = bytes_of("--cache-bytes", flags.cache_bytes)
    if flags.prefix_cache_bytes is not None:
        found["prefix_cache_bytes"] = bytes_of("--prefix-cache-bytes", flags.prefix_cache_bytes, least=0)
    if apart and found.get("prefix_cache_bytes"):
        raise BadParameter(
            "--prefix-cache-bytes", "times are compared here, and no run may find what another one left; leave it out"
        )
    if apart and flags.model != TOY_MODEL:
        found["prefix_cache_bytes"] = 0
    return found


def computed_with(flags: ModelFlags) -> dict[str, Any]:
    """How the model computes, for a report; None where it has no such setting."""
    is_table = flags.model == TOY_MODEL
    return {name: None if is_table else getattr(flags, name) for name in ("numerics", "weights", "threads")}


def law_of(flags: ModelFlags) -> dict[str, Any]:
    """What of the model's flags decides which texts come out; a model is what its files hold, wherever they lie.

    Raises what opening a model raises.
    """
    names = ("model", "numerics", "weights", "amateur", "contrastive_alpha", "contrastive_beta")
    contents = {name: contents_of(getattr(flags, name), flags.cache) for name in ("model", "amateur")}
    return {**{name: getattr(flags, name) for name in names}, CONTENTS: contents}


def contents_of(model: str | None, cache: Path | None) -> str | None:
    """The fingerprint of a model's files, fetched with a progress bar if need be; None for no model and for the toy.

    A model in one file may be called anything.
    """
    from truedraw.cli.models import progress_bar
    from truedraw.models import open_checkpoint
    from truedraw.models.fingerprint import fingerprint

    if model is None or model == TOY_MODEL:
        return None
    with progress_bar() as progress:
        found = open_checkpoint(model, cache=cache, progress=progress)
    return fingerprint([found.path], named=False) if found.path.is_file() else found.fingerprint


def notice_invariance(engine: Any) -> None:
    """One line on stderr where the engine found that a row's numbers depend on what else is in its pass."""
    found = getattr(engine, "invariance", None)
    if found is not None and not found.holds:
        typer.echo(
            "truedraw: notice: on this machine a token's probabilities depend a little on what else is computed with "
            f"it (total variation up to {found.largest_tv:.1g}; {', '.join(found.differing)}): the same seed can give "
            "another text with other drafts or in another batch; --numerics reference is slower and far closer",
            err=True,
        )


def speculation_of(flags: SpeculationFlags) -> Speculation:
    """What was asked for, or the default.

    Raises BadParameter for bad JSON, unknown keys, and a flag and a key that contradict each other.
    """
    from truedraw.generate.speculation import speculation

    text = flags.speculative_config
    config = {} if text is None else config_of("--speculative-config", text)
    for flag, key, value in (
        ("--spec-method", "method", flags.spec_method),
        ("--spec-model", "model", flags.spec_model),
        ("--spec-tokens", "num_speculative_tokens", flags.spec_tokens),
    ):
        if value is not None and config.setdefault(key, value) != value:
            raise BadParameter(flag, f"{value!r} contradicts {key} {config[key]!r} in --speculative-config; give one")
    return speculation(config or None)


def config_of(flag: str, text: str) -> dict[str, Any]:
    """A speculative config out of JSON; raises BadParameter that names the flag."""
    try:
        config = json.loads(text, object_pairs_hook=partial(_unique, flag), parse_int=whole_number)
    except BadParameter:
        raise
    except BadInput as error:
        raise BadParameter(flag, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadParameter(flag, f"not JSON ({error}): {text[:80]!r}") from error
    if not isinstance(config, dict):
        raise BadParameter(flag, f'got {text[:80]!r}; give an object, as {{"method": "ngram"}}')
    for key in ("method", "rejection_sample_method"):
        if not isinstance(config.get(key, ""), str):
            raise BadParameter(flag, f"{key} is {config[key]!r}; give a name")
    return config


def _unique(flag: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise BadParameter(flag, f"the key {key!r} stands there twice")
    return dict(pairs)
