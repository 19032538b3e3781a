"""What a tuning tries for a model: every way of drafting that needs nothing which is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from truedraw.draft.site import Layered
from truedraw.generate.model import Model
from truedraw.generate.speculation import AUTO
from truedraw.protocol.able import is_able

FIXED = "adaptive"
METHODS = (AUTO, "ngram", "suffix", "recycle", "lookahead", "ngram-lm", "mix")
"""Drafters that need nothing but the text and the model's own passes; each drafts as much as pays."""
LENGTHS = (("ngram", 3), ("ngram", 7), ("suffix", 7))
"""Drafts of one length in every round."""


def always(method: str, tokens: int) -> Mapping[str, Any]:
    """So many draft tokens in every round."""
    return {"method": method, FIXED: False, "num_speculative_tokens": tokens}


READY: tuple[Mapping[str, Any], ...] = (
    *({"method": method} for method in METHODS),
    *(always(method, tokens) for method, tokens in LENGTHS),
)
"""What is tried in any case."""
ONCE = {"head": always("head", 1)}
"""A head's first token is worth most of it, and its call is too dear to be made for nothing: auto mixes it anyway."""
LEAST = "int4"  # the fewest bits of weights


def tried(model: Model) -> tuple[Mapping[str, Any], ...]:
    """Configs: READY, the draft that the model was loaded for, and what its own layers and weights can draft."""
    return (*READY, *_with_its_draft(model), *_with_itself(model))


def _with_its_draft(model: Model) -> Iterator[Mapping[str, Any]]:
    """A head, EAGLE or MTP layers, an amateur."""
    for method in model.drafts.own_methods:
        yield ONCE.get(method, {"method": method})
    if (amateur := model.drafts.lent.default) is not None:
        yield {"method": "model", "model": amateur}


def _with_itself(model: Model) -> Iterator[Mapping[str, Any]]:
    """Its first layers, and a copy of it in fewer bits where there are fewer."""
    if not is_able(model.engine, Layered):
        return
    yield {"method": "early-exit"}
    if model.drafts.options.get("weights") != LEAST:
        yield {"method": "quantised-self"}
