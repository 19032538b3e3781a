"""From flags to what the library takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.flags import ModelFlags, SpeculationFlags
from truedraw.cli.sizes import bytes_of
from truedraw.errors import BadParameter
from truedraw.models.toy import TOY_MODEL

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

    memory = {} if flags.cache_bytes is None else {"cache_bytes": bytes_of("--cache-bytes", flags.cache_bytes)}
    if apart and flags.model != TOY_MODEL:
        memory["prefix_cache_bytes"] = 0
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


def computed_with(flags: ModelFlags) -> dict[str, Any]:
    """How the model computes, for a report; None where it has no such setting."""
    is_table = flags.model == TOY_MODEL
    return {name: None if is_table else getattr(flags, name) for name in ("numerics", "weights", "threads")}


def law_of(flags: ModelFlags) -> dict[str, Any]:
    """What of the model's flags decides which texts come out."""
    names = ("model", "numerics", "weights", "amateur", "contrastive_alpha", "contrastive_beta")
    return {name: getattr(flags, name) for name in names}


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


def speculation_of(flags: SpeculationFlags, samples: int = 1) -> Speculation:
    """What was asked for, or the default for so many samples of a prompt.

    Raises BadParameter for bad JSON, unknown keys, and a flag and a key that contradict each other.
    """
    from truedraw.generate.speculation import speculation

    config = _parsed(flags.speculative_config)
    for flag, key, value in (
        ("--spec-method", "method", flags.spec_method),
        ("--spec-model", "model", flags.spec_model),
        ("--spec-tokens", "num_speculative_tokens", flags.spec_tokens),
    ):
        if value is not None and config.setdefault(key, value) != value:
            raise BadParameter(flag, f"{value!r} contradicts {key} {config[key]!r} in --speculative-config; give one")
    return speculation(config or None, samples)


def _parsed(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        config = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadParameter):
            raise
        raise BadParameter("--speculative-config", f"not JSON ({error}): {text[:80]!r}") from error
    if not isinstance(config, dict):
        raise BadParameter("--speculative-config", f'got {text[:80]!r}; give an object, as {{"method": "ngram"}}')
    for key in ("method", "rejection_sample_method"):
        if not isinstance(config.get(key, ""), str):
            raise BadParameter("--speculative-config", f"{key} is {config[key]!r}; give a name")
    return config


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise BadParameter("--speculative-config", f"the key {key!r} stands there twice")
    return dict(pairs)
