"""From flags to what the library takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from truedraw.cli.flags import ModelFlags, SpeculationFlags
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.generate.model import Model
    from truedraw.generate.speculation import Speculation


@contextmanager
def opened(flags: ModelFlags) -> Iterator[Model]:
    """The model, fetched with a progress bar if need be; says so where this machine cannot keep its bits equal."""
    from truedraw.cli.models import progress_bar
    from truedraw.generate.model import load

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
        )
    with model:
        notice_invariance(model.engine)
        yield model


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
    """Raises BadParameter for bad JSON, unknown keys, and a flag and a key that contradict each other."""
    from truedraw.generate.speculation import speculation

    config = _parsed(flags.speculative_config)
    for flag, key, value in (
        ("--spec-method", "method", flags.spec_method),
        ("--spec-tokens", "num_speculative_tokens", flags.spec_tokens),
    ):
        if value is not None and config.setdefault(key, value) != value:
            raise BadParameter(flag, f"{value!r} contradicts {key} {config[key]!r} in --speculative-config; give one")
    return speculation(config)


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
